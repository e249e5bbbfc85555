"""A copy of bytes of a device behind a serial line, of which only what changes is sent."""

from typing import Any, Protocol

import numpy as np

from .errors import LinkError

__all__ = ["UartBuffer", "near_runs"]

_GAP = 32
"""Bytes that are sent along rather than in a command of their own, which takes about as many."""


class _Link(Protocol):
    """What a buffer needs of its link."""

    @property
    def resets(self) -> int:
        """How often the device has been found reset."""

    def read_memory(self, address: int, size: int) -> bytes:
        """Read bytes of memory."""

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of memory."""


class UartBuffer(np.ndarray):
    """A copy of bytes of the device's memory, which is freed with it."""

    device_address: int
    link: _Link
    release: Any
    sent: bytes | None
    """What the device holds, as far as the host has written or read it; None: unknown."""
    resets: int
    """Of the line, when it was sent."""

    @property
    def lost(self) -> bool:
        """Whether the device does not hold it: a write failed, or the device was reset."""
        return self.sent is None or self.resets != self.link.resets

    def flush(self) -> None:
        """Send the bytes changed since the last time; all, if they were lost."""
        now = self.tobytes()
        runs = [(0, len(now))]
        if not self.lost and self.sent is not None:
            runs = near_runs(np.frombuffer(now, np.uint8) != np.frombuffer(self.sent, np.uint8))
            if not runs:
                return
        self.sent, self.resets = None, self.link.resets
        for start, end in runs:
            self.link.write_memory(self.device_address + start, now[start:end])
        self.sent = now

    def invalidate(self) -> None:
        """Fetch it.

        Raises
        ------
        LinkError
            It was lost.
        """
        self.fetch(0, self.nbytes)

    def fetch(self, start: int, size: int) -> None:
        """Fetch some bytes of it; the others are as they were.

        Raises
        ------
        LinkError
            It was lost.
        """
        if self.lost or self.sent is None:
            raise LinkError("the matrix was lost, by a reset or on the way: write it again")
        data = self.link.read_memory(self.device_address + start, size)
        self.sent = self.sent[:start] + data + self.sent[start + size :]
        self.reshape(-1).view(np.uint8)[start : start + size] = np.frombuffer(data, np.uint8)

    def freebuffer(self) -> None:
        """Free the memory."""
        self.release()


def near_runs(marked: np.ndarray) -> list[tuple[int, int]]:
    """Return where bytes are marked: from which on, up to which; of those that are near, one."""
    places = np.flatnonzero(marked)
    if not len(places):
        return []
    ends = np.flatnonzero(np.diff(places) > _GAP)
    first = places[[0, *(ends + 1)]].tolist()
    last = places[[*ends, len(places) - 1]].tolist()
    return [(start, end + 1) for start, end in zip(first, last, strict=True)]
