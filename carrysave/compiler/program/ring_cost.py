"""What the starts of a ring take: jobs that follow each other, loaded while others run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.golden_job import golden_job
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.rings import fits, is_ready
from carrysave.compiler.program.rows_cost import blocks_of, rows_cycles
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.words import JOBS
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from golden.soc.blocking import Blocks
from golden.soc.depthwise import DEPTHWISE
from golden.soc.job import Job as GoldenJob
from golden.soc.job_check import matrices
from golden.soc.maps import MAPS
from golden.soc.ring_cycles import RingJob, ring_ends

__all__ = ["cycles_of", "in_rings", "start_cycles"]

_ROWS, _DEPTHWISE, _TABLE = 40, 84, 32
"""Cycles of a vector job beside its rows and two latencies of memory: of one that is none of maps,
of a depthwise one, and more if that has a table; fitted to simulations."""


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
    ends = _ends([one for start in starts for one in _jobs(start.groups, target)], target)
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
        return _ends(list(_jobs([group], target)), target)[-1]
    return _in_parts(group, target)


def _in_parts(group: JobGroup, target: Target) -> int:
    """Return the cycles of many jobs: rings of :data:`JOBS`, one after the other."""
    whole, rest = divmod(group.count, JOBS)
    cycles = 0
    for count, times in ((JOBS, whole), (rest, 1)):
        if count and times:
            some = list(_jobs([replace(group, count=count)], target))
            cycles += times * _ends(some, target)[-1]
    return cycles


def start_cycles(start: Start, target: Target) -> int:
    """Return the cycles of a start by itself, not behind the one before it."""
    if is_ready(start, target):
        return _ends(list(_jobs(start.groups, target)), target)[-1]
    return sum(_in_parts(group, target) for group in start.groups)


def _ends(jobs: Sequence[RingJob], target: Target) -> list[int]:
    """Return when each job of a ring is complete, as counters count: from its first descriptor."""
    ends = ring_ends(target.spec, jobs, target.memory, target.ring_build)
    return [end - target.memory.answer for end in ends]


def _jobs(groups: Sequence[JobGroup], target: Target) -> Iterator[RingJob]:
    for group in groups:
        first = _ring_job(group.job, target)
        yield first
        for number in range(1, group.count):
            job = golden_job(group.at(number), target.spec)
            one = first.job
            blocks = Blocks(one.block_m, one.block_n, one.block_k, one.by_columns)
            yield first._replace(job=_with_blocks(job, blocks), alike=True)


def _ring_job(job: Job, target: Target) -> RingJob:
    """Return a job as rings are timed, with the blocks that the hardware would choose."""
    golden = golden_job(job, target.spec)
    operands = matrices(target.spec, golden)
    if job.vector is None:
        if not (job.block_m and job.block_n and job.block_k):
            golden = _with_blocks(golden, blocks_of(job, operands, target))
        return RingJob(golden)
    if job.vector in MAPS:
        return RingJob(golden)
    begins = _DEPTHWISE + _TABLE * job.table if job.vector == DEPTHWISE else _ROWS
    took = rows_cycles(job, job.vector, operands, target)
    return RingJob(golden, begins + 2 * target.memory.answer + took)


def _with_blocks(job: GoldenJob, blocks: Blocks) -> GoldenJob:
    return replace(
        job, block_m=blocks.m, block_n=blocks.n, block_k=blocks.k, by_columns=blocks.by_columns
    )
