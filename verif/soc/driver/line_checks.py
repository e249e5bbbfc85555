"""What a host must do on a line with faults: no wrong number, and usable afterwards."""

from collections.abc import Callable
from typing import Any

import numpy as np

from carrysave.driver import LinkError
from golden.soc.serial.host_link import HostLink
from verif.soc.driver.faulty_line import FaultyLine

__all__ = ["Target", "check_accesses"]

_SIZE = 1 << 12
_COUNTS, _CLEARS = 0x40, 0x44


class Target:
    """A device of few registers, some of which tell how often they are accessed, and memory."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.memory = np.zeros(_SIZE, np.uint8)
        self.words: dict[int, int] = {}
        self.accesses = 0
        self.link = HostLink(self.memory, self)
        self.line = FaultyLine(self.link.take, self.reset, rng)
        self.reset()

    def reset(self) -> None:
        """Reset the device; registers and memory hold anything afterwards."""
        self.link.reset()
        self.memory[:] = self.rng.integers(0, 256, _SIZE, dtype=np.uint8)
        self.words = {address: int(self.rng.integers(1 << 32)) for address in range(0, 0x48, 4)}

    def read(self, address: int) -> tuple[int, int]:
        """Read a register; one counts reads, one is cleared by them."""
        if address not in self.words:
            return 0, 2
        self.accesses += 1
        word = self.words[address]
        if address == _COUNTS:
            self.words[address] = word + 1 & 0xFFFFFFFF
        if address == _CLEARS:
            self.words[address] = 0
        return word, 0

    def write(self, address: int, value: int) -> int:
        """Write a register; one adds what is written."""
        if address not in self.words:
            return 2
        self.accesses += 1
        more = self.words[address] if address == _COUNTS else 0
        self.words[address] = value + more & 0xFFFFFFFF
        return 0


def check_accesses(
    target: Target, open_link: Callable[[FaultyLine], Any], faults: int, rate: float
) -> int:
    """Access registers and memory until there were so many faults; returns how many were errors.

    Parameters
    ----------
    open_link : opens a host's driver, of the interface of :class:`carrysave.driver.uart.UartLink`.
    """
    line = target.line
    link = open_link(line)
    checks = _Checks(target, link)
    errors = 0
    while line.bad < faults:
        line.rate = rate
        try:
            checks.step()
        except LinkError:
            errors += 1
            checks.recover()
        if target.rng.random() < 0.01:
            checks.recover()
            checks.all()
    checks.recover()
    checks.all()
    return errors


class _Checks:
    """Accesses, and what the host may rely on."""

    def __init__(self, target: Target, link: Any) -> None:
        self.target = target
        self.link = link
        self.words: dict[int, int] = {}
        self.buffers: list[Any] = []
        self.contents: list[np.ndarray] = []
        self.unread: set[int] = set()
        """Buffers that a job wrote, and whose reading failed."""
        self.recover()

    def recover(self) -> None:
        """Use a good line again, on which nothing more is late.

        After an error a register may have been accessed or not.
        """
        self.target.line.rate = 0.0
        self.target.line.settle()
        self.link.reset()
        self.words = dict(self.target.words)

    def all(self) -> None:
        """Check everything, on a good line."""
        for address in self.words:
            self.read(address)
        for place in range(len(self.buffers)):
            self.fetch(place)

    def step(self) -> None:
        """Draw an access."""
        rng = self.target.rng
        kind = int(rng.integers(8))
        place = int(rng.integers(len(self.buffers))) if self.buffers else 0
        if kind < 2:
            self.read(int(rng.choice([*self.words])))
        elif kind < 4:
            self.write(int(rng.choice([*self.words])), int(rng.integers(1 << 32)))
        elif kind == 4 and self.buffers:
            self.fetch(place)
        elif kind == 5 and self.buffers:
            self.change(place)
        elif kind == 6 and self.buffers:
            # A job, which is started by a register, writes to the memory.
            self.write(0, int(rng.integers(1 << 32)))
            buffer, at = self.buffers[place], self.buffers[place].device_address
            if not buffer.lost:
                now = rng.integers(0, 256, buffer.nbytes, dtype=np.uint8)
                self.contents[place] = now
                self.target.memory[at : at + len(now)] = now
                self.unread.add(id(buffer))
                self.fetch(place)
        elif kind == 7:
            self.allocate()

    def read(self, address: int) -> None:
        """Read a register, once."""
        before = self.target.accesses
        assert self.link.read(address) == self.words[address], hex(address)
        assert self.target.accesses == before + 1
        if address == _COUNTS:
            self.words[address] = self.words[address] + 1 & 0xFFFFFFFF
        if address == _CLEARS:
            self.words[address] = 0

    def write(self, address: int, value: int) -> None:
        """Write a register, once."""
        before = self.target.accesses
        self.link.write(address, value)
        assert self.target.accesses == before + 1
        more = self.words[address] if address == _COUNTS else 0
        self.words[address] = value + more & 0xFFFFFFFF

    def fetch(self, place: int) -> None:
        """Read a buffer, or learn that it is lost, and write it again."""
        buffer = self.buffers[place]
        if buffer.lost:
            try:
                buffer.invalidate()
            except LinkError:
                self.change(place)
            else:
                raise AssertionError("a lost buffer was read")
        buffer.invalidate()
        self.unread.discard(id(buffer))
        assert np.array_equal(buffer, self.contents[place])

    def change(self, place: int) -> None:
        """Change some of a buffer."""
        rng, buffer = self.target.rng, self.buffers[place]
        if id(buffer) in self.unread and not buffer.lost:
            self.fetch(place)
        start, end = sorted(map(int, rng.integers(0, buffer.nbytes + 1, 2)))
        buffer[start:end] = rng.choice([0x7D, 0x7E, 0, 200], end - start)
        self.contents[place] = np.array(buffer)
        buffer.flush()
        assert not buffer.lost

    def allocate(self) -> None:
        """Free a buffer or two, and allocate one."""
        rng = self.target.rng
        while len(self.buffers) > 3:
            place = int(rng.integers(len(self.buffers)))
            self.unread.discard(id(self.buffers.pop(place)))
            self.contents.pop(place)
        size = int(rng.choice([1, 60, 300]))
        self.buffers.append(self.link((size,)))
        self.contents.append(np.zeros(size, np.uint8))
