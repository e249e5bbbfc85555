"""Jobs that differ in addresses alone, as one with a count: groups of a product."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from carrysave.driver.job import Job

__all__ = ["ADDRESSES", "JobGroup", "addresses_of", "appended"]

ADDRESSES = ("a", "b", "c", "bias", "records")
"""Fields of a job that differ."""


def addresses_of(job: Job) -> tuple[str, ...]:
    """Return the fields of a job that are addresses; of octaves, too, which are in rows of A."""
    octaves = job.vector is None and job.window is None and job.places is None and job.ldsa > 0
    return (*ADDRESSES, "a_scales") if octaves else ADDRESSES


@dataclass(frozen=True, kw_only=True)
class JobGroup:
    """A job, and those that follow it and differ in addresses alone.

    Members
    -------
    job : the first.
    count : of all.
    a, b, c, bias, records : bytes from an address of a job to that of the next.
    """

    job: Job
    count: int = 1
    a: int = 0
    b: int = 0
    c: int = 0
    bias: int = 0
    records: int = 0

    def at(self, number: int) -> Job:
        """Return a job of it."""
        moved: dict[str, Any] = {
            name: getattr(self.job, name) + number * getattr(self, name)
            for name in ADDRESSES
            if getattr(self.job, name) is not None
        }
        if "a_scales" in addresses_of(self.job):
            # They are in the rows of A.
            moved["a_scales"] = self.job.a_scales + number * self.a
        return replace(self.job, **moved)

    @property
    def jobs(self) -> list[Job]:
        """All of them, in order."""
        return [self.job, *map(self.at, range(1, self.count))]


def appended(groups: Sequence[JobGroup], group: JobGroup) -> tuple[JobGroup, ...]:
    """Return groups with one more, or with the last one longer, if that one goes on with it."""
    if not groups:
        return (group,)
    last = groups[-1]
    if (longer := _together(last, group)) is not None:
        return (*groups[:-1], longer)
    return (*groups, group)


def _together(one: JobGroup, other: JobGroup) -> JobGroup | None:
    """Return two groups as one; None: addresses do not go on alike, or more is different."""
    end = one.at(one.count - 1)
    if not _alike(end, other.job):
        return None
    steps = {
        name: getattr(other.job, name) - getattr(end, name)
        for name in ADDRESSES
        if getattr(end, name) is not None
    }
    for each in (one, other):
        if each.count > 1 and any(getattr(each, name) != step for name, step in steps.items()):
            return None
    return replace(one, count=one.count + other.count, **steps)


def _alike(one: Job, other: Job) -> bool:
    """Return whether two jobs differ in addresses alone: scales of columns are in memory."""
    for member in fields(Job):
        ours, theirs = getattr(one, member.name), getattr(other, member.name)
        if member.name in ADDRESSES:
            same = (ours is None) == (theirs is None)
        elif member.name in addresses_of(one):
            same = ours - one.a == theirs - other.a
        elif member.name == "requantisation":
            same = _scale(one) == _scale(other)
        else:
            same = ours == theirs
        if not same:
            return False
    return True


def _scale(job: Job) -> tuple[Any, ...] | None:
    """Return what a job itself says of how its sums are requantised."""
    how = job.requantisation
    if how is None:
        return None
    scale = () if job.records is not None else (how.multiplier, how.shift, how.zero_point)
    return (*scale, how.low, how.high, how.relu)
