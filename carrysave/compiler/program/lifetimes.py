"""Which tensors are in which rooms of a program's memory, and for how long."""

from collections.abc import Iterable, Mapping

from onnx import NodeProto

from carrysave.compiler.program.pool import Pool
from carrysave.driver.system import Tensor

__all__ = ["Lifetimes"]


class Lifetimes:
    """Gives rooms of the pool back when the last one to read them is done.

    Parameters
    ----------
    pool : of the program; what has room elsewhere (inputs, weights, states) stays.
    uses : how often each tensor is read, and once more if it is an output. What the host reads is
        never given back.
    tensors : where codes are, by name.
    """

    def __init__(self, pool: Pool, uses: dict[str, int], tensors: Mapping[str, Tensor]) -> None:
        self._pool, self._uses, self._tensors = pool, uses, tensors
        self._users: dict[int, set[str]] = {}
        """Names of the tensors that are in each room."""
        self._before: set[int] = set()
        self._last = ""

    def begin(self) -> None:
        """Remember which rooms there are before a node."""
        self._pool.begin()
        self._before = set(self._pool.taken)

    def done(self, node: NodeProto, *, here: bool, more: str = "") -> None:
        """Give back what a node needed alone, and what it was the last one to read.

        Parameters
        ----------
        here : the program does the node, and not the host.
        more : a tensor that is made in place of the node's.
        """
        for name in (*node.output, more):
            if here and name in self._tensors:
                for at in self._pool.holding(self._tensors[name].sources):
                    self._users.setdefault(at, set()).add(name)
                    self._pool.fill(at, name)
        new = set(self._pool.taken) - self._before
        for name in {*node.input} & {*self._tensors} if new else ():
            # What was put together for this node, others may read there, too.
            for at in new & self._pool.holding(self._tensors[name].sources):
                self._users.setdefault(at, set()).add(name)
                self._pool.fill(at, name)
        for at in new - set(self._users):
            self._pool.give(at)
        if here:
            self._read(filter(None, node.input))

    def keep(self, name: str) -> None:
        """Have a tensor stay until the next one of which that is said."""
        self._uses[name] = self._uses.get(name, 0) + 1
        self._read([self._last] if self._last else [])
        self._last = name

    def _read(self, names: Iterable[str]) -> None:
        for name in names:
            self._uses[name] = self._uses.get(name, 0) - 1
            if self._uses[name] > 0 or name not in self._tensors:
                continue
            for at in [at for at, users in self._users.items() if name in users]:
                self._users[at].discard(name)
                if not self._users[at]:
                    del self._users[at]
                    self._pool.give(at)
