"""Memory for what is needed for a while: bytes that are given back serve others."""

from collections.abc import Callable

import numpy as np

__all__ = ["Pool"]


class Pool:
    """Rooms that are taken and given back.

    Parameters
    ----------
    room : returns the address of bytes that nobody had.

    Members
    -------
    taken : bytes of each room that is in use, by address.
    """

    def __init__(self, room: Callable[[int], int]) -> None:
        self.taken: dict[int, int] = {}
        self._room = room
        self._free: list[tuple[int, int]] = []
        """Address and bytes, by address; none of them touch."""

    def take(self, size: int) -> int:
        """Return the address of so many bytes: of the smallest room that was given back."""
        fitting = [(bytes_, at) for at, bytes_ in self._free if bytes_ >= size]
        if not fitting:
            at = self._room(size)
        else:
            bytes_, at = min(fitting)
            self._free.remove((at, bytes_))
            # What is left begins at a whole beat.
            rest = -(-size // _ALIGN) * _ALIGN
            if bytes_ > rest:
                self._free.append((at + rest, bytes_ - rest))
                self._free.sort()
        self.taken[at] = size
        return at

    def give(self, at: int) -> None:
        """Give a room back."""
        size = self.taken.pop(at)
        free: list[tuple[int, int]] = []
        for first, bytes_ in sorted([*self._free, (at, -(-size // _ALIGN) * _ALIGN)]):
            if free and sum(free[-1]) == first:
                free[-1] = free[-1][0], free[-1][1] + bytes_
            else:
                free.append((first, bytes_))
        self._free = free

    def holding(self, sources: np.ndarray) -> set[int]:
        """Return the rooms that hold addresses."""
        if not self.taken or not sources.size:
            return set()
        starts = np.array(sorted(self.taken))
        ends = starts + np.array([self.taken[at] for at in starts.tolist()])
        first, last = int(sources.min()), int(sources.max())
        place = int(np.searchsorted(starts, first, "right")) - 1
        if place >= 0 and last < ends[place]:
            return {int(starts[place])}
        places = np.searchsorted(starts, sources.reshape(-1), "right") - 1
        inside = (places >= 0) & (sources.reshape(-1) < ends[places])
        return set(starts[np.bincount(places[inside], minlength=len(starts)) > 0].tolist())


_ALIGN = 16
