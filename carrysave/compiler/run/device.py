"""Runs a program on a co-processor behind its driver: jobs there, moves by this processor."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.rings import Ring
from carrysave.compiler.run.interpret import interpret
from carrysave.compiler.run.network import Runner
from carrysave.compiler.target.facts import differences, facts_of
from carrysave.compiler.timing.golden_job import CHIP, moved
from carrysave.driver import Coprocessor, Matrix
from carrysave.driver.descriptor import written
from carrysave.driver.job import Job
from carrysave.driver.number import BYTE
from carrysave.driver.registers import JOB_BYTES
from carrysave.driver.system import COUNTERS

__all__ = ["Samples", "Spans", "by_device", "place", "within"]

Spans = Sequence[tuple[int, int]]
"""First address and bytes of each; in order, and apart."""

Samples = Sequence[tuple[int, np.ndarray]]
"""Of a ring, in order: how many jobs were done, and what counters then had, modulo 2^32."""


def place(device: Coprocessor, program: Program) -> Matrix:
    """Copy a program's memory to the device: one row of bytes.

    Raises
    ------
    ValueError
        The device is not the one that it was compiled for.
    """
    if wrong := differences(facts_of(program.target.info), facts_of(device.info)):
        raise ValueError(f"the program needs a device with {', '.join(wrong)}")
    memory = device.empty((1, len(program.memory)), BYTE)
    with memory.freed_on_error():
        memory.write_bytes(program.memory[None])
    return memory


def by_device(
    device: Coprocessor,
    placed: Matrix,
    samples: Callable[[], Samples] = list,
    wanted: Spans | None = None,
) -> tuple[np.ndarray, Runner]:
    """Return the memory of a program on a device, and what runs sections there.

    Parameters
    ----------
    device : an opened driver.
    placed : of :func:`place`.
    samples : returns those of the last ring, from which there are counters of each of its starts.
    wanted : of what jobs write only this is read; None: all.
    """
    memory = placed.read_bytes()[0]

    def flush() -> None:
        placed.write_bytes(memory[None])

    def fetch(written_there: Iterable[tuple[int, int]]) -> None:
        for at, size in written_there:
            for first, more in within(at, size, wanted):
                placed.fetch(first, more)

    if device.info.scratch:
        device.empty((1, device.info.scratch), BYTE, on_chip=True)  # nobody else's

    def run_jobs(jobs: list[Job]) -> np.ndarray:
        flush()
        base, chip = placed.address, device.info.memory_end
        counters = device.run_jobs([moved(job, base, chip) for job in jobs])
        ends = (written(job) for job in jobs if job.c < CHIP)
        fetch((first, min(end, len(memory)) - first) for first, end in ends)
        return np.array([getattr(counters, name) for name in COUNTERS], "<u8")

    def run_ring(ring: Ring, first: int, count: int) -> np.ndarray:
        ring.move(memory, placed.address, device.info.memory_end)
        flush()
        counters = device.run_ready(placed.address + ring.at + JOB_BYTES * first, count)
        fetch(ring.written)
        whole = np.array([getattr(counters, name) for name in COUNTERS], "<u8")
        if (first, count) == (0, ring.count) and (some := samples()):
            for (_, at), values in zip(ring.starts, _by_start(ring, some, whole), strict=True):
                memory[at : at + values.nbytes] = values.view(np.uint8)
        return whole

    def run(section: Section) -> None:
        interpret(memory, section.start, run_jobs, run_ring)

    return memory, run


def within(at: int, size: int, wanted: Spans | None) -> Iterator[tuple[int, int]]:
    """Yield the parts of some bytes that are wanted; None: all are."""
    for first, more in [(at, size)] if wanted is None else wanted:
        begin, end = max(at, first), min(at + size, first + more)
        if begin < end:
            yield begin, end - begin


def _by_start(ring: Ring, samples: Samples, whole: np.ndarray) -> np.ndarray:
    """Return what counters counted from the end of each start to that of the next: uint64."""
    ends = np.cumsum([count for count, _ in ring.starts])
    rows, before = [], np.zeros(len(whole), np.uint64)
    for end in ends[:-1]:
        now = next((values for done, values in samples if done >= end), None)
        if now is None:  # it ended with the ring
            before = whole
        else:  # counters went on, from what they had
            before = before + ((now.astype(np.uint64) - before) & np.uint64(0xFFFFFFFF))
        rows.append(before)
    ended = np.array([*rows, whole], np.uint64)
    return np.diff(ended, axis=0, prepend=np.zeros((1, len(whole)), np.uint64))
