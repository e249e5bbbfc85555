"""What jobs take that follow each other, one by one: the model of cycles of a ring."""

from collections.abc import Sequence
from dataclasses import replace

from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.compiler.timing.rows_cost import blocks_of, rows_cycles
from carrysave.driver.job import Job
from golden.soc.blocking import Blocks
from golden.soc.depthwise import DEPTHWISE
from golden.soc.job import Job as GoldenJob
from golden.soc.job_check import matrices
from golden.soc.maps import MAPS
from golden.soc.ring_bus import NEAR
from golden.soc.ring_cycles import RingJob, ring_ends

__all__ = ["ends_of", "job_cycles", "ring_job", "with_golden_blocks"]

_ROWS, _DEPTHWISE, _TABLE = 40, 84, 32
"""Cycles of a vector job beside its rows and a latency of memory: of one that is none of maps,
of a depthwise one, and more if that has a table; fitted to simulations."""


def job_cycles(job: Job, target: Target) -> int:
    """Return the cycles of a job that is started by itself.

    Those of the vector unit are exact, of values that come without stalls, but for a row's scale,
    which depends on its values.
    """
    return ends_of([ring_job(job, target)], target)[-1]


def ends_of(jobs: Sequence[RingJob], target: Target) -> list[int]:
    """Return when each job of a ring is complete, in cycles from the start."""
    return ring_ends(target.spec, jobs, target.memory, target.ring_build)


def ring_job(job: Job, target: Target) -> RingJob:
    """Return a job as rings are timed, with the blocks that the hardware would choose."""
    golden = golden_job(job, target.spec)
    blocks = job.block_m and job.block_n and job.block_k
    if job.vector in MAPS or (job.vector is None and blocks):
        return RingJob(golden)
    operands = matrices(target.spec, golden)
    if job.vector is None:
        return RingJob(with_golden_blocks(golden, blocks_of(job, operands, target)))
    begins = _DEPTHWISE + _TABLE * job.table if job.vector == DEPTHWISE else _ROWS
    took = rows_cycles(job, job.vector, operands, target)
    near = all(operands[name].address >= target.spec.scratch_base for name in "ac")
    return RingJob(golden, begins + (NEAR if near else target.memory.answer) + took)


def with_golden_blocks(job: GoldenJob, blocks: Blocks) -> GoldenJob:
    """Return a job with these blocks."""
    return replace(
        job, block_m=blocks.m, block_n=blocks.n, block_k=blocks.k, by_columns=blocks.by_columns
    )
