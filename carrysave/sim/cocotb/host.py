"""The host of the co-processor under cocotb: registers over AXI4-Lite, one access at a time."""

from collections.abc import Coroutine, Sequence
from typing import Any

import numpy as np
from cocotb.triggers import RisingEdge
from cocotb.types import Logic

from carrysave import driver
from carrysave.sim.cocotb.streams import cycle
from golden.soc.coprocessor import Job

__all__ = ["ARGUMENTS", "Host", "descriptor", "descriptors"]

ARGUMENTS = 0x10
_ONE = Logic(1)


def descriptor(job: Job) -> bytes:
    """Write a job of the golden model as memory has it, and the registers from `ARGUMENTS` on."""
    return driver.descriptor(_as_driven(job))


def descriptors(jobs: Sequence[Job], sum_bytes: int) -> bytes:
    """Write jobs as the driver does, those that may overlap marked."""
    return driver.descriptors([_as_driven(job) for job in jobs], sum_bytes)


def _as_driven(job: Job) -> driver.Job:
    values = dict(vars(job))
    how = job.requantisation
    if how is not None:
        values["requantisation"] = driver.Requantisation(
            multiplier=int(how.multiplier[0]),
            shift=int(how.shift[0]),
            zero_point=int(how.zero_point[0]),
            low=-128 if how.low is None else how.low,
            high=127 if how.high is None else how.high,
            relu=how.relu,
        )
    return driver.Job(**values)


class Host:
    """Reads and writes registers."""

    DEADLINE = 1000
    """Cycles within which an access ends."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        for name in ("awvalid", "wvalid", "arvalid", "awprot", "arprot"):
            self._port(name).value = 0
        for name in ("bready", "rready"):
            self._port(name).value = 1

    def _port(self, name: str) -> Any:
        return getattr(self.dut, f"s_axi_{name}")

    async def write(
        self, address: int, value: int, strobe: int = 15, *, aw: int = 0, w: int = 0, b: int = 0
    ) -> int:
        """Write a register, with so many cycles before each channel; returns the response."""
        edge = RisingEdge(self.dut.aclk)
        self._port("awaddr").value = address
        self._port("wdata").value = value
        self._port("wstrb").value = strobe
        self._port("bready").value = int(b == 0)
        waiting = {"aw": aw, "w": w}
        for now in range(self.DEADLINE):
            for channel, wait in waiting.items():
                if now == wait:
                    self._port(f"{channel}valid").value = 1
            if now == b > 0:
                self._port("bready").value = 1
            await edge
            for channel in [name for name, wait in waiting.items() if now >= wait]:
                if self._port(f"{channel}ready").value == _ONE:
                    del waiting[channel]
                    self._port(f"{channel}valid").value = 0
            if now >= b and self._port("bvalid").value == _ONE:
                return int(self._port("bresp").value)
        raise AssertionError(f"no response to a write of {address:#x}")

    async def access(self, address: int, *, ar: int = 0, r: int = 0) -> tuple[int, int]:
        """Read, with so many cycles before each channel; returns the response and the data."""
        edge = RisingEdge(self.dut.aclk)
        self._port("araddr").value = address
        self._port("rready").value = int(r == 0)
        asked = False
        for now in range(self.DEADLINE):
            if now == ar:
                self._port("arvalid").value = 1
            if now == r > 0:
                self._port("rready").value = 1
            await edge
            if not asked and now >= ar and self._port("arready").value == _ONE:
                self._port("arvalid").value = 0
                asked = True
            if now >= r and self._port("rvalid").value == _ONE:
                return int(self._port("rresp").value), int(self._port("rdata").value)
        raise AssertionError(f"no response to a read of {address:#x}")

    async def read(self, address: int) -> int:
        """Read a register that is there."""
        response, value = await self.access(address)
        assert response == 0, f"response {response} to a read of {address:#x}"
        return value

    async def start(self, job: Job) -> None:
        """Write a job's registers, and start it."""
        words = np.frombuffer(descriptor(job), "<u4")
        for number, word in enumerate(words[:-1]):
            await self.write(ARGUMENTS + 4 * number, int(word))
        await self.write(0, 1)

    async def start_ring(self, address: int, count: int) -> None:
        """Start the jobs whose descriptors are in memory; of none, that in the registers."""
        for number, word in enumerate((address & 0xFFFFFFFF, address >> 32, count)):
            await self.write(0x90 + 4 * number, word)
        await self.write(0, 1)

    async def time(self, job: Job) -> int:
        """Run a job, and count the cycles from the start until the interrupt is there."""
        return await self._timed(self.start(job))

    async def time_ring(self, address: int, count: int) -> int:
        """Run jobs whose descriptors are in memory, and count their cycles."""
        return await self._timed(self.start_ring(address, count))

    async def _timed(self, start: Coroutine[Any, Any, None]) -> int:
        await self.write(0x08, 1)
        await self.write(0x04, 1)
        await start
        began = cycle()
        await RisingEdge(self.dut.interrupt)
        cycles = cycle() - began
        await self.write(0x0C, 1)
        assert not await self.read(0xA0) & 255
        return cycles

    async def wait(self, cycles: int = 3_000_000) -> int:
        """Wait until the job has ended; returns its error code."""
        for _ in range(cycles // 8):
            if await self.read(0) & 2:
                return await self.read(0xA0) & 255
        raise AssertionError(f"the job does not end within {cycles} cycles")
