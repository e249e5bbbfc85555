"""Memory for what is needed for a while: bytes that are given back serve others."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Pool", "Room"]


@dataclass
class Room:
    """Bytes that are taken for a while.

    Members
    -------
    address, size : of the bytes.
    first, last : the first step that may use it, the first of the node that took it; and the one
        after the last; None: it is not given back.
    name : of the buffer that it is for.
    tensors : names of what is in it.
    seen : a step reads or writes it that is no job.
    """

    address: int
    size: int
    first: int
    last: int | None = None
    name: str = ""
    tensors: set[str] = field(default_factory=set)
    seen: bool = False

    def has(self, address: int) -> bool:
        """Return whether a byte is of it."""
        return self.address <= address < self.address + self.size


class Pool:
    """Rooms that are taken and given back.

    Parameters
    ----------
    room : returns the address of bytes that nobody had.
    steps : returns how many steps there are.

    Members
    -------
    begun : how many steps there were before the node that takes rooms now.
    taken : bytes of each room that is in use, by address.
    rooms : all that were taken, in order.
    """

    def __init__(self, room: Callable[[int], int], steps: Callable[[], int] = lambda: 0) -> None:
        self.begun = 0
        self.taken: dict[int, int] = {}
        self.rooms: list[Room] = []
        self._steps = steps
        self._used: dict[int, Room] = {}
        self._room = room
        self._free: list[tuple[int, int]] = []
        """Address and bytes, by address; none of them touch."""

    def begin(self) -> None:
        """Begin a node: its steps are none of those that are there."""
        self.begun = self._steps()

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
        self._used[at] = Room(at, size, self.begun)
        self.rooms.append(self._used[at])
        return at

    def name(self, at: int, name: str) -> None:
        """Say which buffer a room is for."""
        self._used[at].name = name

    def fill(self, at: int, tensor: str) -> None:
        """Say that a tensor is in a room."""
        self._used[at].tensors.add(tensor)

    def see(self, sources: np.ndarray) -> None:
        """Say that a step that is no job reads or writes addresses."""
        for at in self.holding(sources):
            self._used[at].seen = True

    def give(self, at: int) -> None:
        """Give a room back."""
        size = self.taken.pop(at)
        self._used.pop(at).last = self._steps()
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
        index = int(np.searchsorted(starts, first, "right")) - 1
        if index >= 0 and last < ends[index]:
            return {int(starts[index])}
        places = np.searchsorted(starts, sources.reshape(-1), "right") - 1
        inside = (places >= 0) & (sources.reshape(-1) < ends[places])
        return set(starts[np.bincount(places[inside], minlength=len(starts)) > 0].tolist())


_ALIGN = 16
