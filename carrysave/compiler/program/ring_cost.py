"""What the starts of a ring take: jobs that follow each other, loaded while others run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.rings import fits, is_ready
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.words import JOBS
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.compiler.timing.job_cycles import ends_of, ring_job, with_golden_blocks
from carrysave.driver.job import Job
from golden.soc.blocking import Blocks
from golden.soc.ring_cycles import RingJob

__all__ = ["cycles_of", "in_rings", "start_cycles"]


def in_rings(steps: Sequence[SectionStep], target: Target) -> list[SectionStep]:
    """Return steps of a section; starts that are a ring take what they do in it.

    The cycles of a start are those from the end of the one before to its own, so that all add up to
    those of the ring. A start of more jobs than are ready in memory is rings of a few, one after
    the other. One that varies by a parameter keeps those that it has.
    """
    made: list[SectionStep] = []
    for ring, some in groupby(steps, lambda step: is_ready(step, target)):
        if ring:
            made += _counted([one for one in some if isinstance(one, Start)], target)
        else:
            made += [_by_itself(one, target) for one in some]
    return made


def _by_itself(step: SectionStep, target: Target) -> SectionStep:
    if not isinstance(step, Start) or step.varies:
        return step
    return replace(step, cycles=start_cycles(step, target))


def _counted(starts: list[Start], target: Target) -> Iterator[Start]:
    """Yield the starts of a ring with their cycles."""
    ends = ends_of([one for start in starts for one in _jobs(start.groups, target)], target)
    begin, number = 0, -1
    for start in starts:
        number += sum(group.count for group in start.groups)
        yield replace(start, cycles=ends[number] - begin)
        begin = ends[number]


def cycles_of(jobs: Job | JobGroup, target: Target) -> int:
    """Return the cycles of a job that is started by itself, or of a group of jobs.

    Those of the vector unit are exact, of values that come without stalls, but for a row's scale,
    which depends on its values.
    """
    group = jobs if isinstance(jobs, JobGroup) else JobGroup(job=jobs)
    if fits(group.count, target):
        return ends_of(list(_jobs([group], target)), target)[-1]
    return _in_parts(group, target)


def _in_parts(group: JobGroup, target: Target) -> int:
    """Return the cycles of many jobs: rings of :data:`JOBS`, one after the other."""
    whole, rest = divmod(group.count, JOBS)
    cycles = 0
    for count, times in ((JOBS, whole), (rest, 1)):
        if count and times:
            some = list(_jobs([replace(group, count=count)], target))
            cycles += times * ends_of(some, target)[-1]
    return cycles


def start_cycles(start: Start, target: Target) -> int:
    """Return the cycles of a start by itself, not behind the one before it."""
    if is_ready(start, target):
        return ends_of(list(_jobs(start.groups, target)), target)[-1]
    return sum(_in_parts(group, target) for group in start.groups)


def _jobs(groups: Sequence[JobGroup], target: Target) -> Iterator[RingJob]:
    for group in groups:
        first = ring_job(group.job, target)
        yield first
        for number in range(1, group.count):
            job = golden_job(group.at(number), target.spec)
            one = first.job
            blocks = Blocks(one.block_m, one.block_n, one.block_k, one.by_columns)
            yield first._replace(job=with_golden_blocks(job, blocks), alike=True)
