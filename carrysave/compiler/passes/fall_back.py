"""Leaves to onnxruntime what neither the block nor the host can run, where a user allows it."""

from collections.abc import Callable
from dataclasses import replace

from onnx import ModelProto, NodeProto, helper

from carrysave.compiler.graph.fallback import Fallback, check_graphs
from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.graph.names import key
from carrysave.compiler.graph.subgraphs import has_graphs
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.refusals import reason_of

__all__ = ["FALLBACK", "declare", "with_fallbacks", "without_subgraphs"]

FALLBACK = "Fallback"


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
    chosen = [
        (at, why) for at, node in enumerate(lowered.proto.graph.node) if (why := reason(node))
    ]
    if not chosen:
        return lowered
    proto = ModelProto()
    proto.CopyFrom(lowered.proto)
    fallbacks = list(lowered.fallbacks)
    opsets = {one.domain: one.version for one in proto.opset_import if one.domain != DOMAIN}
    for at, why in chosen:
        node = proto.graph.node[at]
        original = NodeProto()
        original.CopyFrom(node)
        fallback = Fallback(original, why, opsets)
        node.CopyFrom(
            helper.make_node(
                FALLBACK,
                fallback.inputs,
                original.output,
                key(node),
                domain=DOMAIN,
                index=len(fallbacks),
            )
        )
        fallbacks.append(fallback)
    declare(proto)
    return replace(lowered, proto=proto, fallbacks=fallbacks)


def declare(proto: ModelProto) -> None:
    """Let a model have nodes of the block's domain."""
    if not any(one.domain == DOMAIN for one in proto.opset_import):
        proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
