"""A co-processor behind a serial line: its registers, and buffers in its memory."""

import weakref
from math import prod
from typing import Any

import numpy as np

from .allocator import Room
from .errors import CoprocessorError, LinkError
from .line import Command, Line, SerialPort

__all__ = ["SerialPort", "UartBuffer", "UartLink", "near_runs"]

_GAP = 32
"""Bytes that are sent along rather than in a command of their own, which takes about as many."""
_SILENT = 1
"""Status: memory did not answer, for as long as the device waits."""


class UartBuffer(np.ndarray):
    """A copy of bytes of the device's memory, which is freed with it."""

    device_address: int
    link: "UartLink"
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


class UartLink:
    """Registers and memory of ``coprocessor_uart``; both arguments of ``Coprocessor``.

    Damaged, lost and late bytes are repaired by repetition: each access takes place once. What
    cannot be repaired is a :class:`LinkError`; the link can be used again at once.

    Parameters
    ----------
    port : an open serial line, 8N1 at the device's rate, with a timeout: the time after which a
        command is repeated. It is no less than the line's longest pause.
    tries : how often a command is sent until it is given up.
    burst : bytes of memory in a command, 1..65535.

    Members
    -------
    size : bytes of memory.
    failed : the last access was a :class:`LinkError`.

    Raises
    ------
    LinkError
        No answer, or the device was reset.
    CoprocessorError
        An unknown device, an invalid address, or memory that does not answer.
    """

    def __init__(self, port: SerialPort, *, tries: int = 8, burst: int = 4096) -> None:
        if not 1 <= burst <= 65535:
            raise ValueError(f"burst must be 1..65535, not {burst!r}")
        self._line = Line(port, tries)
        self._burst = burst
        self.size = 0
        self.reset()
        self._room = Room(self.size)

    @property
    def failed(self) -> bool:
        """Whether the last access was a :class:`LinkError`."""
        return self._line.failed

    @property
    def resets(self) -> int:
        """How often the device has been found reset."""
        return self._line.resets

    def reset(self) -> None:
        """Drop what is on the line, and greet the device; not a reset of the co-processor.

        If the device was reset, buffers are lost: they must be written again.
        """
        exponent = self._line.open()
        if not 10 <= exponent <= 24 or self.size not in (0, 1 << exponent):
            raise CoprocessorError(f"another device answers, with memory of 2^{exponent} bytes")
        self.size = 1 << exponent

    def read(self, offset: int) -> int:
        """Read a register."""
        return int.from_bytes(self._command(Command.READ_WORD, offset, size=4), "little")

    def write(self, offset: int, value: int) -> None:
        """Write a register."""
        self._command(Command.WRITE_WORD, offset, value)

    def read_memory(self, address: int, size: int) -> bytes:
        """Read bytes of memory."""
        parts = [
            self._command(Command.READ, address + start, length, size=length)
            for start, length in self._parts(size)
        ]
        return b"".join(parts)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of memory; after an error, they may hold anything."""
        for start, length in self._parts(len(data)):
            part = data[start : start + length]
            self._command(Command.WRITE, address + start, length, part)

    def failed_bytes(self) -> list[int]:
        """Return which bytes of the memory's bus its start found no read delay for; none: it works.

        Raises
        ------
        CoprocessorError
            The memory answers with an error of another kind.
        """
        (failed,), status = self._line.command(Command.READ, 0, 1, b"", 1)
        if status and not failed:
            raise CoprocessorError(f"READ of 0x0 has status {status}")
        return [byte for byte in range(8) if status and failed >> byte & 1]

    def __call__(self, shape: tuple[int, ...], dtype: Any = np.uint8) -> UartBuffer:
        """Allocate an array of zeros, first fit, like ``pynq.allocate``.

        Raises
        ------
        MemoryError
            Out of memory.
        """
        array = np.zeros(shape, dtype).view(UartBuffer)
        length = prod(shape) * array.itemsize
        array.device_address = self._room.take(length)
        array.release = weakref.finalize(array, self._room.free, array.device_address)
        array.link = self
        array.sent, array.resets = array.tobytes(), self.resets
        try:
            for start, size in self._parts(length):
                self._command(Command.ZERO, array.device_address + start, size)
        except BaseException:
            array.freebuffer()
            raise
        return array

    def _command(
        self, command: Command, address: int, value: int = 0, data: bytes = b"", size: int = 0
    ) -> bytes:
        """Have a command carried out; return the data of its answer."""
        answer, status = self._line.command(command, address, value, data, size)
        if status == _SILENT:
            raise CoprocessorError(f"memory does not answer: {command.name} of {address:#x}")
        if status:
            raise CoprocessorError(f"{command.name} of {address:#x} has status {status}")
        return answer

    def _parts(self, size: int) -> list[tuple[int, int]]:
        return [(start, min(self._burst, size - start)) for start in range(0, size, self._burst)]


def near_runs(marked: np.ndarray) -> list[tuple[int, int]]:
    """Return where bytes are marked: from which on, up to which; of those that are near, one."""
    places = np.flatnonzero(marked)
    if not len(places):
        return []
    ends = np.flatnonzero(np.diff(places) > _GAP)
    first = places[[0, *(ends + 1)]].tolist()
    last = places[[*ends, len(places) - 1]].tolist()
    return [(start, end + 1) for start, end in zip(first, last, strict=True)]
