"""Maps of windows that are copied on chip before: rows of a kernel read them several times."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.ring_cost import start_cycles
from carrysave.compiler.program.row_jobs import COPY, Axis, box_groups
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.window_parts import part_of
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned_again
from carrysave.compiler.timing.golden_job import CHIP, golden_job
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix

__all__ = ["Copies", "copied_before", "copies_before"]


@dataclass(frozen=True, kw_only=True)
class Copies:
    """A map that is copied on chip before windows read it: as a whole, or in strips.

    Members
    -------
    node, target : of the start.
    strips : lines of windows, in order; None: all, as one.
    size : bytes on chip, of the largest strip.
    """

    node: str
    target: Target
    strips: tuple[range, ...] | None
    size: int

    def jobs(self, group: JobGroup, at: int) -> tuple[JobGroup, ...]:
        """Return the jobs that copy and read, with the map at a byte of what is on chip."""
        start = tuple(_parts((group,), self.strips))
        maps = [_map_of(strip, self.target) for strip in start]
        made = _all_copied(self.node, start, maps, CHIP + at, self.target)
        assert made is not None
        return tuple(made)


def copies_before(start: Start, target: Target) -> Iterator[Copies]:
    """Yield the ways of copying the map of a start of one group on chip first."""
    groups = start.groups
    if not target.spec.taps or start.varies or len(groups) > 1 or _map_of(groups, target) is None:
        return
    for ends in _ends(groups):
        if ends is not None and len(ends) & (len(ends) - 1):
            continue  # powers of two are enough to choose from
        strips = list(_parts(groups, ends))
        maps = [_map_of(strip, target) for strip in strips]
        if not all(map(len, strips)) or _largest(maps) > target.spec.scratch:
            continue
        if _all_copied(start.node, strips, maps, CHIP, target) is None:
            return
        yield Copies(node=start.node, target=target, strips=ends, size=_largest(maps))


def copied_before(start: Start, target: Target, free: Callable[[int], int | None]) -> Start:
    """Return a start that copies its map on chip first, if it takes fewer cycles then.

    A map for which there is no room is copied in strips, each before the windows that read it.

    Parameters
    ----------
    start : of jobs.
    target : the co-processor.
    free : returns where there is room on chip during the start, for so many bytes; None: nowhere.
    """
    if not target.spec.taps or start.varies or _map_of(start.groups, target) is None:
        return start
    for strips in _cuts(start.groups):
        maps = [_map_of(strip, target) for strip in strips]
        at = free(_largest(maps))
        if at is None:
            continue
        groups = _all_copied(start.node, strips, maps, CHIP + at, target)
        if groups is None:
            return start
        changed = replace(start, groups=tuple(groups))
        return min(start, changed, key=lambda one: start_cycles(one, target))
    return start


def _largest(maps: Sequence[Matrix | None]) -> int:
    """Return the bytes on chip that hold any of some maps."""
    return max(0 if one is None else one.rows * one.row_bytes for one in maps)


def _all_copied(
    node: str,
    strips: Sequence[Sequence[JobGroup]],
    maps: Sequence[Matrix | None],
    to: int,
    target: Target,
) -> list[JobGroup] | None:
    """Return jobs that copy each strip of a map on chip, and read it; None: these are many."""
    groups = list[JobGroup]()
    for strip, image in zip(strips, maps, strict=True):
        made = None if image is None else _copied(node, strip, image, to, target)
        if made is None:
            return None
        groups += made
    return groups


def _parts(
    groups: Sequence[JobGroup], strips: Sequence[range] | None
) -> Iterator[Sequence[JobGroup]]:
    """Yield the jobs of each strip; without those that are wholly beyond the map."""
    if strips is None:
        yield groups
        return
    window = groups[0].job.window
    assert window is not None
    for lines in strips:
        jobs = [part_of(group.job, lines, range(window.across)) for group in groups]
        yield [
            replace(group, job=job)
            for group, job in zip(groups, jobs, strict=True)
            if job is not None
        ]


def _cuts(groups: Sequence[JobGroup]) -> Iterator[list[Sequence[JobGroup]]]:
    """Yield jobs as they are, then cut into strips of ever fewer lines of windows."""
    for ends in _ends(groups):
        strips = list(_parts(groups, ends))
        if all(len(strip) == len(groups) for strip in strips):
            yield strips


def _ends(groups: Sequence[JobGroup]) -> Iterator[tuple[range, ...] | None]:
    """Yield None, all lines of windows, then strips of ever fewer of these.

    A strip has as many lines as a kernel at least: half of what it reads is its own.
    """
    yield None
    windows = {group.job.window for group in groups}
    window, count = groups[0].job.window, groups[0].job.m
    if window is None or len(windows) > 1 or any(group.job.m != count for group in groups):
        return
    lines, rest = divmod(count, window.across)
    for number in range(2, lines // window.kernel[0] + 1) if not rest else ():
        ends = [lines * at // number for at in range(number + 1)]
        yield tuple(range(begin, end) for begin, end in pairwise(ends))


def _copied(
    node: str, groups: Sequence[JobGroup], image: Matrix, to: int, target: Target
) -> list[JobGroup] | None:
    """Return jobs that copy a map on chip, and those that read it there; None: these are many."""
    axes = [
        Axis(image.rows, (image.distance, image.distance, image.row_bytes)),
        Axis(image.row_bytes, (1, 1, 1)),
    ]
    copies = box_groups(target, node, COPY, (image.address, image.address, to), axes)
    if copies is None:
        return None
    return [*copies, *(_on_chip(group, to, image.row_bytes, target) for group in groups)]


def _map_of(groups: Sequence[JobGroup], target: Target) -> Matrix | None:
    """Return the map in memory that all jobs of a start read; None: there is no such map."""
    maps = set[Matrix]()
    for group in groups:
        if group.job.window is None or group.a:
            return None
        maps.add(matrices(target.spec, golden_job(group.job, target.spec))["a"])
    if len(maps) != 1:
        return None
    (one,) = maps
    return one if one.address < target.spec.scratch_base else None


def _on_chip(group: JobGroup, address: int, distance: int, target: Target) -> JobGroup:
    """Return jobs that read the map where it has been copied to."""
    job = replace(group.job, a=address, lda=distance)
    return replace(group, job=job if job.vector else planned_again(job, target))
