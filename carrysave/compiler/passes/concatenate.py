"""Quantisers behind a Concat go before it: each part is then a table of its own codes.

Parts come with scales of their own, and so were floats until they had one. A quantiser goes number
by number, so that its place does not matter.
"""

from dataclasses import replace

from onnx import NodeProto, helper

from carrysave.compiler.graph.graph import Graph, with_nodes
from carrysave.compiler.lowered.lowered import Lowered

__all__ = ["concatenate"]


def concatenate(lowered: Lowered) -> Lowered:
    """Return a model whose parts of a Concat are quantised, not the whole; it computes the same."""
    graph = lowered.now
    nodes: list[NodeProto] = []
    for node in graph.nodes:
        nodes += _before(graph, node)
    if len(nodes) == len(graph.nodes):
        return lowered
    return replace(lowered, proto=with_nodes(lowered.proto, nodes, lowered.graph.outputs))


def _before(graph: Graph, node: NodeProto) -> list[NodeProto]:
    """Return what takes the place of a quantiser behind a Concat; else the node itself."""
    whole = graph.makers.get(node.input[0]) if node.op_type == "QuantizeLinear" else None
    scale = graph.constants.get(node.input[1]) if whole is not None else None
    if (
        whole is None
        or scale is None
        or node.domain
        or whole.domain
        or whole.op_type != "Concat"
        or scale.size != 1
    ):
        return [node]
    made: list[NodeProto] = []
    parts = []
    for number, name in enumerate(whole.input):
        parts.append(graph.fresh(f"{node.output[0]}/{number}"))
        quantiser = NodeProto()
        quantiser.CopyFrom(node)
        quantiser.input[0], quantiser.output[0] = name, parts[-1]
        quantiser.name = parts[-1]
        made += _before(graph, quantiser)
    together = helper.make_node("Concat", parts, [node.output[0]], node.name)
    together.attribute.extend(whole.attribute)
    return [*made, together]
