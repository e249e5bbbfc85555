"""Attention whose queries and keys are codes: its products, with the softmax between.

Scores are a product of two tensors of codes, for the block. Shares, which the softmax makes, are
floats that the model has no codes for: their product with the values stays one of floats. Where
:mod:`.attention_facts` does not know a node, it stays as it is, on the host, and so it does in a
program.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from carrysave.compiler.graph.graph import Graph, with_nodes
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.graph.names import key
from carrysave.compiler.passes.attention_facts import Facts, read
from carrysave.compiler.passes.quantised_tensor import QuantisedTensor, codes_of_one_scale

__all__ = ["attention"]

_MOVES = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))
"""Operators that move elements of their first input, between codes and attention."""


@dataclass(frozen=True)
class _Codes:
    """Codes of one step, and the nodes that move what they stand for."""

    tensor: QuantisedTensor
    moves: list[NodeProto]


@dataclass(kw_only=True)
class _Made:
    """Nodes and constants in place of one."""

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

    def reshaped(self, name: str, sizes: list[int], what: str) -> str:
        """Give a tensor another shape; 0: that of before, -1: what is left."""
        shape = self.constant(np.array(sizes, np.int64), f"{what}/sizes")
        return self.add("Reshape", [name, shape], what)

    def codes(self, codes: _Codes, what: str) -> str:
        """Let nodes move codes in place of floats."""
        name = codes.tensor.name
        for number, move in enumerate(codes.moves):
            inputs = [name, *move.input[1:]]
            name = self.add(move.op_type, inputs, f"{what}/move{number}", **attributes(move))
        return name

    def floats(self, name: str, codes: _Codes, factor: np.float32, what: str) -> str:
        """Dequantise codes, and multiply them."""
        step = self.constant(codes.tensor.step.reshape(()) * factor, f"{what}/step")
        zero = self.constant(codes.tensor.zero.reshape(()), f"{what}/zero")
        return self.add("DequantizeLinear", [name, step, zero], f"{what}/floats")


def attention(graph: Graph) -> Graph:
    """Replace attention of codes; others stay. Without any, returns the model itself."""
    while True:
        made = _once(graph)
        if made is graph:
            return graph
        # What follows attention of onnxruntime has its sizes only now.
        graph = made


def _once(graph: Graph) -> Graph:
    nodes: list[NodeProto] = []
    constants: list[TensorProto] = []
    for node in graph.nodes:
        made = _expanded(graph, node)
        nodes += [node] if made is None else made.nodes
        constants += [] if made is None else made.constants
    if len(nodes) == len(graph.nodes):
        return graph
    return Graph(with_nodes(graph.proto, nodes, graph.outputs, constants))


def _expanded(graph: Graph, node: NodeProto) -> _Made | None:
    """Return the products of a node; None: it stays."""
    facts = read(graph, node)
    if facts is None:
        return None
    queries, keys = (_codes(graph, name) for name in node.input[:2])
    if queries is None or keys is None:
        return None
    made = _Made(graph=graph, node=node)
    scores = _scores(made, facts, queries, keys)
    if facts.cap:
        cap = made.constant(np.float32(facts.cap), "cap")
        part = made.add("Div", [scores, cap], "scores/part")
        part = made.add("Tanh", [part], "scores/tanh")
        scores = made.add("Mul", [part, cap], "scores/capped")
    if facts.mask is not None:
        scores = made.add("Add", [scores, made.constant(facts.mask, "mask")], "scores/masked")
    shares = made.add("Softmax", [scores], "shares", axis=-1)
    _context(made, facts, shares)
    made.nodes[-1].output[0] = node.output[0]
    return made


def _scores(made: _Made, facts: Facts, queries: _Codes, keys: _Codes) -> str:
    """Add the product of queries and keys, by head."""
    left, right = made.codes(queries, "queries"), made.codes(keys, "keys")
    perm = [0, 1, 3, 2]
    if facts.flat:
        left = made.reshaped(left, [0, 0, facts.heads, -1], "queries/heads")
        left = made.add("Transpose", [left], "queries/turned", perm=[0, 2, 1, 3])
        right = made.reshaped(right, [0, 0, facts.key_heads, -1], "keys/heads")
        perm = [0, 2, 3, 1]
    if facts.heads != facts.key_heads:
        # Queries that share keys are rows of one product.
        left = made.reshaped(left, [0, facts.key_heads, -1, facts.width], "queries/groups")
    right = made.add("Transpose", [right], "keys/turned", perm=perm)
    left = made.floats(left, queries, facts.scale, "queries")
    right = made.floats(right, keys, np.float32(1), "keys")
    scores = made.add("MatMul", [left, right], "scores")
    if facts.heads != facts.key_heads:
        scores = made.reshaped(scores, [0, facts.heads, -1, 0], "scores/heads")
    return scores


def _context(made: _Made, facts: Facts, shares: str) -> None:
    """Add the product of shares and values; the last node makes the result."""
    values = made.node.input[2]
    if facts.heads != facts.key_heads:
        shares = made.reshaped(shares, [0, facts.key_heads, -1, 0], "shares/groups")
    if facts.flat:
        values = made.reshaped(values, [0, 0, facts.key_heads, -1], "values/heads")
        values = made.add("Transpose", [values], "values/turned", perm=[0, 2, 1, 3])
    context = made.add("MatMul", [shares, values], "context")
    if facts.heads != facts.key_heads:
        context = made.reshaped(context, [0, facts.heads, -1, facts.value_width], "context/heads")
    if facts.flat:
        context = made.add("Transpose", [context], "context/turned", perm=[0, 2, 1, 3])
        made.reshaped(context, [0, 0, -1], "result")


def _codes(graph: Graph, name: str) -> _Codes | None:
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
    return _Codes(codes, moves[::-1])
