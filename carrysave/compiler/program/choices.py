"""What each job of a program can be: matrices on chip or not, blocks, maps that are copied first.

Each choice has its bytes on the bus and its cycles, by the cost model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from carrysave.compiler.program.cost import moved_bytes
from carrysave.compiler.program.groups import JobGroup, addresses_of
from carrysave.compiler.program.map_copies import Copies, copies_before
from carrysave.compiler.program.on_chip import ALIGN
from carrysave.compiler.program.pool import Room
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import known_blocks, planned_again
from carrysave.compiler.timing.golden_job import CHIP, golden_job
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.timed_blocks import bounds, with_blocks
from carrysave.driver.job import Job
from golden.soc.blocking import Blocks
from golden.soc.job_check import matrices

__all__ = ["Choice", "choices_of"]

_CLOSE = (1.01, 1.1)
"""Times the least cycles of a product, about: of the blocks within, those of fewest bytes count."""
_TRIED = 400
"""Blocks of a product whose bytes are counted."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a group of jobs can be.

    Members
    -------
    near : rooms on chip, by their number.
    group : the jobs, whose addresses on chip are not yet what they will be.
    copies : of the map that it reads; None: there are none.
    bytes, cycles : of all, by the cost model.
    """

    near: frozenset[int]
    group: JobGroup
    copies: Copies | None = None
    bytes: int
    cycles: int

    @property
    def size(self) -> int:
        """Bytes on chip that copies take during the start."""
        return 0 if self.copies is None else self.copies.size

    def jobs(self, rooms: Mapping[int, tuple[Room, int]], at: int) -> tuple[JobGroup, ...]:
        """Return the jobs at their places.

        Parameters
        ----------
        rooms : those on chip, by number, and where each is.
        at : where copies go.
        """
        group = _with_rooms(self.group, {number: rooms[number] for number in self.near})
        if self.copies is None:
            return (group,)
        return self.copies.jobs(group, at)


def choices_of(
    start: Start,
    group: JobGroup,
    rooms: Mapping[int, Room],
    target: Target,
) -> list[Choice]:
    """Return what a group of jobs can be; none of them is worse than another one with its rooms.

    Parameters
    ----------
    start : that has it.
    rooms : that may be on chip during it, by number.
    """
    here = [number for number, room in rooms.items() if _reads(group, room, target)]
    made: list[Choice] = []
    for count in range(len(here) + 1):
        for near in combinations(here, count):
            places, end = dict[int, tuple[Room, int]](), 0
            for number in near:  # any places do that are not each other's
                places[number] = rooms[number], end
                end += -(-rooms[number].size // ALIGN) * ALIGN
            if end > target.spec.scratch:
                continue
            moved = _with_rooms(group, places)
            some = [
                _choice(frozenset(near), group, job, target)
                for job in _jobs(moved.job, target, planned=bool(near))
            ]
            some += [
                _copied(frozenset(near), group, copies, copies.jobs(moved, end))
                for copies in copies_before(replace(start, groups=(moved,)), target)
                if end + copies.size <= target.spec.scratch
            ]
            made += _best(some)
    return made


def _choice(near: frozenset[int], group: JobGroup, job: Job, target: Target) -> Choice:
    addresses = {name: getattr(group.job, name) for name in addresses_of(group.job)}
    return Choice(
        near=near,
        group=replace(group, job=replace(job, **addresses)),
        bytes=group.count * moved_bytes(job, target),
        cycles=group.count * job_cycles(job, target),
    )


def _copied(
    near: frozenset[int], group: JobGroup, copies: Copies, jobs: Sequence[JobGroup]
) -> Choice:
    """Return a group whose map is copied."""
    return Choice(
        near=near,
        group=group,
        copies=copies,
        bytes=sum(one.count * moved_bytes(one.job, copies.target) for one in jobs),
        cycles=sum(one.count * job_cycles(one.job, copies.target) for one in jobs),
    )


def _jobs(job: Job, target: Target, *, planned: bool) -> Iterator[Job]:
    """Yield a job with its blocks, with those of fewest cycles, and with those of fewest bytes."""
    if job.vector is not None or job.packed or "fixed_blocks" in target.info.features:
        yield job
        return
    first = planned_again(job, target)
    yield first
    if not planned and job != first:
        yield job
    known, c_bits = known_blocks(job, target)
    if not len(known):
        return
    least = bounds(job, known, c_bits, target)
    order = np.argsort(least, kind="stable")[:_TRIED]
    several = [with_blocks(job, Blocks.of(known[row]), target) for row in order]
    counted = np.array([moved_bytes(one, target) for one in several])
    for close in _CLOSE:
        near = least[order] <= close * least[order[0]]
        # Of as few bytes the first one has the fewest cycles.
        best = several[int(np.where(near, counted, np.inf).argmin())]
        if best not in (first, job):
            yield best


def _best(some: Sequence[Choice]) -> list[Choice]:
    """Return those than which none has fewer bytes, cycles and bytes on chip."""

    def figures(one: Choice) -> tuple[int, int, int]:
        return one.bytes, one.cycles, one.size

    best: list[Choice] = []
    for one in sorted(some, key=figures):
        if not any(
            all(a <= b for a, b in zip(figures(other), figures(one), strict=True)) for other in best
        ):
            best.append(one)
    return best


def _reads(group: JobGroup, room: Room, target: Target) -> bool:
    """Return whether jobs read or write a room."""
    here = matrices(target.spec, golden_job(group.job, target.spec))
    return any(
        room.has(getattr(group.job, name))
        for name in set(here).intersection(addresses_of(group.job))
    )


def _with_rooms(group: JobGroup, rooms: Mapping[int, tuple[Room, int]]) -> JobGroup:
    """Return jobs whose matrices in some rooms are on chip."""
    places = {}
    for name in addresses_of(group.job):
        address = getattr(group.job, name)
        for room, at in rooms.values():
            if address is not None and room.has(address):
                places[name] = CHIP + at + address - room.address
    return replace(group, job=replace(group.job, **places))
