"""Frames on a serial line, and the device's end of it."""

import zlib
from typing import Protocol

import numpy as np

from golden.soc.serial.flash_image import FlashStatus, load_flash

__all__ = ["HostLink", "HostLinkFormat", "Registers", "frame"]


class HostLinkFormat:
    """Frames of the line, as RFC 1662 has them, with a CRC-32 at their end.

    A frame is END, its bytes, and END; a byte END or ESCAPE within it is sent as ESCAPE, and the
    byte with bit 5 flipped. An END anywhere begins anew. All numbers are little-endian.

    The host sends a sequence number (1 byte), an address (3), a command (1), a value (4) and the
    CRC-32 of these. The value is the number of bytes in memory (16 bits, and above them bits 24 to
    31 of the address), or the word of a register. The bytes of WRITE follow, then the CRC-32 of
    the whole frame before it.

    The device answers with the sequence number, data, a status byte, and their CRC-32. Data are
    the bytes of READ, the word of READ_WORD, or log2 of the memory's bytes for HELLO and CLAIM. A
    frame that is not whole has no answer.

    The host waits for the answer, and repeats the same frame if none comes. All but READ, HELLO and
    CLAIM is not done again if the sequence number is that of the last answer, but answered again.
    After a reset of the device all commands but HELLO and CLAIM are refused with RESET, until
    CLAIM; with these two RESET says whether that was so. Until memory has started, its bytes and
    jobs' starts are refused with UNSTARTED, which HELLO and CLAIM say, too.
    """

    END, ESCAPE, FLIP = 0x7E, 0x7D, 0x20
    HELLO, CLAIM, READ, WRITE, ZERO, READ_WORD, WRITE_WORD = range(7)
    HEADER = 9
    """Bytes before the first CRC."""
    CRC = 4
    """Bytes of a CRC."""
    ANSWERS = 3
    """Status: the OR of all answers of AXI."""
    SILENT = 1
    """Status, in place of an answer: memory does not answer."""
    RESET = 4
    """Status: the device was reset, and has not been claimed since."""
    UNSTARTED = 8
    """Status: memory has not started; a byte was not accessed, a job not started."""
    FLASH = 16
    """Status of HELLO and CLAIM, times this: the :class:`FlashStatus` of designs that read it."""
    IMAGE = 1 << 23
    """Register of these designs: the CRC-32 of the data that came from flash; 0: none did. Written,
    they come anew."""
    CTRL, START = 0, 1
    """Address of the register that starts jobs, and its bit that does."""


_F = HostLinkFormat


def frame(data: bytes) -> bytes:
    """Return the bytes on the line for the bytes of a frame, without CRC, END and ESCAPE."""
    data += zlib.crc32(data).to_bytes(_F.CRC, "little")
    for special in (_F.ESCAPE, _F.END):
        data = data.replace(bytes([special]), bytes([_F.ESCAPE, special ^ _F.FLIP]))
    return bytes([_F.END]) + data + bytes([_F.END])


class Registers(Protocol):
    """Registers behind AXI4-Lite."""

    def read(self, address: int) -> tuple[int, int]:
        """Return a word and the answer."""

    def write(self, address: int, value: int) -> int:
        """Write a word; return the answer."""


