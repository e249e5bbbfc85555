"""Nodes that neither the block nor the host can run, one by one by onnxruntime."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.names import label
from carrysave.compiler.graph.reference_runtime import one_node, session
from carrysave.compiler.graph.subgraphs import captured, graphs_of, has_graphs

__all__ = ["Fallback", "check_graphs"]

_SIGNED = {
    "MatMulInteger": ((0, 2), (1, 3)),
    "ConvInteger": ((0, 2), (1, 3)),
    "QLinearMatMul": ((3, 5),),
    "QLinearConv": ((3, 5),),
    "QGemm": ((3, 5),),
    "MatMulIntegerToFloat": ((1, 5),),
    "DynamicQuantizeMatMul": ((1, 3),),
    "QAttention": ((1, 7),),
    "DynamicQuantizeLSTM": ((1, 9), (2, 11)),
}
"""Operators that multiply codes, with the inputs that may be signed beside others that are not, and
their zero points; of the others, onnxruntime has kernels of a signed first operand only with a
signed second one. Without VNNI, onnxruntime's kernels of these saturate, see
:mod:`carrysave.compiler.run.exact_product`; those of two unsigned operands do not.
"""


def check_graphs(node: NodeProto) -> None:
    """Refuse a node whose subgraphs multiply codes, where they cannot be made unsigned.

    Raises
    ------
    ValueError
        They do.
    """
    for graph in graphs_of(node):
        for inner in graph.node:
            if inner.op_type in _SIGNED:
                raise ValueError(
                    f"{label(inner)}: in a subgraph, onnxruntime would run it, whose products of"
                    " codes saturate on some processors"
                )
            check_graphs(inner)


@dataclass(frozen=True, eq=False)
class Fallback:
    """A node for onnxruntime.

    Members
    -------
    node : in the model.
    reason : why it needs onnxruntime.
    opsets : versions of operators, by domain.
    """

    node: NodeProto
    reason: str
    opsets: dict[str, int]
    _sessions: dict[Any, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[str]:
        """Names of all tensors that it takes."""
        names = list(self.node.input)
        return names + [name for name in captured(self.node) if name not in names]

    def run(self, given: Sequence[Any]) -> list[Any]:
        """Run it on its inputs.

        Raises
        ------
        ValueError
            onnxruntime cannot.
        """
        values = {name: value for name, value in zip(self.inputs, given, strict=True) if name}
        for name, value in values.items():
            if not isinstance(value, np.ndarray):
                raise ValueError(f"{label(self.node)}: {name!r} must be a tensor")
        node, values = _unsigned(self.node, values)
        kinds = tuple((name, value.dtype.str, value.ndim) for name, value in values.items())
        if kinds not in self._sessions:
            # What subgraphs quantise and dequantise around products stays floats: no kernel of
            # codes takes it over.
            given_kinds = {name: (value.dtype, value.ndim) for name, value in values.items()}
            made = one_node(node, given_kinds, self.opsets)
            self._sessions[kinds] = session(made, codes=not has_graphs(node))
        names = [name for name in self.node.output if name]
        try:
            outputs = dict(zip(names, self._sessions[kinds].run(names, values), strict=True))
        except ValueError as error:
            raise ValueError(f"{label(self.node)}: {error}") from None
        return [outputs.get(name) for name in self.node.output]


def _unsigned(
    node: NodeProto, values: dict[str, np.ndarray]
) -> tuple[NodeProto, dict[str, np.ndarray]]:
    """Add 128 to signed bytes that are multiplied by others that are not, and to their zeros."""
    copy = NodeProto()
    copy.CopyFrom(node)
    made = dict(values)
    # What lacks an operand, onnxruntime refuses.
    there = {at for at, name in enumerate(node.input) if name}
    places = [pair for pair in _SIGNED.get(node.op_type, ()) if {0, pair[0]} <= there]
    operands = {node.input[0], *(node.input[one] for one, _ in places)} if places else set()
    if all(values[name].dtype == np.int8 for name in operands):
        return node, values
    for place_of, zero_of in places:
        given = values[node.input[place_of]]
        if given.dtype != np.int8:
            continue
        copy.input.extend([""] * (zero_of + 1 - len(copy.input)))
        zero = values.get(copy.input[zero_of], np.zeros((), np.int8))
        for at, value in ((place_of, given), (zero_of, zero)):
            # A tensor may be another operand, too, and stays as it is there.
            copy.input[at] = _fresh(f"{node.input[place_of]}/{at}", made)
            made[copy.input[at]] = np.asarray(value.astype(np.int16) + 128, np.uint8)
    names = dict.fromkeys([*copy.input, *captured(copy)])
    return copy, {name: made[name] for name in names if name}


def _fresh(name: str, taken: dict[str, np.ndarray]) -> str:
    while name in taken:
        name += "+"
    return name
