"""The host of the co-processor under cocotb: registers over AXI4-Lite, one access at a time."""

from typing import Any

import numpy as np
from cocotb.triggers import RisingEdge

from carrysave import driver
from golden.soc.coprocessor import Job
from verif.streams import cycle

__all__ = ["ARGUMENTS", "Host", "descriptor"]

ARGUMENTS = 0x10


def descriptor(job: Job) -> bytes:
    """Write a job of the golden model as memory has it, and the registers from `ARGUMENTS` on."""
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
    return driver.descriptor(driver.Job(**values))


class Host:
    """Reads and writes registers."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        for name in ("awvalid", "wvalid", "arvalid", "awprot", "arprot"):
            self._port(name).value = 0
        for name in ("bready", "rready"):
            self._port(name).value = 1

    def _port(self, name: str) -> Any:
        return getattr(self.dut, f"s_axi_{name}")

    async def write(self, address: int, value: int, strobe: int = 15) -> int:
        """Write a register; returns the response."""
        edge = RisingEdge(self.dut.aclk)
        self._port("awaddr").value = address
        self._port("wdata").value = value
        self._port("wstrb").value = strobe
        waiting = {"aw", "w"}
        for channel in waiting:
            self._port(f"{channel}valid").value = 1
        while True:
            await edge
            for channel in sorted(waiting):
                if self._port(f"{channel}ready").value == 1:
                    waiting.discard(channel)
                    self._port(f"{channel}valid").value = 0
            if self._port("bvalid").value == 1:
                return int(self._port("bresp").value)

    async def read(self, address: int) -> int:
        """Read a register."""
        edge = RisingEdge(self.dut.aclk)
        self._port("araddr").value = address
        self._port("arvalid").value = 1
        while True:
            await edge
            if self._port("arready").value == 1:
                self._port("arvalid").value = 0
            if self._port("rvalid").value == 1:
                self._port("arvalid").value = 0
                assert self._port("rresp").value == 0
                return int(self._port("rdata").value)

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
        await self.write(0x08, 1)
        await self.write(0x04, 1)
        await self.start(job)
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
