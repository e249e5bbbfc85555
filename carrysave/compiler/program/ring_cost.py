"""What the starts of a ring take: jobs that follow each other, loaded while others run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from carrysave.compiler.program.cost import blocks_of, rows_cycles
from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.golden_job import golden_job
from carrysave.compiler.program.rings import is_ready
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

__all__ = ["in_rings", "job_cycles"]

_ROWS, _DEPTHWISE, _TABLE = 40, 84, 32
"""Cycles of a vector job beside its rows and two latencies of memory: of one that is none of maps,
of a depthwise one, and more if that has a table; fitted to simulations."""


def in_rings(steps: Sequence[SectionStep], target: Target) -> list[SectionStep]:
    """Return steps of a section; starts that are a ring take what they do in it.

    The cycles of a start are those from the end of the one before to its own, so that all add up to
    those of the ring. A start of more jobs than are ready in memory is rings of a few, one after
    the other. Memory that is SDRAM is not one that rings are timed on.
    """
    timed = target.memory.sdram is None
    made: list[SectionStep] = []
    for ring, some in groupby(steps, lambda step: timed and is_ready(step, target)):
        group = list(some)
        starts = [one for one in group if isinstance(one, Start)]
        if ring:
            made += _counted(starts, target)
        else:
            made += [_in_parts(one, target) if timed else one for one in group]
    return made


def _in_parts(step: SectionStep, target: Target) -> SectionStep:
    """Return a start of many jobs with what its rings take, of :data:`JOBS` jobs each."""
    if not isinstance(step, Start) or step.varies or "ring" not in target.info.features:
        return step
    cycles = 0
    for group in step.groups:
        whole, rest = divmod(group.count, JOBS)
        for count, times in ((JOBS, whole), (rest, 1)):
            if count and times:
                part = _counted([replace(step, groups=(replace(group, count=count),))], target)
                cycles += times * sum(one.cycles for one in part)
    return replace(step, cycles=cycles)


def _counted(starts: list[Start], target: Target) -> Iterator[Start]:
    """Yield the starts of a ring with their cycles."""
    jobs = [one for start in starts for one in _jobs(start, target)]
    memory, begin, number = target.memory, 0, -1
    ends = ring_ends(target.spec, jobs, memory.answer, memory.beat(target.spec.bytes))
    for start in starts:
        number += sum(group.count for group in start.groups)
        yield replace(start, cycles=ends[number] - begin)
        begin = ends[number]


def job_cycles(job: Job, target: Target) -> int:
    """Return the cycles of a job that is started by itself."""
    memory = target.memory
    beat = memory.beat(target.spec.bytes)
    return ring_ends(target.spec, [_ring_job(job, target)], memory.answer, beat)[-1]


def _jobs(start: Start, target: Target) -> Iterator[RingJob]:
    for group in start.groups:
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
