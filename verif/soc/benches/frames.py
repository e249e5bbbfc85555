"""Frames on a serial line, damaged or whole, and answers of the golden link."""

import zlib

import numpy as np

from golden.soc.serial.host_link import HostLink, HostLinkFormat, frame
from verif.soc.driver.faulty_line import damage

__all__ = ["MOST", "Frames"]

MOST = 40
"""Bytes of memory in a frame."""


class Frames:
    """Draws frames, damaged or whole, for few registers and bytes, and what is answered.

    Parameters
    ----------
    memory_bytes : of the device.
    rng : draws them.

    Members
    -------
    answers : how many were answered.
    """

    def __init__(self, memory_bytes: int, rng: np.random.Generator) -> None:
        self.memory_bytes = memory_bytes
        self.rng = rng
        self.answers = 0
        self.sent = b""
        self.sequence = 0
        self.golden = HostLink(np.zeros(memory_bytes, np.uint8), self)
        self.words = dict.fromkeys((0x10, 0x48, 0x4C), 0)
        # The memory is not initialised.
        zero = HostLinkFormat.ZERO
        starts = *range(0, 3 * MOST, MOST), self.memory_bytes - MOST
        self.first = [(HostLinkFormat.CLAIM, 0, 0), *((zero, start, MOST) for start in starts)]

    def read(self, address: int) -> tuple[int, int]:
        """Read a register; another one does not exist."""
        return self.words.get(address, 0), 0 if address in self.words else 2

    def write(self, address: int, value: int) -> int:
        """Write a register."""
        self.words[address] = value
        return 0

    def header(self, command: int, address: int, value: int) -> bytes:
        """Make a header; most have the next sequence number."""
        self.sequence = self.sequence + (bool(self.first) or self.rng.random() < 0.9) & 0xFF
        high, low = divmod(address, 1 << 24)
        start = bytes([self.sequence]) + low.to_bytes(3, "little") + bytes([command])
        return start + (value | high << 16).to_bytes(4, "little")

    def draw(self) -> tuple[bytes, bytes]:
        """Draw what goes over the line, and what comes back."""
        rng, begins = self.rng, bool(self.first)
        if begins:
            sent = frame(self.header(*self.first[0]))
            del self.first[0]
        elif rng.random() < 0.2:
            sent = self.sent  # once more
        else:
            sent = self.frame(int(rng.integers(2, 7)) if rng.random() < 0.95 else 0)
        self.sent = sent
        if rng.random() < 0.5 and not begins:
            sent = damage(rng, sent)
        for used, byte in enumerate(sent):
            answer = self.golden.take(byte)
            if answer:
                self.answers += 1
                # What comes during an answer is dropped.
                return sent[: used + 4], answer
        return sent, b""

    def frame(self, command: int) -> bytes:
        """Make a frame of a command."""
        rng = self.rng
        if command >= HostLinkFormat.READ_WORD:
            names = [*self.words] + [0x7FC] * (command == HostLinkFormat.READ_WORD)
            word = int(rng.choice([0x7E, 0xD7E, int(rng.integers(1 << 12))]))
            return frame(self.header(command, int(rng.choice(names)), word))
        start = int(rng.choice([0, MOST, self.memory_bytes - MOST])) + int(rng.integers(MOST))
        if rng.random() < 0.1:
            start += 1 << int(rng.integers(24, 32))
        count = int(rng.integers(MOST))
        header = self.header(command, start, count)
        if command != HostLinkFormat.WRITE:
            return frame(header)
        data = rng.choice([0x7D, 0x7E, 0x5D, 0, 1, 255], count).astype(np.uint8).tobytes()
        return frame(header + zlib.crc32(header).to_bytes(4, "little") + data)
