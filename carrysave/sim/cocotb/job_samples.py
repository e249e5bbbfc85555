"""Waits for a simulated co-processor's interrupt, and reads its counters as jobs end."""

from typing import Any

import numpy as np
from cocotb.task import resume
from cocotb.triggers import ClockCycles
from cocotb.types import Logic

from carrysave.driver import Coprocessor
from carrysave.driver.registers import FIELDS
from carrysave.driver.system import COUNTERS
from carrysave.sim.cocotb.host import Host
from carrysave.sim.cocotb.streams import PERIOD_NS

__all__ = ["JobSamples", "WatchedCoprocessor"]

_EVERY = 8
"""Cycles from one look at the count of jobs to the next."""
_DONE = FIELDS["ring_done"][0]
_LOW = [FIELDS[f"counters_{name}_lo"][0] for name in COUNTERS]


class JobSamples:
    """The interrupt of a driver, in a thread of ``cocotb.task.bridge``.

    Members
    -------
    samples : of the last start of a ring, each time that more jobs were done: how many, and the
        lower 32 bits of the counters. Its last jobs may not be among them.
    """

    def __init__(self, dut: Any, host: Host) -> None:
        self._dut, self._host = dut, host
        self.samples: list[tuple[int, np.ndarray]] = []
        self._resumed = resume(self._wait)

    def __call__(self, seconds: float) -> None:
        """Wait until the interrupt is there, or the time is over."""
        self._resumed(seconds)

    async def _wait(self, seconds: float) -> None:
        left = int(seconds * 1e9 / PERIOD_NS)
        self.samples, before = [], 0
        while self._dut.interrupt.value != Logic(1) and left > 0:
            await ClockCycles(self._dut.aclk, _EVERY)
            left -= _EVERY
            done = await self._host.read(_DONE)
            if done != before:
                values = [await self._host.read(address) for address in _LOW]
                self.samples.append((done, np.array(values, np.uint32)))
                before = done


class WatchedCoprocessor(Coprocessor):
    """A driver that waits for the interrupt, and knows when jobs ended.

    Parameters
    ----------
    registers, allocate, watch, options : of :class:`~carrysave.driver.control.Control`; `watch` is
        its interrupt.
    """

    def __init__(self, registers: Any, allocate: Any, watch: JobSamples, **options: Any) -> None:
        super().__init__(registers, allocate, interrupt=watch, **options)
        self.watch = watch
