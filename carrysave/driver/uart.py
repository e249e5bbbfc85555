"""A co-processor behind a serial line: its registers, and buffers in its memory."""

import weakref
import zlib
from math import prod
from typing import Any

import numpy as np

from .allocator import Room
from .errors import CoprocessorError
from .line import Command, Line, SerialPort
from .uart_buffer import UartBuffer, near_runs

__all__ = ["SerialPort", "UartBuffer", "UartLink", "near_runs"]

_IMAGE = 1 << 23
"""Register: the CRC-32 of what came from flash into memory; written, it comes anew."""
_FLASH, _LOADING, _LOADED = 16, 1, 2
"""Status of a greeting, divided by the first: it is being read; it is in memory."""
_FLASHES = (
    *("", "flash is being read", "loaded", "there is no image in flash"),
    *("the image in flash is of another design", "the image in flash is damaged"),
    "memory did not take the image in flash",
)
_READS = 10_000
"""Greetings in which an image comes: each takes a millisecond or so."""
_SILENT = 1
"""Status: memory did not answer, for as long as the device waits."""
_ERROR = 3
"""Status: an access was an error, or beyond the memory."""
_UNSTARTED = 8
"""Status: memory has not started."""


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
        An unknown device, an invalid address, or memory that does not answer or has not started.
    """

    _filled = b""
    """What memory has from flash, up to the next array."""

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
        if not 10 <= exponent <= 32 or self.size not in (0, 1 << exponent):
            raise CoprocessorError(f"another device answers, with memory of 2^{exponent} bytes")
        self.size = 1 << exponent

    @property
    def started(self) -> bool:
        """Whether the memory has started, as the device says now."""
        return not self._greeted() & _UNSTARTED

    @property
    def flash(self) -> str:
        """What came from the board's flash into memory; empty: the design does not read it.

        Raises
        ------
        CoprocessorError
            Another device answers.
        """
        if (status := self._greeted() // _FLASH) >= len(_FLASHES):
            raise CoprocessorError(f"another device answers, whose flash has status {status}")
        return _FLASHES[status]

    def _greeted(self) -> int:
        """Return the status of a greeting."""
        return self._line.command(Command.HELLO, size=1)[1]

    def fill(self, data: bytes) -> bool:
        """Have memory filled from flash, if flash has these bytes; return whether it was.

        The next array at address 0 then begins with them, and they need not be sent. Nothing may
        use the memory meanwhile.
        """
        wanted = zlib.crc32(data)
        if self._greeted() // _FLASH != _LOADED or self.read(_IMAGE) != wanted:
            return False
        self.write(_IMAGE, 1)
        for _ in range(_READS):
            if self._greeted() // _FLASH != _LOADING:
                break
        if self.read(_IMAGE) != wanted:
            return False
        self._filled = data
        return True

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
        if status and (not failed or status != _ERROR):
            _check(Command.READ, 0, status)
        return [byte for byte in range(8) if status and failed >> byte & 1]

    def __call__(self, shape: tuple[int, ...], dtype: Any = np.uint8) -> UartBuffer:
        """Allocate an array of zeros, first fit, like ``pynq.allocate``; or see :meth:`fill`.

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
        known = b"" if array.device_address else self._filled[:length]
        self._filled = self._filled if array.device_address else b""
        array.reshape(-1).view(np.uint8)[: len(known)] = np.frombuffer(known, np.uint8)
        array.sent, array.resets = array.tobytes(), self.resets
        try:
            for start, size in self._parts(length - len(known)):
                self._command(Command.ZERO, array.device_address + len(known) + start, size)
        except BaseException:
            array.freebuffer()
            raise
        return array

    def _command(
        self, command: Command, address: int, value: int = 0, data: bytes = b"", size: int = 0
    ) -> bytes:
        """Have a command carried out; return the data of its answer."""
        answer, status = self._line.command(command, address, value, data, size)
        _check(command, address, status)
        return answer

    def _parts(self, size: int) -> list[tuple[int, int]]:
        return [(start, min(self._burst, size - start)) for start in range(0, size, self._burst)]


def _check(command: Command, address: int, status: int) -> None:
    """Raise what a status says."""
    access = f"{command.name} of {address:#x}"
    if status & _UNSTARTED:
        raise CoprocessorError(f"memory has not started: {access}")
    if status == _SILENT:
        raise CoprocessorError(f"memory does not answer: {access}")
    if status:
        raise CoprocessorError(f"{access} has status {status}")
