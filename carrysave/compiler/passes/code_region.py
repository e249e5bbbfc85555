"""Operators from tensors of codes to a quantiser, element by element, and their table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered

__all__ = ["Region", "tabled"]


@dataclass(frozen=True, eq=False)
class Region:
    """Operators, element by element, from tensors of codes to a quantiser.

    Members
    -------
    leaves : tensors of codes, with their types.
    nodes : by their place in the model; the quantiser is the last one.
    constants : names of constants that they take, of one number each.
    """

    leaves: "dict[str, np.dtype[Any]]"
    nodes: dict[int, NodeProto]
    constants: frozenset[str]

    @property
    def bits(self) -> int:
        """Bits of a code of each leaf together."""
        return sum(_width(kind) for kind in self.leaves.values())

    def ordered(self) -> list[NodeProto]:
        """Return the nodes in the order in which they run."""
        return [self.nodes[number] for number in sorted(self.nodes)]


def tabled(region: Region, graph: Graph) -> CodeTable | None:
    """Compute a region's table by its own operators; None: some codes give none.

    Parameters
    ----------
    region : of one leaf or two, of 16 bits together.
    graph : the model.
    """
    nodes = region.ordered()
    proto = ModelProto(ir_version=graph.proto.ir_version)
    proto.opset_import.extend(graph.proto.opset_import)
    proto.graph.name = "table"
    proto.graph.node.extend(nodes)
    values = {name: graph.constants[name] for name in sorted(region.constants)}
    proto.graph.initializer.extend(numpy_helper.from_array(*one[::-1]) for one in values.items())
    lows, codes = [], {}
    for axis, (name, kind) in enumerate(region.leaves.items()):
        low, high = limits(kind) or (0, 0)
        shape = [1] * len(region.leaves)
        shape[axis] = -1
        codes[name] = np.arange(low, high + 1).astype(kind).reshape(shape)
        lows.append(low)
        number = helper.np_dtype_to_tensor_dtype(kind)
        proto.graph.input.append(helper.make_tensor_value_info(name, number, codes[name].shape))
    quantisers = [node for node in nodes if node.op_type == "QuantizeLinear"]
    for name in dict.fromkeys([nodes[-1].output[0], *(one.input[0] for one in quantisers)]):
        proto.graph.output.append(helper.make_empty_tensor_value_info(name))
    try:
        made = evaluate(Lowered(Graph(proto), proto, [], {}), codes, _none)
    except ValueError:  # an operator that says so when the model runs
        return None
    if any(np.isnan(made[one.input[0]]).any() for one in quantisers):
        return None
    steps = ("QuantizeLinear", "DequantizeLinear")
    operands = {
        name for one in nodes for name in (one.input[:1] if one.op_type in steps else one.input)
    }
    axes = max((values[name].ndim for name in operands & values.keys()), default=0)
    entries = made[nodes[-1].output[0]].reshape([one.size for one in codes.values()])
    return CodeTable(nodes[-1].output[0], tuple(lows), entries, axes)


def _none(*_: object) -> np.ndarray:
    raise AssertionError("a region has no product")


def _width(kind: "np.dtype[Any]") -> int:
    low, high = limits(kind) or (0, 0)
    return int(high - low).bit_length()
