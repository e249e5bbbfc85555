"""Attention whose queries and keys are codes: its products, with the softmax between.

Scores are a product of two tensors of codes, for the block. Shares, which the softmax makes, are
floats that the model has no codes for: their product with the values stays one of floats. Where
:mod:`.attention_facts` does not know a node, it stays as it is, on the host, and so it does in a
program.
"""

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto, TensorProto

from carrysave.compiler.graph.graph import Graph, with_nodes
from carrysave.compiler.graph.names import label
from carrysave.compiler.passes.attention_facts import Facts, read
from carrysave.compiler.passes.made import Made, MovedCodes, moved_codes, with_moved_codes
from carrysave.compiler.passes.match_attention import attention_layer
from carrysave.compiler.passes.setting import Setting

__all__ = ["attention"]


@dataclass(kw_only=True)
class _Made(Made):
    """Nodes and constants in place of attention."""

    def reshaped(self, name: str, sizes: list[int], what: str) -> str:
        """Give a tensor another shape; 0: that of before, -1: what is left."""
        shape = self.constant(np.array(sizes, np.int64), f"{what}/sizes")
        return self.add("Reshape", [name, shape], what)


def attention(graph: Graph, setting: Setting | None = None) -> Graph:
    """Replace attention of codes; others stay. Without any, returns the model itself.

    Parameters
    ----------
    graph : the model.
    setting : where it chooses how attention is computed, nodes whose heads are jobs stay, and take
        codes as the model moves their floats. In a program all others stay as they are.

    Raises
    ------
    ValueError
        A node that cannot be computed as it is asked for; says why.
    """
    while True:
        made = _once(graph, setting)
        if made is graph:
            return graph
        # What follows attention of onnxruntime has its sizes only now.
        graph = made


def _once(graph: Graph, setting: Setting | None) -> Graph:
    nodes: list[NodeProto] = []
    constants: list[TensorProto] = []
    for node in graph.nodes:
        made = _made(graph, node, setting)
        nodes += [node] if made is None else made.nodes
        constants += [] if made is None else made.constants
    if len(nodes) == len(graph.nodes):
        return graph
    return Graph(with_nodes(graph.proto, nodes, graph.outputs, constants))


def _made(graph: Graph, node: NodeProto, setting: Setting | None) -> Made | None:
    """Return what is in place of a node; None: it stays."""
    facts = read(graph, node)
    if facts is None:
        return None
    if setting is not None and setting.attention is not None:
        codes = [moved_codes(graph, name) for name in node.input[:3]]
        known = [one for one in codes if one is not None]
        try:
            layer = attention_layer(graph, node, facts, [one.tensor for one in known], setting)
        except ValueError as error:
            raise ValueError(f"{label(node)}: {error}") from None
        if layer is not None:
            return with_moved_codes(graph, node, codes) if any(one.moves for one in known) else None
    return None if setting is not None and setting.program else _expanded(graph, node, facts)


def _expanded(graph: Graph, node: NodeProto, facts: Facts) -> _Made | None:
    """Return the products of a node; None: it stays."""
    queries, keys = (moved_codes(graph, name) for name in node.input[:2])
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


def _scores(made: _Made, facts: Facts, queries: MovedCodes, keys: MovedCodes) -> str:
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
    left = made.floats(left, queries, "queries", facts.scale)
    right = made.floats(right, keys, "keys")
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
