"""Loops and steps, the parts of nests."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from golden.check import Choice, Flag, Integer

__all__ = ["INDICES", "Loop", "Node", "Step"]

INDICES = ("m", "n", "k", "bw")


class Step(StrEnum):
    """An operation at a level of a nest, once per iteration of the loops around it."""

    ENCODE = "encode"
    """Recode codes, all those of the loops inside, in digits."""
    SELECT = "select"
    """Find the digits of these codes that are not zero."""
    MAP = "map"
    """Multiply a digit by a code of the other operand."""
    SHIFT = "shift"
    """Give a value its bit weight."""
    HALF_REDUCE = "half-reduce"
    """Compress parallel values to a sum and a carry."""
    ACCUMULATE = "accumulate"
    """Compress a value with those of the iterations before, since the last one was taken."""
    ADD = "add"
    """Resolve a sum and a carry to a number in place; outside of k and bw, it is C's."""
    SYNC = "sync"
    """Wait for the slowest iteration of the parallel loops before."""


@dataclass(frozen=True)
class Loop:
    """One loop of a nest, and its body.

    Parameters
    ----------
    index : m, n, k or bw.
    size : iterations; None for the loop that covers the rest.
    body : loops and steps, in their order.
    parallel : in space, one hardware unit per iteration; else in time.
    chain : parallel, and a sum passes from each iteration to the next.
    nonzero : iterations, in time, with only zero digits are skipped. A search that finds no
        digit takes one cycle.
    short : of a k loop, iterations of the loops inside that are missing from its last one.
    """

    index: str
    size: int | None
    body: "tuple[Node, ...]" = ()
    parallel: bool = False
    chain: bool = False
    nonzero: bool = False
    short: int = 0

    def __post_init__(self) -> None:
        """Check the loop by itself."""
        Choice("index", "m", INDICES).check("index", self.index)
        if self.size is not None:
            Integer("iterations", 1, 1, 1 << 24).check("size", self.size)
        Integer("iterations", 0, 0, 1 << 24).check("short", self.short)
        for name in ("parallel", "chain", "nonzero"):
            Flag(name, False).check(name, getattr(self, name))
        if self.size is None and (self.parallel or self.nonzero or self.index == "bw"):
            raise ValueError(f"size of {self.title} must be a number, not None")
        if self.nonzero and (self.parallel or self.index in "mn"):
            raise ValueError(f"nonzero must be of a k or bw loop in time, not of {self.title}")
        if self.chain and not (self.parallel and self.index == "k"):
            raise ValueError(f"chain must be of a parallel k loop, not of {self.title}")
        if self.short and (self.size is None or self.index != "k"):
            raise ValueError(f"short must be of a k loop with a size, not of {self.title}")

    @property
    def stride(self) -> int:
        """The stride of an iteration in the loop's index."""
        return self._inside(self.index)

    @property
    def title(self) -> str:
        """Its first line."""
        count = str(self.size)
        if self.size is None or self.short:
            total = self.index.upper() if self.size is None else self.covers(self.index)
            count = f"{total} / {self.stride}" if self.stride > 1 else str(total)
        return (
            f"{'parallel ' if self.parallel else ''}for {self.index} in {count}"
            f"{', non-zero' if self.nonzero else ''}{', a chain' if self.chain else ''}"
        )

    def covers(self, index: str) -> int:
        """Count the iterations over an index, its own included; those of an open loop as 1."""
        inside = self._inside(index)
        return (self.size or 1) * inside - self.short if self.index == index else inside

    def _inside(self, index: str) -> int:
        return next((node.covers(index) for node in self.body if isinstance(node, Loop)), 1)

    def around(self, *body: "Node") -> "Loop":
        """Return the same loop with another body."""
        return replace(self, body=body)


Node: TypeAlias = Loop | Step
