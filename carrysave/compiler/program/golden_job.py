"""Jobs of a program as the golden model has them."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from carrysave.compiler.program.words import CHIP
from carrysave.driver.job import Job
from golden.npe.requantiser import Requantisation
from golden.soc import job as memory_jobs
from golden.soc.spec import CoprocessorSpec

__all__ = ["golden_job", "moved"]


def golden_job(job: Job, spec: CoprocessorSpec) -> memory_jobs.Job:
    """Return a job of a program whose memory begins at address 0."""
    job = moved(job, 0, spec.scratch_base)
    values: dict[str, Any] = {one.name: getattr(job, one.name) for one in fields(job)}
    requantisation = job.requantisation
    if requantisation is not None:
        scale = {
            name: np.atleast_1d(getattr(requantisation, name))
            for name in ("multiplier", "shift", "zero_point")
        }
        values["requantisation"] = Requantisation(
            **scale, low=requantisation.low, high=requantisation.high, relu=requantisation.relu
        )
    return memory_jobs.Job(**values)


def moved(job: Job, base: int, chip: int) -> Job:
    """Return a job of a program as it is where memory, and what is on chip, begin elsewhere."""

    def at(address: int) -> int:
        return address - CHIP + chip if address >= CHIP else address + base

    return replace(
        job,
        a=at(job.a),
        b=at(job.b),
        c=at(job.c),
        bias=None if job.bias is None else at(job.bias),
        records=None if job.records is None else at(job.records),
    )
