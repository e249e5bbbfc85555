"""Nodes of the host in a program: they wait until a product takes what they make."""

from collections.abc import Callable, Container

from onnx import NodeProto

from carrysave.compiler.program.steps import HostStep

__all__ = ["HostParts"]


class HostParts:
    """Makes steps of the host.

    Parameters
    ----------
    tensors : what is in memory, by name.
    reason : says of a node why it is here.

    Members
    -------
    waiting : nodes that no step has yet.
    inputs : names of what goes to the program before its first section.
    """

    def __init__(self, tensors: Container[str], reason: Callable[[NodeProto], str]) -> None:
        self.waiting: list[NodeProto] = []
        self.inputs: list[str] = []
        self._tensors, self._reason = tensors, reason
        self._makers: dict[str, NodeProto] = {}
        self._done: set[str] = set()
        """What is made in a step already."""

    def add(self, node: NodeProto) -> None:
        """Have the host run a node."""
        self.waiting.append(node)
        self._makers |= dict.fromkeys(node.output, node)

    def makes(self, name: str) -> bool:
        """Return whether the host makes a tensor."""
        return name in self._makers

    def step(self, writes: tuple[str, ...], *, last: bool = False) -> HostStep:
        """Make a step of what a tensor needs, or if it is the last one of all that waits."""
        nodes = self.waiting if last else self._needed(writes)
        chosen = {id(node) for node in nodes}
        self.waiting = [node for node in self.waiting if id(node) not in chosen]
        read = dict.fromkeys(
            name
            for node in nodes
            for name in node.input
            if name in self._tensors and name not in writes
        )
        depends = bool(read) or any(name in self._done for node in nodes for name in node.input)
        reasons: tuple[str, ...] = ()
        if depends and not last:
            self._done.update(name for node in nodes for name in node.output)
            reasons = tuple(dict.fromkeys(self._reason(node) for node in nodes))
        elif writes:
            self.inputs += writes
        return HostStep(nodes=tuple(nodes), reads=tuple(read), writes=writes, reasons=reasons)

    def _needed(self, writes: tuple[str, ...]) -> list[NodeProto]:
        """Return the nodes that make a tensor, and that are in no step yet."""
        wanted, nodes = {*writes}, []
        for node in reversed(self.waiting):
            if wanted.intersection(node.output):
                nodes.append(node)
                wanted.update(node.input)
        return nodes[::-1]
