"""Runs a program by the golden model: on bytes of memory, from the words that firmware reads."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from carrysave.compiler.program.image import COUNTERS
from carrysave.compiler.program.words import CHIP
from carrysave.compiler.run.interpret import interpret
from carrysave.driver.job import Job
from golden.npe.requantiser import Requantisation
from golden.soc import job as memory_jobs
from golden.soc.coprocessor import coprocessor
from golden.soc.spec import CoprocessorSpec

__all__ = ["execute", "golden_job", "moved"]


def execute(
    spec: CoprocessorSpec, memory: np.ndarray, start: int, chip: np.ndarray | None = None
) -> None:
    """Run the steps at an address.

    Parameters
    ----------
    spec : the co-processor.
    memory : uint8; what steps make is written into it.
    start : where their words are.
    chip : uint8, what is on chip; None: nothing of another section.

    Raises
    ------
    ValueError
        A job that the hardware would refuse, or words of no step.
    """
    scratch = np.zeros(spec.scratch, np.uint8) if chip is None else chip

    def run_jobs(jobs: list[Job]) -> np.ndarray:
        for number, job in enumerate(jobs):
            own = golden_job(moved(job, 0, spec.scratch_base))
            error = coprocessor(spec, memory, own, scratch)
            if error:
                raise ValueError(f"job {number} of a start: the co-processor says {error.name}")
        return np.ones(COUNTERS // 8, "<u8")

    interpret(memory, start, run_jobs)


def moved(job: Job, base: int, chip: int) -> Job:
    """Return a job of a program as it is where memory, and what is on chip, begin elsewhere."""

    def at(address: int) -> int:
        return address - CHIP + chip if address >= CHIP else address + base

    return replace(
        job, a=at(job.a), b=at(job.b), c=at(job.c),
        bias=None if job.bias is None else at(job.bias),
        records=None if job.records is None else at(job.records),
    )  # fmt: skip


def golden_job(job: Job) -> memory_jobs.Job:
    """Return a job of the driver as golden has it."""
    values: dict[str, Any] = {one.name: getattr(job, one.name) for one in fields(job)}
    how = job.requantisation
    if how is not None:
        scale = {
            name: np.atleast_1d(getattr(how, name))
            for name in ("multiplier", "shift", "zero_point")
        }
        values["requantisation"] = Requantisation(
            **scale, low=how.low, high=how.high, relu=how.relu
        )  # fmt: skip
    return memory_jobs.Job(**values)
