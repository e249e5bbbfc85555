"""A co-processor behind a serial line: its registers, and buffers in its memory."""

from math import prod
from typing import Any, Protocol

import numpy as np

from .allocator import Room
from .errors import CoprocessorError

__all__ = ["SerialPort", "UartBuffer", "UartLink"]

_MOST = 60_000
"""Bytes of a command: a multiple of 4 below 2^16."""


class SerialPort(Protocol):
    """The used part of pyserial's ``serial.Serial``; with a timeout set."""

    def read(self, size: int) -> bytes:
        """Read bytes, or those received until the timeout."""

    def write(self, data: bytes) -> Any:
        """Send bytes."""


class UartBuffer(np.ndarray):
    """A copy of bytes of the device's memory."""

    device_address: int
    link: "UartLink"
    sent: bytes

    def flush(self) -> None:
        """Send the bytes changed since the last time."""
        now = self.tobytes()
        apart = np.flatnonzero(np.frombuffer(now, np.uint8) != np.frombuffer(self.sent, np.uint8))
        if len(apart):
            start, end = int(apart[0]), int(apart[-1]) + 1
            self.link.write_memory(self.device_address + start, now[start:end])
            self.sent = now

    def invalidate(self) -> None:
        """Fetch it."""
        self.sent = self.link.read_memory(self.device_address, self.nbytes)
        self.reshape(-1).view(np.uint8)[:] = np.frombuffer(self.sent, np.uint8)

    def freebuffer(self) -> None:
        """Free the memory."""
        self.link.free(self.device_address)


class UartLink:
    """Registers and memory of ``coprocessor_uart``; both arguments of ``Coprocessor``.

    Parameters
    ----------
    port : an open serial line, 8N1 at the device's rate.

    Members
    -------
    size : bytes of memory.

    Raises
    ------
    CoprocessorError
        No response, an unknown device, or an invalid address.
    """

    def __init__(self, port: SerialPort) -> None:
        self._port = port
        (exponent,) = self._command(b"i", 1)
        if not 10 <= exponent <= 20:
            raise CoprocessorError(f"no co-processor answers: memory of 2^{exponent} bytes")
        self.size = 1 << exponent
        self._room = Room(self.size)

    def read(self, offset: int) -> int:
        """Read a register."""
        return int.from_bytes(self._command(_header(b"R", offset, 4), 4), "little")

    def write(self, offset: int, value: int) -> None:
        """Write a register."""
        self._command(_header(b"W", offset, 4) + value.to_bytes(4, "little"), 0)

    def read_memory(self, address: int, size: int) -> bytes:
        """Read bytes of memory."""
        parts = [
            self._command(_header(b"r", address + start, length), length)
            for start, length in _parts(size)
        ]
        return b"".join(parts)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of memory."""
        for start, length in _parts(len(data)):
            part = data[start : start + length]
            self._command(_header(b"w", address + start, length) + part, 0)

    def __call__(self, shape: tuple[int, ...], dtype: Any = np.uint8) -> UartBuffer:
        """Allocate an array of zeros, first fit, like ``pynq.allocate``.

        Raises
        ------
        MemoryError
            Out of memory.
        """
        length = prod(shape) * np.dtype(dtype).itemsize
        start = self._room.take(length)
        array = np.zeros(shape, dtype).view(UartBuffer)
        array.device_address = start
        array.link = self
        for part, size in _parts(length):
            self._command(_header(b"z", start + part, size), 0)
        array.sent = array.tobytes()
        return array

    def free(self, address: int) -> None:
        """Free allocated memory."""
        self._room.free(address)

    def _command(self, sent: bytes, size: int) -> bytes:
        """Send a command; return its response, without the status."""
        self._port.write(sent)
        answer = self._port.read(size + 1)
        if len(answer) != size + 1:
            raise CoprocessorError(f"no answer: {len(answer)} of {size + 1} bytes came")
        if answer[-1]:
            raise CoprocessorError(f"command {sent[:7].hex()} has status {answer[-1]}")
        return answer[:-1]


def _header(letter: bytes, address: int, size: int) -> bytes:
    return letter + address.to_bytes(4, "little") + size.to_bytes(2, "little")


def _parts(size: int) -> list[tuple[int, int]]:
    return [(start, min(_MOST, size - start)) for start in range(0, size, _MOST)]
