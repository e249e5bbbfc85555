"""What neither the block nor the host can run: all of it at once, from the graph alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnx import ModelProto, NodeProto

from carrysave.compiler.graph.graph import DOMAIN, MICROSOFT, Graph
from carrysave.compiler.graph.host_attention import ATTENTIONS, attention_refusal
from carrysave.compiler.graph.host_operators import OPERATORS
from carrysave.compiler.graph.host_versions import refusal
from carrysave.compiler.graph.names import key, label
from carrysave.compiler.passes.branches import undecided
from carrysave.compiler.passes.expand import expand

__all__ = ["Refusal", "RefusedError", "check_host", "reason_of", "refused_nodes"]

_ADDED = {(one.op_domain, one.__name__) for one in OPERATORS}
"""Operators that the host has besides those of ONNX's evaluator."""
_ATTENTIONS = frozenset(one.__name__ for one in ATTENTIONS)


_NAMED = 20
"""Nodes of one reason that a message names; of others it says how many there are."""
_REMEDY = "; run can leave such nodes to onnxruntime, by its host fallback"


@dataclass(frozen=True)
class Refusal:
    """A node that cannot run.

    Members
    -------
    node : its operator and name; empty if the reason says them, or is the whole model's.
    reason : why, and what is legal.
    """

    node: str
    reason: str

    def __str__(self) -> str:
        """Say all of it in one line."""
        return f"{self.node}: {self.reason}" if self.node else self.reason


class RefusedError(ValueError):
    """Nodes that cannot run: each reason once, behind its nodes, and what a user can do.

    Members
    -------
    refusals : of all nodes, in the model's order.
    """

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        nodes: dict[str, list[str]] = {}
        for one in refusals:
            nodes.setdefault(one.reason, []).append(one.node)
        said = "; ".join(f"{_listed(names)}{reason}" for reason, names in nodes.items())
        remedy = _REMEDY if any(one.node for one in refusals) else ""
        super().__init__(said + remedy)
        self.refusals = tuple(refusals)


def _listed(nodes: Sequence[str]) -> str:
    """Name nodes of one reason."""
    names = list(filter(None, nodes))
    if len(names) > _NAMED:
        names[_NAMED:] = [f"and {len(names) - _NAMED} others"]
    return f"{', '.join(names)}: " if names else ""


def check_host(graph: Graph) -> None:
    """Check that the host can run a whole model.

    Raises
    ------
    RefusedError
        Nodes that it cannot run, each with its reason.
    """
    if wrong := list(refused_nodes(expand(graph).proto)):
        raise RefusedError(wrong)


def refused_nodes(proto: ModelProto, known: Mapping[str, str] = {}) -> Iterator[Refusal]:
    """Yield the nodes that cannot run on the host.

    Parameters
    ----------
    known : reasons that a pass has found, by node; empty: it has none.
    """
    version = next(one.version for one in proto.opset_import if not one.domain)
    for node in proto.graph.node:
        if reason := known.get(key(node)) or reason_of(node, version):
            yield Refusal(label(node), reason)


def reason_of(node: NodeProto, version: int) -> str:
    """Return why a node cannot run on the host; empty if it can."""
    if node.domain == DOMAIN or (node.domain and (node.domain, node.op_type) in _ADDED):
        return ""
    if why := undecided(node):
        return why
    if node.domain == MICROSOFT and node.op_type in _ATTENTIONS:
        return attention_refusal(node)
    if node.domain:
        return f"operators of domain {node.domain!r} are not supported"
    return refusal(node, version)
