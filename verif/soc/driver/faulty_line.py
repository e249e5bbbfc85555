"""A serial line in software on which bytes are lost, flipped, repeated, inserted and late."""

from collections import deque
from collections.abc import Callable

import numpy as np

__all__ = ["FAULTS", "FaultyLine", "damage"]

FAULTS = ("lost", "flipped", "repeated", "inserted", "noise", "end")


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """Damage some bytes of a message, of which one is next to its ends often."""
    kind = FAULTS[rng.integers(len(FAULTS))]
    size = len(data)
    at = int(rng.choice([0, size - 1, int(rng.integers(size))]))
    if kind == "lost":
        return data[:at] + data[at + int(rng.geometric(0.3)) :]
    if kind == "flipped":
        return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
    if kind == "repeated":
        return data[:at] + data[at : at + 1] * int(rng.integers(2, 4)) + data[at + 1 :]
    if kind == "end":
        return data[:at] + b"\x7e" + data[at:]
    more = rng.integers(0, 256, int(rng.geometric(0.2)), dtype=np.uint8).tobytes()
    return data[:at] + more + data[at + len(more) * (kind == "noise") :]


class FaultyLine:
    """A port of pyserial's, of a device that takes one byte after the other.

    Time goes on, by one timeout, whenever a read waits in vain.

    Parameters
    ----------
    take : gives the device a byte; returns what it answers.
    reset : resets the device.
    rng : draws faults.

    Members
    -------
    rate : of faults, in each direction of each message.
    bad : faults so far.
    sent : messages so far, in both directions; may be set.
    lost : numbers of messages that do not arrive.
    """

    timeout: float | None = 1.0
    baudrate = 1 << 30

    def __init__(
        self, take: Callable[[int], bytes], reset: Callable[[], None], rng: np.random.Generator
    ) -> None:
        self.rate = 0.0
        self.bad = 0
        self.sent = 0
        self.lost = range(0)
        self._take = take
        self._reset = reset
        self._rng = rng
        self._now = 0
        self._to_device: deque[tuple[int, int]] = deque()
        """Times and bytes; a time is no less than those before."""
        self._to_host: deque[tuple[int, int]] = deque()

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._send(self._to_device, data)
        self._move()

    def read(self, size: int) -> bytes:
        """Take bytes that came, or wait in vain."""
        took = self._came(size)
        if len(took) < size:
            self._now += 1
            self._move()
            took += self._came(size - len(took))
        return bytes(took)

    def settle(self) -> None:
        """Let so much time pass that nothing is late any more."""
        while self._to_device or (self._to_host and self._to_host[-1][0] > self._now):
            self._now += 1
            self._move()

    def _came(self, size: int) -> list[int]:
        queue = self._to_host
        took: list[int] = []
        while len(took) < size and queue and queue[0][0] <= self._now:
            took.append(queue.popleft()[1])
        return took

    def _move(self) -> None:
        """Give the device what has reached it."""
        queue = self._to_device
        while queue and queue[0][0] <= self._now:
            answer = self._take(queue.popleft()[1])
            if answer:
                self._send(self._to_host, answer)

    def _send(self, queue: deque[tuple[int, int]], data: bytes) -> None:
        """Put a message onto the line, with a fault or without."""
        self.sent += 1
        if self.sent - 1 in self.lost:
            return
        rng = self._rng
        at = queue[-1][0] if queue else 0
        at = max(at, self._now)
        if rng.random() >= self.rate:
            queue.extend((at, byte) for byte in data)
            return
        self.bad += 1
        kind = rng.random()
        if kind < 0.7:
            queue.extend((at, byte) for byte in damage(rng, data))
        elif kind < 0.95:
            place, late = int(rng.integers(len(data))), at + int(rng.geometric(0.2))
            queue.extend((at, byte) for byte in data[:place])
            queue.extend((late, byte) for byte in data[place:])
        else:
            # The device is reset in the middle of a message, which may be its own.
            place = int(rng.integers(len(data) + 1))
            queue.extend((at, byte) for byte in data[:place])
            if queue is self._to_device:
                self._move()
                queue.clear()
                queue.extend((at, byte) for byte in data[place:])
            self._reset()
