"""Maps of windows that are copied on chip before: rows of a kernel read them several times."""

from collections.abc import Callable
from dataclasses import replace

from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.ring_cost import start_cycles
from carrysave.compiler.program.row_jobs import COPY, Axis, box_groups
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned_again
from carrysave.compiler.timing.golden_job import CHIP, golden_job
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix

__all__ = ["copied_before"]


def copied_before(start: Start, target: Target, free: Callable[[int], int | None]) -> Start:
    """Return a start that copies its map on chip first, if it takes fewer cycles then.

    Parameters
    ----------
    start : of jobs.
    target : the co-processor.
    free : returns where there is room on chip during the start, for so many bytes; None: nowhere.
    """
    if not target.spec.taps or start.varies:
        return start
    image = _map_of(start, target)
    at = None if image is None else free(image.rows * image.row_bytes)
    if image is None or at is None:
        return start
    axes = [
        Axis(image.rows, (image.distance, image.distance, image.row_bytes)),
        Axis(image.row_bytes, (1, 1, 1)),
    ]
    places = image.address, image.address, CHIP + at
    copies = box_groups(target, start.node, COPY, places, axes)
    if copies is None:
        return start
    jobs = [_on_chip(group, CHIP + at, image.row_bytes, target) for group in start.groups]
    changed = replace(start, groups=(*copies, *jobs))
    return min(start, changed, key=lambda one: start_cycles(one, target))


def _map_of(start: Start, target: Target) -> Matrix | None:
    """Return the map in memory that all jobs of a start read; None: there is no such map."""
    maps = set[Matrix]()
    for group in start.groups:
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
