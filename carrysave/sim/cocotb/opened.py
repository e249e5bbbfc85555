"""A simulated co-processor, behind its buses or its serial line, and its driver."""

from collections.abc import Callable
from typing import Any

from carrysave.driver import Coprocessor
from carrysave.driver.uart import UartLink
from carrysave.sim.cocotb.beat_rate import BeatRate
from carrysave.sim.cocotb.device_memory import Pool
from carrysave.sim.cocotb.job_samples import JobSamples, WatchedCoprocessor
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.streams import generator, reset, start_clock
from carrysave.sim.cocotb.system import Registers, seconds, start
from carrysave.sim.parameters import bench_spec
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.memory_timing import MemoryTiming

__all__ = ["opener"]

TIMEOUT = 10.0
"""Of simulated seconds."""


async def opener(dut: Any, bytes_needed: int, memory: MemoryTiming) -> Callable[[], Coprocessor]:
    """Start a co-processor; return what opens its driver, in a thread of ``cocotb.task.bridge``.

    Parameters
    ----------
    bytes_needed : that its memory has at least; behind a serial line it is the design's.
    memory : how long that takes.
    """
    spec = bench_spec()
    if isinstance(spec, CoprocessorUartSpec):
        return await _behind_pins(dut, spec.divisor)
    return await _behind_buses(dut, bytes_needed, memory)


async def _behind_pins(dut: Any, divisor: int) -> Callable[[], Coprocessor]:
    """Start a co-processor behind a serial line; returns what opens its driver."""
    line = SerialLine(dut, divisor)
    await start_clock(dut)
    await reset(dut)

    def opened() -> Coprocessor:
        link = UartLink(line)
        return Coprocessor(link, link, clock=seconds, timeout=TIMEOUT)

    return opened


async def _behind_buses(
    dut: Any, bytes_needed: int, timing: MemoryTiming
) -> Callable[[], Coprocessor]:
    """Start a co-processor, with a memory that has room; returns what opens its driver."""
    beat = timing.beat(bench_spec().bytes)
    rate = BeatRate(beat, shared=timing.sdram is not None)
    host, memory = await start(dut, size=bytes_needed, latency=timing.answer, rate=rate)
    pool = Pool(memory.data, generator(1))
    watch, options = JobSamples(dut, host), {"clock": seconds, "timeout": TIMEOUT}
    return lambda: WatchedCoprocessor(Registers(host), pool, watch, **options)
