"""`If` nodes whose condition is a constant become the nodes of the branch that is taken."""

from collections.abc import Iterator, Mapping

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from carrysave.compiler.graph.graph import Graph, needed, with_nodes
from carrysave.compiler.graph.names import quoted
from carrysave.compiler.graph.subgraphs import has_graphs
from carrysave.compiler.passes.fold import fold

__all__ = ["branches", "undecided"]

_BRANCHES = ("else_branch", "then_branch")


def branches(graph: Graph) -> Graph:
    """Return a model without `If` nodes that constants decide; itself, if it has none."""
    while any(_is_if(node) for node in graph.nodes):
        known = fold(_with_sizes(graph))
        taken = _taken(known)
        if taken is None:
            return graph
        graph = fold(taken)
    return graph


def undecided(node: NodeProto) -> str:
    """Return why a node with subgraphs cannot run; empty if it has none."""
    if not has_graphs(node):
        return ""
    if not _is_if(node):
        return "subgraphs are not supported"
    return (
        f"its condition {quoted(node.input[0])} must be a constant, or decided by inputs that are"
        " given as constants: subgraphs are not supported where data decides"
    )


def _is_if(node: NodeProto) -> bool:
    return not node.domain and node.op_type == "If"


def _with_sizes(graph: Graph) -> Graph:
    """Return a model in which sizes that conditions ask for, and the file has, are constants."""
    conditions = [node.input[0] for node in graph.nodes if _is_if(node)]
    cone, _ = needed(graph.nodes, conditions)
    sizes = {}
    for node in cone:
        shape = graph.shapes.get(node.input[0]) if node.op_type == "Shape" else None
        if shape is not None and None not in shape and not node.attribute:
            sizes[node.output[0]] = np.array(shape, np.int64)
    if not sizes:
        return graph
    rest = [node for node in graph.nodes if node.output[0] not in sizes]
    more = [numpy_helper.from_array(values, name) for name, values in sizes.items()]
    return Graph(with_nodes(graph.proto, rest, graph.outputs, more))


def _taken(graph: Graph) -> Graph | None:
    """Return a model with a branch in place of each `If` that is decided; None: there is none."""
    nodes: list[NodeProto] = []
    constants: list[TensorProto] = []
    names = {node.name for node in graph.nodes}
    decided = False
    for node in graph.nodes:
        condition = graph.constants.get(node.input[0]) if _is_if(node) else None
        if condition is None or condition.size != 1:
            nodes.append(node)
            continue
        decided = True
        name = _BRANCHES[bool(condition.reshape(()))]
        branch = next(one.g for one in node.attribute if one.name == name)
        nodes += _inlined(graph, node, branch, names)
        for one in branch.initializer:
            constants.append(TensorProto())
            constants[-1].CopyFrom(one)
            constants[-1].name = _renamed(graph, node, branch)[one.name]
    if not decided:
        return None
    return Graph(with_nodes(graph.proto, nodes, graph.outputs, constants))


def _renamed(graph: Graph, node: NodeProto, branch: GraphProto) -> dict[str, str]:
    """Return new names for all that a branch makes: no other node has them."""
    inside = [one.name for one in branch.initializer]
    inside += [name for inner in branch.node for name in inner.output if name]
    first = next(name for name in node.output if name)
    renamed = {name: graph.fresh(f"{first}/{name}") for name in inside}
    made = {name for inner in branch.node for name in inner.output}
    outputs = zip(branch.output, node.output, strict=True)
    return renamed | {
        one.name: out for one, out in reversed([*outputs]) if out and one.name in made
    }


def _inlined(
    graph: Graph, node: NodeProto, branch: GraphProto, names: set[str]
) -> Iterator[NodeProto]:
    """Yield the nodes of a branch; an output that it only passes on is one more."""
    renamed = _renamed(graph, node, branch)
    for inner in branch.node:
        made = NodeProto()
        made.CopyFrom(inner)
        made.domain = "" if inner.domain == "ai.onnx" else inner.domain
        name = f"{node.name or node.output[0]}/{inner.name or next(iter(inner.output), '')}"
        while name in names:
            name += "'"
        names.add(name)
        made.name = name
        _rename(made, renamed)
        yield made
    for one, out in zip(branch.output, node.output, strict=True):
        here = renamed.get(one.name, one.name)
        if out and here != out:
            yield helper.make_node("Identity", [here], [out], f"{out}/passed")


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    """Rename what a node takes and makes, and what its subgraphs take."""
    for names_of in (node.input, node.output):
        for at, name in enumerate(names_of):
            names_of[at] = names.get(name, name)
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            for inner in graph.node:
                _rename(inner, names)
            for one in graph.output:
                one.name = names.get(one.name, one.name)
