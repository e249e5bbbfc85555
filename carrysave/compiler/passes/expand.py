"""onnxruntime's quantised operators, expanded to DequantizeLinear, float operator, QuantizeLinear.

That is how onnxruntime defines them; its kernels use tables and fixed point, and may differ by one.
"""

from collections.abc import Iterator

from onnx import NodeProto, helper

from carrysave.compiler.graph.graph import MICROSOFT, Graph, with_nodes

__all__ = ["BINARY", "CONCAT", "UNARY", "expand"]

# Operators of two tensors of codes, and of one: the float operator.
BINARY = {"QLinearAdd": "Add", "QLinearMul": "Mul"}
UNARY = {
    "QLinearAveragePool": "AveragePool",
    "QLinearGlobalAveragePool": "GlobalAveragePool",
    "QLinearLeakyRelu": "LeakyRelu",
    "QLinearSigmoid": "Sigmoid",
    "QLinearSoftmax": "Softmax",
}
CONCAT = "QLinearConcat"
_ATTRIBUTES = ("channels_last", "opset")
"""Attributes that the float operators do not have."""


def expand(graph: Graph) -> Graph:
    """Replace these operators; others stay. Without any, returns the model itself."""
    if not any(node.domain == MICROSOFT for node in graph.nodes):
        return graph
    nodes = [new for node in graph.nodes for new in _expanded(graph, node)]
    return Graph(with_nodes(graph.proto, nodes, graph.outputs))


def _expanded(graph: Graph, node: NodeProto) -> Iterator[NodeProto]:
    kind = node.op_type
    last = any(one.name == "channels_last" and one.i for one in node.attribute)
    if node.domain != MICROSOFT or last:
        yield node
    elif kind in ("QuantizeLinear", "DequantizeLinear"):
        yield _node(node, kind, node.input, node.output)
    elif kind in BINARY:
        codes = [node.input[0:3], node.input[3:6]]
        yield from _between(graph, node, BINARY[kind], codes, node.input[6:])
    elif kind in UNARY:
        yield from _between(graph, node, UNARY[kind], [node.input[0:3]], node.input[3:])
    elif kind == CONCAT:
        codes = [node.input[at : at + 3] for at in range(2, len(node.input), 3)]
        yield from _between(graph, node, "Concat", codes, node.input[:2])
    else:
        yield node


def _between(
    graph: Graph, node: NodeProto, operator: str, codes: list[list[str]], result: list[str]
) -> Iterator[NodeProto]:
    """Dequantise inputs (codes, scale, zero point), and quantise the result."""
    name = node.output[0]
    floats = [graph.fresh(f"{name}/float{number}") for number in range(len(codes))]
    result_float = graph.fresh(f"{name}/float")
    for triple, made in zip(codes, floats, strict=True):
        yield helper.make_node("DequantizeLinear", triple, [made], f"{made}/dequantise")
    yield _node(node, operator, floats, [result_float])
    inputs = [result_float, *result]
    yield helper.make_node("QuantizeLinear", inputs, [name], f"{name}/quantise")


def _node(node: NodeProto, operator: str, inputs: list[str], outputs: list[str]) -> NodeProto:
    """Make a node of ONNX's own operator, with the same attributes."""
    made = helper.make_node(operator, list(inputs), list(outputs), node.name)
    made.attribute.extend(one for one in node.attribute if one.name not in _ATTRIBUTES)
    return made
