"""Runs a program on a co-processor behind its driver: jobs there, moves by this processor."""

import numpy as np

from carrysave.compiler.program.golden_job import moved
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.words import CHIP
from carrysave.compiler.run.interpret import interpret
from carrysave.compiler.run.network import Runner
from carrysave.compiler.target.facts import differences, facts_of
from carrysave.driver import Coprocessor, Matrix
from carrysave.driver.descriptor import written
from carrysave.driver.job import Job
from carrysave.driver.number import BYTE
from carrysave.driver.system import COUNTERS

__all__ = ["by_device", "place"]


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


def by_device(device: Coprocessor, placed: Matrix) -> tuple[np.ndarray, Runner]:
    """Return the memory of a program on a device, and what runs sections there.

    Parameters
    ----------
    device : an opened driver.
    placed : of :func:`place`.
    """
    memory = placed.read_bytes()[0]

    def flush() -> None:
        placed.write_bytes(memory[None])

    if device.info.scratch:
        device.empty((1, device.info.scratch), BYTE, on_chip=True)  # nobody else's

    def run_jobs(jobs: list[Job]) -> np.ndarray:
        flush()
        base, chip = placed.address, device.info.memory_end
        counters = device.run_jobs([moved(job, base, chip) for job in jobs])
        for first, end in (written(job) for job in jobs if job.c < CHIP):
            placed.fetch(first, min(end, len(memory)) - first)
        return np.array([getattr(counters, name) for name in COUNTERS], "<u8")

    return memory, lambda section: interpret(memory, section.start, run_jobs)