class HostLink:
    """Does what frames say, byte by byte; :class:`hw.soc.serial.host_link.HostLink` without time.

    Parameters
    ----------
    memory : uint8; modified.
    registers : of the device.

    Members
    -------
    silent : the memory does not answer: bytes are not written, and those that are read are none.
    started : the memory has started.
    flash : what flash has, as the design reads it; None: it does not.
    digest : of the design, which an image must name.
    """

    def __init__(self, memory: np.ndarray, registers: Registers) -> None:
        self.memory = memory
        self.registers = registers
        self.silent = False
        self.started = True
        self.flash: bytes | None = None
        self.digest = 0
        self._image = FlashStatus.NONE, 0
        self.reset()

    def reset(self) -> None:
        """Reset the link, which knows nothing of before."""
        self._fresh = True
        self._last = self._word = self._status = 0
        self._escape = False
        self._bytes: int | None = None
        """Bytes of the frame so far; None: none of it counts, up to the next END."""
        self._header = bytearray()
        self._crc = 0
        self._fill()

    def _fill(self) -> None:
        """Fill memory from flash."""
        if self.flash is not None:
            self._image = load_flash(self.flash, self.digest, self.memory)

    def take(self, byte: int) -> bytes:
        """Take a byte from the line; return the answer that it brings, as on the line."""
        if byte == _F.END:
            self._escape, self._bytes, self._crc = False, 0, 0
            self._header.clear()
            return b""
        if byte == _F.ESCAPE:
            self._escape = True
            return b""
        byte ^= _F.FLIP * self._escape
        self._escape = False
        if self._bytes is None:
            return b""
        self._crc = zlib.crc32(bytes([byte]), self._crc)
        self._bytes += 1
        whole = _F.HEADER + _F.CRC
        if self._bytes <= whole:
            self._header.append(byte)
            return self._check() if self._bytes == whole else b""
        body = self._bytes - whole
        if body <= self._count:
            self._write(body - 1, byte)
        return self._answer() if body == self._count + _F.CRC and self._matches else b""

    @property
    def _matches(self) -> bool:
        return self._crc == zlib.crc32(bytes(4))

    @property
    def _count(self) -> int:
        return self._value & 0xFFFF

    def _check(self) -> bytes:
        """Begin what a header says, if it is whole."""
        if not self._matches:
            self._bytes = None
            return b""
        self._sequence, self._code = self._header[0], self._header[4] & 7
        self._address = int.from_bytes(self._header[1:4], "little")
        self._value = int.from_bytes(self._header[5:9], "little")
        if self._fresh and self._code > _F.CLAIM:
            self._status, self._code = _F.RESET, _F.ZERO
        elif self._code <= _F.READ or self._sequence != self._last:
            self._status = 0
            if self._code <= _F.CLAIM:
                self._status = _F.RESET * self._fresh | _F.UNSTARTED * (not self.started)
                self._status |= _F.FLASH * self._image[0]
            if self._code == _F.WRITE:
                return b""
            self._do()
        return self._answer()

    def _do(self) -> None:
        """Do all but READ and WRITE."""
        if self._code == _F.CLAIM:
            self._fresh = False
        elif self._code == _F.ZERO:
            for index in range(self._count):
                self._write(index, 0)
        elif self._code == _F.READ_WORD:
            if self.flash is not None and self._address & _F.IMAGE:
                self._word, self._status = self._image[1], 0
            else:
                self._word, self._status = self.registers.read(self._address)
        elif self._code == _F.WRITE_WORD:
            starts = self._address & ~3 == _F.CTRL and self._value & _F.START
            if self.flash is not None and self._address & _F.IMAGE:
                self._status = 0
                self._fill()
            elif starts and not self.started:
                self._status = _F.UNSTARTED
            else:
                self._status = self.registers.write(self._address, self._value)

    @property
    def _place(self) -> int:
        """Address of the first byte in memory."""
        return self._address | (self._value >> 16 & 0xFF) << 24

    def _write(self, offset: int, byte: int) -> None:
        address = self._place + offset & 0xFFFFFFFF
        if address >= len(self.memory):
            self._status |= 3
        elif not self.started:
            self._status |= _F.UNSTARTED
        elif self.silent:
            self._status |= _F.SILENT
        else:
            self.memory[address] = byte

    def _answer(self) -> bytes:
        data = b""
        if self._code <= _F.CLAIM:
            data = bytes([(len(self.memory) - 1).bit_length()])
        elif self._code == _F.READ:
            # Beyond its end the memory is read from its beginning.
            places = self._place + np.arange(self._count) & 0xFFFFFFFF
            data = self.memory[places % len(self.memory)].tobytes()
            self._status |= 3 * bool((places >= len(self.memory)).any())
            if (places < len(self.memory)).any():
                self._status |= _F.SILENT * self.silent if self.started else _F.UNSTARTED
        elif self._code == _F.READ_WORD:
            data = self._word.to_bytes(4, "little")
        self._bytes, self._last = None, self._sequence
        return frame(bytes([self._sequence]) + data + bytes([self._status]))
