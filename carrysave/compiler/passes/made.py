"""Nodes and constants in place of a node."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.graph.names import key
from carrysave.compiler.passes.quantised_tensor import QuantisedTensor, codes_of_one_scale

__all__ = ["Made", "MovedCodes", "moved_codes", "with_moved_codes"]

_ONE = np.float32(1)
_MOVES = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))
"""Operators that move elements of their first input, between codes and what takes their floats."""


@dataclass(frozen=True)
class MovedCodes:
    """Codes of one step, and the nodes that move what they stand for."""

    tensor: QuantisedTensor
    moves: list[NodeProto]


@dataclass(kw_only=True)
class Made:
    """Nodes and constants in place of one.

    Members
    -------
    graph, node : the model, and the node.
    nodes, constants : in place of it.
    """

    graph: Graph
    node: NodeProto
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)

    def add(self, operator: str, inputs: list[str], what: str, **values: Any) -> str:
        """Add a node; return its output."""
        name = self.graph.fresh(f"{self.node.output[0]}/{what}")
        label = f"{key(self.node)}/{what}"
        self.nodes.append(helper.make_node(operator, inputs, [name], label, **values))
        return name

    def constant(self, values: Any, what: str) -> str:
        """Add a constant; return its name."""
        name = self.graph.fresh(f"{self.node.output[0]}/{what}")
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def codes(self, codes: MovedCodes, what: str) -> str:
        """Let nodes move codes in place of floats."""
        name = codes.tensor.name
        for number, move in enumerate(codes.moves):
            inputs = [name, *move.input[1:]]
            name = self.add(move.op_type, inputs, f"{what}/move{number}", **attributes(move))
        return name

    def floats(self, name: str, codes: MovedCodes, what: str, factor: np.float32 = _ONE) -> str:
        """Dequantise codes, and multiply them."""
        step = self.constant(codes.tensor.step.reshape(()) * factor, f"{what}/step")
        zero = self.constant(codes.tensor.zero.reshape(()), f"{what}/zero")
        return self.add("DequantizeLinear", [name, step, zero], f"{what}/floats")


def moved_codes(graph: Graph, name: str) -> MovedCodes | None:
    """Follow floats to the codes of one step that they are; None: they are none."""
    moves: list[NodeProto] = []
    maker = graph.makers.get(name)
    while maker is not None and not maker.domain and maker.op_type in _MOVES:
        moves.append(maker)
        name = maker.input[0]
        maker = graph.makers.get(name)
    codes = codes_of_one_scale(graph, name)
    if codes is None or codes.scale is None or codes.scale.dtype != np.float32:
        return None
    return MovedCodes(codes, moves[::-1])


def with_moved_codes(graph: Graph, node: NodeProto, codes: Sequence[MovedCodes | None]) -> Made:
    """Return a node that takes codes as they are moved, where floats of its first inputs are."""
    made, names = Made(graph=graph, node=node), list[str]()
    for at, (name, one) in enumerate(zip(node.input, codes, strict=False)):
        if one is not None and one.moves:
            name = made.floats(made.codes(one, f"input{at}"), one, f"input{at}")
        names.append(name)
    made.nodes.append(NodeProto())
    made.nodes[-1].CopyFrom(node)
    made.nodes[-1].input[: len(names)] = names
    return made
