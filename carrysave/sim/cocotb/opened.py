"""A simulated co-processor, behind its buses or its serial line, and its driver."""

from collections.abc import Callable
from typing import Any

from carrysave.driver import Coprocessor
from carrysave.driver.uart import UartLink
from carrysave.sim.cocotb.device_memory import Pool
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.streams import generator, reset, start_clock
from carrysave.sim.cocotb.system import Registers, seconds, start
from carrysave.sim.parameters import bench_spec
from golden.soc.coprocessor_uart import CoprocessorUartSpec

__all__ = ["opener"]

LATENCY = 50
TIMEOUT = 10.0
"""Of simulated seconds."""


async def opener(dut: Any, bytes_needed: int) -> Callable[[], Coprocessor]:
    """Start a co-processor; return what opens its driver, in a thread of ``cocotb.task.bridge``.

    Parameters
    ----------
    bytes_needed : that its memory has at least; behind a serial line it is the design's.
    """
    spec = bench_spec()
    if isinstance(spec, CoprocessorUartSpec):
        return await _behind_pins(dut, spec.divisor)
    return await _behind_buses(dut, bytes_needed)


async def _behind_pins(dut: Any, divisor: int) -> Callable[[], Coprocessor]:
    """Start a co-processor behind a serial line; returns what opens its driver."""
    line = SerialLine(dut, divisor)
    await start_clock(dut)
    await reset(dut)

    def opened() -> Coprocessor:
        link = UartLink(line)
        return Coprocessor(link, link, clock=seconds, timeout=TIMEOUT)

    return opened


async def _behind_buses(dut: Any, bytes_needed: int) -> Callable[[], Coprocessor]:
    """Start a co-processor, with a memory that has room; returns what opens its driver."""
    host, memory = await start(dut, size=bytes_needed, latency=LATENCY)
    pool = Pool(memory.data, generator(1))
    return lambda: Coprocessor(Registers(host), pool, clock=seconds, timeout=TIMEOUT)
