"""When sums of groups of K are scaled and added up, and what for these is read."""

from collections import deque

from golden.soc.block_rows import Span
from golden.soc.ring_loader import RingLoader
from golden.soc.spec import CoprocessorSpec

__all__ = ["RingGroups"]

_HALVES = 2
"""Blocks of sums for which there is room."""
_TAKEN, _ADDED = 2, 9
"""From a row of sums to its first one in the unit; from the last one to when the next block may
begin, fitted to simulations."""
_SOONER = 2
"""By how much numbers are written sooner than sums that leave by themselves."""


class RingGroups:
    """Times of a product whose groups are scaled, block by block; a number takes a cycle.

    Parameters
    ----------
    spec : the co-processor.
    loader : of rows.

    Members
    -------
    room : when there is room for the sums of the next block.
    """

    def __init__(self, spec: CoprocessorSpec, loader: RingLoader) -> None:
        self._loader, self._unit = loader, 0
        self._taken = deque([0] * _HALVES, maxlen=_HALVES)

    @property
    def room(self) -> int:
        """When sums of the block before the last one have been taken."""
        return self._taken[0]

    def load(self, c: Span, number: int) -> None:
        """Load powers of a block's rows, and scales of its columns: rows of C, and which group."""
        row = range(number, number + 1)
        self._loader.load(Span("a_scales", row, c.rows.start, len(c.rows)))
        self._loader.load(Span("b_scales", row, c.first // 2, c.bytes // 2))

    def added(self, ready: list[int], c: Span) -> list[int]:
        """Add up the sums of a block; return when the first one of each row has been.

        Parameters
        ----------
        ready : when its rows of sums are there.
        c : rows of C of the block.
        """
        columns, began = c.bytes // 4, list[int]()
        for time in ready:
            self._unit = max(self._unit, time + _TAKEN)
            began.append(self._unit - _SOONER)
            self._unit += columns
        self._taken.append(self._unit)
        for name in ("a_scales", "b_scales"):
            self._loader.free[name].append(self._unit)
        self._unit += _ADDED
        return began

    def later(self, cycles: int) -> None:
        """Have all be so much later."""
        self._unit += cycles
        self._taken.extend([time + cycles for time in self._taken])
