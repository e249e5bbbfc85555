"""Leaves to onnxruntime what neither the block nor the host can run, where a user allows it."""

from collections.abc import Callable
from dataclasses import replace

from onnx import NodeProto, helper

from carrysave.compiler.graph.fallback import Fallback, check_graphs
from carrysave.compiler.graph.graph import DOMAIN, with_nodes
from carrysave.compiler.graph.names import key
from carrysave.compiler.graph.subgraphs import has_graphs
from carrysave.compiler.lowered.lowered import FALLBACK, Lowered
from carrysave.compiler.passes.refusals import reason_of

__all__ = ["with_fallbacks", "without_subgraphs"]


def without_subgraphs(lowered: Lowered) -> Lowered:
    """Let nodes with subgraphs run as a whole: they then say all that they take."""

    def reason(node: NodeProto) -> str:
        if not has_graphs(node):
            return ""
        check_graphs(node)
        return "subgraphs are not supported"

    return _replaced(lowered, reason)


def with_fallbacks(lowered: Lowered) -> Lowered:
    """Let nodes that the host cannot run be run by onnxruntime, each with its reason."""
    version = next(one.version for one in lowered.proto.opset_import if not one.domain)
    return _replaced(lowered, lambda node: reason_of(node, version))


def _replaced(lowered: Lowered, reason: Callable[[NodeProto], str]) -> Lowered:
    """Replace the nodes that have a reason."""
    fallbacks = list(lowered.fallbacks)
    imports = lowered.proto.opset_import
    opsets = {one.domain: one.version for one in imports if one.domain != DOMAIN}
    nodes = []
    for node in lowered.proto.graph.node:
        nodes.append(node)
        if why := reason(node):
            one = Fallback(node, why, opsets)
            nodes[-1] = helper.make_node(
                FALLBACK, one.inputs, node.output, key(node), domain=DOMAIN, index=len(fallbacks)
            )
            fallbacks.append(one)
    if len(fallbacks) == len(lowered.fallbacks):
        return lowered
    proto = with_nodes(lowered.proto, nodes, lowered.graph.outputs)
    return replace(lowered, proto=proto, fallbacks=fallbacks)
