"""What neither the block nor the host can run: all of it at once, from the graph alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onnx import ModelProto, NodeProto

from carrysave.compiler.graph.graph import DOMAIN, Graph
from carrysave.compiler.graph.host_operators import OPERATORS
from carrysave.compiler.graph.host_versions import refusal
from carrysave.compiler.graph.names import label
from carrysave.compiler.passes.branches import undecided
from carrysave.compiler.passes.expand import expand

__all__ = ["Refusal", "RefusedError", "check_host", "reason_of", "refused_nodes"]

_OWN = {(one.op_domain, one.__name__) for one in OPERATORS}
"""Operators that the host has besides those of ONNX's evaluator."""


@dataclass(frozen=True)
class Refusal:
    """A node that cannot run.

    Members
    -------
    node : its operator and name.
    reason : why, and what is legal.
    remedy : what a user can do; empty where the reason says it.
    """

    node: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        """Say all of it in one line."""
        text = f"{self.node}: {self.reason}" if self.node else self.reason
        return f"{text} ({self.remedy})" if self.remedy else text


class RefusedError(ValueError):
    """Nodes that cannot run: a line for each, in the model's order.

    Members
    -------
    refusals : of all nodes.
    """

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__("\n".join(map(str, refusals)))
        self.refusals = tuple(refusals)


def check_host(graph: Graph) -> None:
    """Check that the host can run a whole model.

    Raises
    ------
    RefusedError
        Nodes that it cannot run, each with its reason.
    """
    if wrong := list(refused_nodes(expand(graph).proto)):
        raise RefusedError(wrong)


def refused_nodes(proto: ModelProto) -> Iterator[Refusal]:
    """Yield the nodes that cannot run on the host."""
    version = next(one.version for one in proto.opset_import if not one.domain)
    for node in proto.graph.node:
        if reason := reason_of(node, version):
            yield Refusal(label(node), reason)


def reason_of(node: NodeProto, version: int) -> str:
    """Return why a node cannot run on the host; empty if it can."""
    if node.domain == DOMAIN or (node.domain and (node.domain, node.op_type) in _OWN):
        return ""
    if why := undecided(node):
        return why
    if node.domain:
        return f"operators of domain {node.domain!r} are not supported"
    return refusal(node, version)
