"""Operators from tensors of codes to a quantiser, element by element, and their table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from carrysave.compiler.graph.code_table import CodeTable, ScaledOperator
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.lowered.evaluate import evaluate, no_product
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
        ends = [limits(kind) or (0, 0) for kind in self.leaves.values()]
        return sum((high - low).bit_length() for low, high in ends)

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
        made = evaluate(Lowered(Graph(proto), proto), codes, no_product)
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
    return CodeTable(
        nodes[-1].output[0],
        tuple(lows),
        entries,
        axes,
        tuple(region.leaves.values()),
        _operator(region, values),
    )


def _operator(region: Region, values: dict[str, np.ndarray]) -> ScaledOperator | None:
    """Say what a region is, if it is one operator between codes; limits may follow it."""
    nodes = region.ordered()
    # In the order of the leaves, whatever that of the nodes is.
    places = {name: place for place, name in enumerate(region.leaves)}
    readers = sorted(
        (one for one in nodes if one.op_type == "DequantizeLinear"),
        key=lambda one: places.get(one.input[0], -1),
    )
    inner = [one for one in nodes[:-1] if one.op_type not in ("DequantizeLinear", *_LIMITS)]
    if len(inner) > 1 or [one.input[0] for one in readers] != list(region.leaves):
        return None
    operator = inner[0].op_type if inner else ""
    given = list(inner[0].input) if inner else [readers[0].output[0]]
    made = [one.output[0] for one in readers]
    if operator in ("Add", "Mul", "Max"):
        given, made = sorted(given), sorted(made)
    if operator not in _OPERATORS or given != made:
        return None

    def step(node: NodeProto) -> tuple[float, int] | None:
        scale, zero = (values.get(name) for name in (*node.input[1:3], "")[:2])
        if scale is None or scale.size != 1:
            return None
        return float(scale.reshape(())), 0 if zero is None else int(zero.reshape(()))

    operands, result = [step(one) for one in readers], step(nodes[-1])
    known = [one for one in operands if one is not None]
    if result is None or len(known) < len(operands):
        return None
    alpha = attributes(inner[0]).get("alpha", 0.01) if operator == "LeakyRelu" else 0.0
    return ScaledOperator(operator=operator, operands=tuple(known), result=result, alpha=alpha)


_LIMITS = ("Relu", "Clip")
"""Operators whose results are the codes' limits."""
_OPERATORS = ("Add", "Sub", "Mul", "Max", "LeakyRelu", "Neg", "")
