"""Float operators between products become nodes that a processor beside the block does.

Their results are those of a few operators of its own, element by element: the same bits on every
runner, and units in the last place from the host's.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper

from carrysave.compiler.graph.arithmetic import ARITHMETIC, ArithmeticNode
from carrysave.compiler.graph.arithmetic_rules import RULES
from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.graph import DOMAIN, Graph, with_nodes
from carrysave.compiler.graph.host_runtime import since
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.graph.resize_rule import takes_nearest
from carrysave.compiler.lowered.lowered import PRODUCT, RECURRENT, Lowered
from carrysave.compiler.lowered.operands import Operands

__all__ = ["arithmetic"]

_OF_CODES = ("GlobalMaxPool", "MaxPool")
_FLOAT = np.dtype(np.float32)


def arithmetic(lowered: Lowered, like: Lowered | None = None) -> Lowered:
    """Return a lowered model whose float operators between products are a processor's.

    Parameters
    ----------
    like : only those that are a processor's there: a later form of the same model.
    """
    graph = Graph(lowered.proto)
    kinds = _kinds(lowered, graph)
    inner = _between(graph)
    chosen = None if like is None else {one.node.output[0] for one in like.arithmetic}
    version = next(one.version for one in lowered.proto.opset_import if not one.domain)
    nodes: list[NodeProto] = []
    made: list[ArithmeticNode] = []
    for node in graph.nodes:
        # The greatest of codes, or the nearest, is that of what they stand for.
        of_codes = node.op_type in _OF_CODES or takes_nearest(node)
        plain = not node.domain and id(node) in inner and not of_codes
        if chosen is not None and chosen.isdisjoint(node.output[:1]):
            plain = False
        rule = RULES.get(node.op_type) if plain else None
        given = [name for name in node.input if name]
        floats = bool(given) and kinds.get(given[0]) == kinds.get(node.output[0]) == _FLOAT
        if rule is None or not floats or len([one for one in node.output if one]) != 1:
            nodes.append(node)
            continue
        nodes.append(helper.make_node(
            ARITHMETIC, node.input, node.output[:1], node.name or node.output[0], domain=DOMAIN,
            index=len(made),
        ))  # fmt: skip
        made.append(ArithmeticNode(node, since(node.op_type, version), rule))
    if not made:
        return lowered
    proto = with_nodes(lowered.proto, nodes, graph.outputs)
    return replace(lowered, proto=proto, arithmetic=made)


def _between(graph: Graph) -> set[int]:
    """Return the nodes that depend on a product, and on which another one depends."""
    behind: set[str] = set()
    for node in graph.nodes:
        if _is_product(node) or behind.intersection(node.input):
            behind.update(node.output)
    before: set[str] = set()
    inner = set()
    for node in reversed(graph.nodes):
        if before.intersection(node.output) and behind.intersection(node.output):
            inner.add(id(node))
        if _is_product(node) or before.intersection(node.output):
            before.update(node.input)
    return inner


def _is_product(node: NodeProto) -> bool:
    if node.op_type == "DynamicQuantizeLinear":
        return not node.domain  # a step in floats, and codes of a product
    return node.domain == DOMAIN and node.op_type in (PRODUCT, RECURRENT)


def _kinds(lowered: Lowered, graph: Graph) -> "dict[str, np.dtype[Any]]":
    """Return the types of tensors, as far as nodes tell."""
    kinds = dict(graph.types) | dict(lowered.graph.types)
    kinds |= {name: values.dtype for name, values in graph.constants.items()}
    for node in graph.nodes:
        kind: np.dtype[Any] | None = None
        content = lowered.of(node)
        if isinstance(content, Operands):
            kind = np.dtype(content.y_type)
        elif isinstance(content, CodeTable):
            kind = content.values.dtype
        elif node.domain == DOMAIN:
            kind = None
        elif node.op_type == "DequantizeLinear":
            kind = kinds.get(node.input[1])
        elif node.op_type == "Cast":
            kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(attributes(node)["to"]))
        elif node.op_type not in ("QuantizeLinear", "Shape", "Equal") and node.input:
            kind = kinds.get(node.input[0])
        for name in node.output:
            if name not in kinds and kind is not None:
                kinds[name] = kind
    return kinds
