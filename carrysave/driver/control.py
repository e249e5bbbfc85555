"""Starts jobs through registers, waits for their end, and reports the outcome."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from .allocator import Room
from .descriptor import descriptor
from .device_info import Counters, Info
from .device_memory import DeviceMemory
from .errors import CoprocessorError, JobError, JobTimeout
from .job import Job
from .matrix import Allocate, Matrix
from .registers import FIELDS, JOB

__all__ = ["Control", "Registers"]

_COUNTERS = tuple(name[9:-3] for name in FIELDS if name.startswith("counters_") and "_lo" in name)


class Registers(Protocol):
    """Memory-mapped registers, like ``pynq.MMIO``; byte offsets, 32-bit words.

    Those behind a line also have ``failed`` and ``reset``, see :class:`~.uart.UartLink`.
    """

    def read(self, offset: int) -> int:
        """Read a register."""

    def write(self, offset: int, value: int) -> None:
        """Write a register."""


class Control(DeviceMemory):
    """Runs jobs on a co-processor.

    It is reset when it is opened, and after an error, a timeout or an interruption.

    Parameters
    ----------
    registers : of the co-processor.
    allocate : allocates contiguous memory, like ``pynq.allocate``.
    interrupt : waits for the interrupt, up to the seconds given; may return early.
        None: registers are polled.
    timeout : seconds after which a run is aborted.
    poll : polling interval, seconds.
    clock : returns the current time in seconds.

    Members
    -------
    info : the discovery registers.
    lost : it could not be reset, and may still write to memory.

    Raises
    ------
    CoprocessorError
        There is no co-processor of this driver's version.
    """

    def __init__(
        self,
        registers: Registers,
        allocate: Allocate,
        *,
        interrupt: Callable[[float], Any] | None = None,
        timeout: float = 10.0,
        poll: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._registers = registers
        self._allocate = allocate
        self._interrupt = interrupt
        self._timeout = timeout
        self._poll = poll
        self._clock = clock
        self._ring: Matrix | None = None
        self._chip: Room | None = None
        self._held: list[Any] = []
        self.lost = False
        self.open()

    def open(self) -> None:
        """Read the discovery registers, and reset the hardware."""
        self.info = Info.read(self._get)
        self.reset()

    def run_jobs(self, jobs: Sequence[Job], *, timeout: float | None = None) -> Counters:
        """Run jobs in order: on one start, or one by one if the build has no ring.

        Results and errors are the same; counters cover all jobs.

        Raises
        ------
        ValueError
            There is no job.
        JobError
            A job was rejected, or a bus error occurred; the jobs before it are done. Those that
            overlap with it, up to three after it, may have been written in part.
        JobTimeout
            Timeout.
        CoprocessorError
            The co-processor is busy, or cannot be reset any more.
        """
        if not jobs:
            raise ValueError("jobs must be one or more, not none")
        if len(jobs) == 1 or "ring" in self.info.features:
            return self._run_start(jobs, timeout)
        return self._run_each([partial(self._run_start, [job]) for job in jobs], timeout)

    def _run_each(
        self, runs: Sequence[Callable[[float], Counters]], timeout: float | None
    ) -> Counters:
        """Make calls that take one start each; errors and counters are as for a single start."""
        timeout = self._timeout if timeout is None else timeout
        deadline = self._clock() + timeout
        results = []
        for number, run in enumerate(runs):
            try:
                results.append(run(deadline - self._clock()))
            except JobError as error:
                raise error.of_job(number) from error
            except JobTimeout as error:
                raise JobTimeout(number, len(runs), timeout) from error
        return sum(results[1:], results[0])

    def run_ready(self, address: int, count: int, *, timeout: float | None = None) -> Counters:
        """Run jobs whose descriptors are in memory, at an address; the errors of :meth:`run_jobs`.

        Raises
        ------
        ValueError
            There is no job, or the build has no ring.
        """
        if count < 1 or "ring" not in self.info.features:
            raise ValueError(
                f"a ring must be of one job or more, of a build with ring, not {count}"
            )
        return self._run_started(lambda: self._start_ring(address, count), count, timeout)

    def _run_start(self, jobs: Sequence[Job], timeout: float | None) -> Counters:
        """Run jobs on one start."""
        return self._run_started(lambda: self._start(jobs), len(jobs), timeout)

    def _run_started(
        self, start: Callable[[], None], count: int, timeout: float | None
    ) -> Counters:
        if not self._get("ctrl_idle"):
            raise CoprocessorError("the co-processor is busy; reset() drops what it does")
        try:
            start()
            self._wait(self._timeout if timeout is None else timeout, count)
            return self._finish()
        except BaseException as error:
            # Also after Ctrl-C, nothing may keep writing to memory.
            try:
                self.reset()
            except CoprocessorError as lost:
                if isinstance(error, JobError) and error.silent:
                    raise error from lost
                raise
            raise

    def reset(self) -> None:
        """Soft reset: outstanding bursts complete, registers return to their reset values.

        Raises
        ------
        CoprocessorError
            Memory does not respond.
        LinkError
            Nor does the device, behind a line; what is on the line is dropped.
        """
        self.lost = True
        link: Any = self._registers
        if getattr(link, "failed", False):
            link.reset()
        self._put("ctrl_reset", 1)
        deadline = self._clock() + self._timeout
        while self._get("ctrl_reset"):
            if self._clock() > deadline:
                raise CoprocessorError("the co-processor cannot be reset: memory does not answer")
        self.lost = False
        self._held.clear()
        if self._interrupt is not None:
            self._put("ier_done", 1)
            self._put("gier_enable", 1)

    def _start(self, jobs: Sequence[Job]) -> None:
        """Write one job to registers, or several to memory, and start."""
        if len(jobs) == 1:
            words = np.frombuffer(descriptor(jobs[0]), "<u4")
            # The last word is of descriptors only.
            for number, word in enumerate(words[:-1]):
                self._registers.write(JOB + 4 * number, int(word))
            self._put("ring_count", 0)
            self._put("ctrl_start", 1)
        else:
            self._start_ring(self._descriptors(jobs), len(jobs))

    def _start_ring(self, address: int, count: int) -> None:
        """Start jobs whose descriptors are in memory."""
        self._put("ring_lo", address & 0xFFFFFFFF)
        self._put("ring_hi", address >> 32)
        self._put("ring_count", count)
        self._put("ctrl_start", 1)

    def _wait(self, timeout: float, jobs: int) -> None:
        """Wait until a start has ended."""
        deadline = self._clock() + timeout
        while not self._get("ctrl_done"):
            if (left := deadline - self._clock()) <= 0:
                raise JobTimeout(self._get("ring_done"), jobs, timeout)
            if self._interrupt is not None:
                self._interrupt(left)
            elif self._poll:
                time.sleep(min(self._poll, left))
        if self._interrupt is not None:
            address = FIELDS["isr_done"][0]
            self._registers.write(address, self._registers.read(address))

    def _finish(self) -> Counters:
        """Read how a start ended."""
        code = self._get("error_code")
        if code:
            address = self._get("error_address_lo") | self._get("error_address_hi") << 32
            raise JobError(code, self._get("error_response"), address, self._get("error_job"))
        if self._get("error_ignored"):
            raise CoprocessorError("registers were written by something else during the run")
        return self.counters()

    def counters(self) -> Counters:
        """Read the counters of the last start; after a reset, 0."""
        values = {
            name: self._get(f"counters_{name}_lo") | self._get(f"counters_{name}_hi") << 32
            for name in _COUNTERS
        }
        return Counters(**values, peak=self.info.peak)

    def _get(self, name: str) -> int:
        """Read the register of a field, and return the field."""
        address, low, width = FIELDS[name]
        return self._registers.read(address) >> low & (1 << width) - 1

    def _put(self, name: str, value: int) -> None:
        """Write the register of a field, whose other fields become 0."""
        address, low, _ = FIELDS[name]
        self._registers.write(address, value << low)
