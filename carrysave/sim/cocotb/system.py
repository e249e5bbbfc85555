"""A co-processor with memory behind its buses, and what its driver needs to reach both."""

from collections.abc import Callable
from typing import Any

import numpy as np
from cocotb.simtime import get_sim_time
from cocotb.task import resume
from cocotb.triggers import ClockCycles, RisingEdge

from carrysave.sim.cocotb.axi_memory import Memory
from carrysave.sim.cocotb.clocks import start_clocks
from carrysave.sim.cocotb.host import Host
from carrysave.sim.cocotb.streams import generator
from carrysave.sim.parameters import bench_spec

__all__ = ["Registers", "seconds", "start"]


async def start(dut: Any, *, size: int, **options: Any) -> tuple[Host, Memory]:
    """Reset the co-processor, with `size` random bytes in memory; `options` are the memory's."""
    data = generator(0).integers(0, 256, size, dtype=np.uint8)
    host = Host(dut)
    memory = Memory(dut, data, outstanding=bench_spec().outstanding, **options)
    start_clocks(dut.aclk)
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 2)
    dut.aresetn.value = 1
    memory.start()
    await RisingEdge(dut.aclk)
    return host, memory


class Registers:
    """Registers of the simulated co-processor, for a thread of ``cocotb.task.bridge``."""

    def __init__(self, host: Host) -> None:
        self.read: Callable[[int], int] = resume(host.read)
        self._write = resume(host.write)

    def write(self, offset: int, value: int) -> None:
        """Write a register that is there."""
        assert self._write(offset, value) == 0, f"no register at {offset:#x}"


def seconds() -> float:
    """Return the simulated time in seconds."""
    return get_sim_time("sec")
