"""Jobs of a program as the golden model has them."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from carrysave.driver.job import Job, Requantisation
from golden.npe import requantiser as unit
from golden.soc import job as memory_jobs
from golden.soc.spec import CoprocessorSpec

__all__ = ["CHIP", "golden_job", "moved", "scales_of", "unmoved"]

CHIP = 1 << 31
"""First address on chip."""


def golden_job(job: Job, spec: CoprocessorSpec) -> memory_jobs.Job:
    """Return a job of a program whose memory begins at address 0."""
    job = moved(job, 0, spec.scratch_base)
    values: dict[str, Any] = {one.name: getattr(job, one.name) for one in fields(job)}
    if job.requantisation is not None:
        values["requantisation"] = scales_of(job.requantisation)
    return memory_jobs.Job(**values)


def scales_of(how: Requantisation) -> unit.Requantisation:
    """Return the driver's requantisation as golden has it."""
    multiplier, shift, zero_point = map(np.atleast_1d, (how.multiplier, how.shift, how.zero_point))
    return unit.Requantisation(
        multiplier=multiplier, shift=shift, zero_point=zero_point, low=how.low, high=how.high,
        relu=how.relu,
    )  # fmt: skip


def moved(job: Job, base: int, chip: int) -> Job:
    """Return a job of a program as it is where memory, and what is on chip, begin elsewhere."""

    def at(address: int) -> int:
        return address - CHIP + chip if address >= CHIP else address + base

    return _with(job, at)


def unmoved(job: Job, base: int, chip: int) -> Job:
    """Return a job as a program has it, of one as it is where these begin elsewhere."""

    def at(address: int) -> int:
        return address - chip + CHIP if address >= chip else address - base

    return _with(job, at)


def _with(job: Job, at: Callable[[int], int]) -> Job:
    return replace(
        job,
        a=at(job.a),
        b=at(job.b),
        c=at(job.c),
        bias=None if job.bias is None else at(job.bias),
        records=None if job.records is None else at(job.records),
    )
