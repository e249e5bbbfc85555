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
_FIELDS = [one.name for one in fields(Job)]


def golden_job(job: Job, spec: CoprocessorSpec) -> memory_jobs.Job:
    """Return a job of a program whose memory begins at address 0."""
    values: dict[str, Any] = {name: getattr(job, name) for name in _FIELDS}
    values |= _addresses(job, _moving(0, spec.scratch_base))
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
    return replace(job, **_addresses(job, _moving(base, chip)))


def unmoved(job: Job, base: int, chip: int) -> Job:
    """Return a job as a program has it, of one as it is where these begin elsewhere."""

    def at(address: int) -> int:
        return address - chip + CHIP if address >= chip else address - base

    return replace(job, **_addresses(job, at))


def _moving(base: int, chip: int) -> Callable[[int], int]:
    def at(address: int) -> int:
        return address - CHIP + chip if address >= CHIP else address + base

    return at


def _addresses(job: Job, at: Callable[[int], int]) -> dict[str, Any]:
    """Return the addresses of a job elsewhere, by name."""
    names: tuple[str, ...] = ("a", "b", "c", "bias", "row_factors", "records", "places")
    if job.ldsa and job.places is None:  # else these are no addresses
        names = (*names, "a_scales", "b_scales")
    addresses = {name: getattr(job, name) for name in names}
    return {name: at(address) for name, address in addresses.items() if address is not None}
