"""Nodes with subgraphs, such as a loop, and what these take from around them."""

from collections.abc import Iterator

from onnx import GraphProto, NodeProto

__all__ = ["captured", "graphs_of", "has_graphs"]


def has_graphs(node: NodeProto) -> bool:
    """Return whether a node has subgraphs, such as a loop has."""
    return any(True for _ in graphs_of(node))


def captured(node: NodeProto) -> list[str]:
    """Return the tensors that a node's subgraphs take from around it, in the order of use."""
    outer: dict[str, None] = {}
    for graph in graphs_of(node):
        inside = {one.name for one in (*graph.input, *graph.initializer)}
        for inner in graph.node:
            outer |= dict.fromkeys(
                name for name in (*inner.input, *captured(inner)) if name and name not in inside
            )
            inside.update(inner.output)
        outer |= dict.fromkeys(one.name for one in graph.output if one.name not in inside)
    return list(outer)


def graphs_of(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the subgraphs of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
