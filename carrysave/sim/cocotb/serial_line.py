"""A host's end of a serial line under cocotb, as an object of pyserial's."""

from collections import deque
from collections.abc import Callable
from itertools import groupby
from typing import Any

import cocotb
from cocotb.task import resume
from cocotb.triggers import Event, FallingEdge, SimTimeoutError, Timer, with_timeout

from carrysave.sim.cocotb.streams import PERIOD_NS

__all__ = ["SerialLine"]


class SerialLine:
    """8N1 at the pins ``rx`` and ``tx`` of the design; for a thread of ``cocotb.task.bridge``.

    Members
    -------
    read, write : as of ``serial.Serial``; `read` gives up after `timeout` bits of silence.
    rate : of the host, relative to the design's.
    timeout, baudrate : bits of silence after which a host gives up; so a unit of time is a bit.
    """

    def __init__(self, dut: Any, divisor: int) -> None:
        self.dut = dut
        self.rate = 1.0
        self.timeout: float | None = 8000.0
        self.baudrate = 1
        self.read: Callable[[int], bytes] = resume(self.take)
        self.write: Callable[[bytes], None] = resume(self.send)
        self._bit_ns = divisor * PERIOD_NS
        self._came: deque[int] = deque()
        self._news = Event()
        dut.rx.value = 1
        cocotb.start_soon(self._receive())

    async def send(self, data: bytes, stop: int = 1) -> None:
        """Put bytes onto the line."""
        for byte in data:
            bits = (0, *(byte >> position & 1 for position in range(8)), stop)
            for bit, equal in groupby(bits):
                self.dut.rx.value = bit
                await Timer(len(list(equal)) * self._period(1), unit="ns")
            self.dut.rx.value = 1

    async def wait(self, bits: float) -> None:
        """Let some bits pass."""
        await Timer(self._period(bits), unit="ns")

    def _period(self, bits: float) -> int:
        """Return how long the host takes for some bits, in whole ns."""
        return round(bits * self._bit_ns / self.rate)

    async def take(self, size: int) -> bytes:
        """Take bytes that came, or that come in time."""
        timeout = self.timeout or 0.0
        while len(self._came) < size:
            self._news.clear()
            try:
                await with_timeout(self._news.wait(), timeout * self._bit_ns, "ns")
            except SimTimeoutError:
                break
        return bytes(self._came.popleft() for _ in range(min(size, len(self._came))))

    async def _receive(self) -> None:
        while True:
            await FallingEdge(self.dut.tx)
            byte = 0
            await Timer(round(1.5 * self._bit_ns), unit="ns")
            for position in range(8):
                byte |= int(self.dut.tx.value) << position
                await Timer(self._bit_ns, unit="ns")
            assert int(self.dut.tx.value) == 1, "no stop bit"
            self._came.append(byte)
            self._news.set()
