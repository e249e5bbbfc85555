"""Commands over a serial line, each answered, repeated, or reported as lost."""

import secrets
import zlib
from enum import IntEnum
from typing import Any, Protocol

from .errors import LinkError

__all__ = ["Command", "Line", "SerialPort"]

_END, _ESCAPE, _FLIP = 0x7E, 0x7D, 0x20
_ADDRESS, _COUNT = 24, 16
"""Bits of a header's address, and of a count of bytes in its value."""
_RESET = 4
"""Status: the device was reset."""
_MOST_NOISE = 1 << 16
"""Bytes that may come in vain before a wait ends."""


class Command(IntEnum):
    """Commands, as the device numbers them."""

    HELLO = 0
    CLAIM = 1
    READ = 2
    WRITE = 3
    ZERO = 4
    READ_WORD = 5
    WRITE_WORD = 6
    RUN = 7
    """Of the firmware of a system: run the program at an address."""


_OF_REGISTERS = Command.READ_WORD, Command.WRITE_WORD


class SerialPort(Protocol):
    """The used part of pyserial's ``serial.Serial``."""

    timeout: float | None
    """Seconds, more than 0."""
    baudrate: int

    def read(self, size: int) -> bytes:
        """Read bytes, or those received until the timeout."""

    def write(self, data: bytes) -> Any:
        """Send bytes."""


class Line:
    """A host's end of a line of frames, see ``coprocessor_uart``.

    Parameters
    ----------
    port : an open serial line, 8N1 at the device's rate.
    tries : how often a command is sent until it is given up.

    Members
    -------
    failed : the last command was given up, or the device was reset.
    resets : how often the device has been found reset; then all that it held is lost.

    Raises
    ------
    ValueError
        The port waits forever, or not at all.
    """

    def __init__(self, port: SerialPort, tries: int = 8) -> None:
        if not port.timeout or port.timeout <= 0:
            raise ValueError(f"port.timeout must be more than 0 s, not {port.timeout!r}")
        if tries < 1:
            raise ValueError(f"tries must be 1 or more, not {tries!r}")
        self.failed = False
        self.resets = 0
        self._port = port
        self._tries = tries
        self._timeout = port.timeout
        # An answer to another process, however late, has another number.
        self._sequence = secrets.randbelow(256)
        self._came = bytearray()

    def command(
        self, command: Command, address: int = 0, value: int = 0, data: bytes = b"", size: int = 0
    ) -> tuple[bytes, int]:
        """Have a command carried out once, in as many tries as it takes.

        Parameters
        ----------
        command, address, value : see ``HostLinkFormat``. Addresses of memory have 32 bits, and a
            value that is a count of bytes 16; those of registers have 24 and 32.
        data : bytes of WRITE.
        size : bytes of data in the answer.

        Returns
        -------
        Data of the answer, and the status: of AXI, and for HELLO and CLAIM whether the device was
        reset.

        Raises
        ------
        LinkError
            There is no answer: the command may have been carried out, or may yet be. Or the device
            was reset, and the command was not carried out.
        """
        most = (1 << (_ADDRESS if command in _OF_REGISTERS else 32)) - 1
        if not 0 <= address <= most:
            raise ValueError(f"address must be 0..{most}, not {address!r}")
        high, low = divmod(address, 1 << _ADDRESS)
        self._sequence = self._sequence + 1 & 0xFF
        header = bytes([self._sequence, *low.to_bytes(3, "little"), command])
        content = _checked(header + (value | high << _COUNT).to_bytes(4, "little"))
        if command == Command.WRITE:
            content = _checked(content + data)
        frame = _escaped(content)
        self.failed = True
        for _ in range(self._tries):
            try:
                self._port.write(frame)
                answer = self._answer(size, len(frame))
            except OSError as error:
                raise LinkError(f"the serial line failed: {error}") from error
            if answer is not None:
                break
        else:
            raise LinkError(
                f"no answer to {command.name} of {address:#x}, sent {self._tries} times"
            )
        status = answer[-1]
        if status & _RESET and command > Command.CLAIM:
            self._claim()
            self.failed = True
            raise LinkError("the device was reset: what it held is lost")
        self.failed = False
        return answer[:-1], status

    def open(self) -> int:
        """Wait until the line is silent, and greet the device; returns log2 of its memory's bytes.

        Raises
        ------
        LinkError
            The line is never silent, or the device does not answer.
        """
        self.failed = True
        for _ in range(_MOST_NOISE >> 8):
            try:
                if not self._port.read(256):
                    break
            except OSError as error:
                raise LinkError(f"the serial line failed: {error}") from error
        else:
            raise LinkError("the line is never silent")
        self._came.clear()
        data, status = self.command(Command.HELLO, size=1)
        if status & _RESET:
            self._claim()
        return data[0]

    def _claim(self) -> None:
        """Make a device usable that was reset."""
        self.resets += 1
        self.command(Command.CLAIM, size=1)

    def _answer(self, size: int, sent: int) -> bytes | None:
        """Wait for an answer; returns data and status, or None."""
        length = size + 6  # sequence number, status, CRC
        # A write may return long before all bytes are on the line.
        patience = 1 + int(10 * sent / self._port.baudrate / self._timeout)
        noise = _MOST_NOISE + 4 * length
        while patience and noise > 0:
            first, end, rest = self._came.partition(bytes([_END]))
            if end:
                self._came = rest
                frame = _unescaped(bytes(first))
                if len(frame) == length and frame[0] == self._sequence and not _damaged(frame):
                    return frame[1:-4]
                continue
            # Never wait for more than must come, if all is well: the rest, and the delimiter.
            held = len(self._came) - self._came.count(_ESCAPE)
            got = self._port.read(max(1, length - held + 1))
            noise -= len(got)
            patience -= not got
            self._came += got
            # Noise without an end: so much is no answer, whatever follows, and would be searched
            # again with each byte.
            del self._came[: -2 * (length + 1)]
        return None


def _checked(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(4, "little")


def _damaged(data: bytes) -> bool:
    return zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little")


def _escaped(data: bytes) -> bytes:
    for special in (_ESCAPE, _END):
        data = data.replace(bytes([special]), bytes([_ESCAPE, special ^ _FLIP]))
    return bytes([_END]) + data + bytes([_END])


def _unescaped(data: bytes) -> bytes:
    first, *rest = data.split(bytes([_ESCAPE]))
    return first + b"".join(bytes([part[0] ^ _FLIP]) + part[1:] for part in rest if part)
