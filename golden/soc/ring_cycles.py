"""Cycles of a ring of jobs, one by one, on a memory of a beat each way per cycle, or on SDRAM.

The planner's :func:`golden.soc.blocking.cost` takes rows in the mean; here each row has its time. A
job is loaded while the one before runs, but for what that one writes; it runs when all before it
are complete. A vector job is loaded when it runs; if it is not on maps, its rows take as many
cycles as it is said to.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from golden.soc.depthwise import DEPTHWISE
from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.memory_timing import MemoryTiming
from golden.soc.ring_build import RingBuild
from golden.soc.ring_loader import ADDRESSES, BEGUN, DESCRIPTOR, Begin
from golden.soc.ring_walk import RingWalk
from golden.soc.spec import CoprocessorSpec

__all__ = ["RingJob", "read_cycles", "ring_cycles", "ring_ends", "start_cycles"]

_PLAIN = RingBuild()
_CHECK = 9
"""From a descriptor's last beat to the copy of its job, beside the check's multiplications."""
_LOADED = 1
"""From a job's copy to its begin, if it is loaded while the one before runs."""
_ALIKE, _FOLLOWS = 22, 2
"""From a descriptor's last beat to the begin of a vector job that is like the one before; to that
from when all of that one's rows are requested, or handed over."""
_ASKS, _ASKED = 5, 2
"""From where a descriptor is here until the next one is requested, of which only addresses are
read; that from the begin of a ring's first job."""
_FREED = 2
"""From the copy of a job's successor to its last beat."""
_HELD, _ENDS = 1, 2
"""From the last answer to a write to the first row of an A that waits for it; to the next job."""
_PAGE = 4096
_FIRST, _LAST = 19, 4
"""From a ring's start to the check of the first job, and from its last answer to the interrupt."""


class RingJob(NamedTuple):
    """A job of a ring.

    Members
    -------
    job : a product, whose blocks are given, or a vector job.
    rows : of a vector job that is not on maps: cycles from its begin to the last answer.
    alike : only its addresses are read: all else is that of the one before.
    """

    job: Job
    rows: int | None = None
    alike: bool = False


def ring_cycles(spec: CoprocessorSpec, jobs: Sequence[Job], memory: MemoryTiming) -> int:
    """Return the cycles of products whose blocks are given, from the start to the interrupt.

    Parameters
    ----------
    spec, jobs, memory : of :func:`ring_ends`.
    """
    return ring_ends(spec, [RingJob(job) for job in jobs], memory)[-1]


@lru_cache(maxsize=64)
def start_cycles(spec: CoprocessorSpec, memory: MemoryTiming, build: RingBuild = _PLAIN) -> int:
    """Return the cycles of the smallest product, which each takes besides its rows.

    Parameters
    ----------
    spec, memory, build : of :func:`ring_ends`.
    """
    job = Job(
        a=0,
        b=_PAGE,
        c=2 * _PAGE,
        m=1,
        n=1,
        k=1,
        lda=_PAGE,
        ldb=_PAGE,
        ldc=_PAGE,
        block_m=1,
        block_n=1,
        block_k=1,
    )
    return ring_ends(spec, [RingJob(job)], memory, build)[-1]


def read_cycles(spec: CoprocessorSpec, memory: MemoryTiming) -> int:
    """Return the cycles in which a ring's first job is read, which one of registers does not take.

    Descriptors have just been written.
    """
    return _FIRST + memory.answer_again + memory.beat(spec.bytes) * (DESCRIPTOR // spec.bytes)


def ring_ends(
    spec: CoprocessorSpec,
    jobs: Sequence[RingJob],
    memory: MemoryTiming,
    build: RingBuild = _PLAIN,
) -> list[int]:
    """Return when each job is complete, in cycles from the start; the last: the interrupt.

    Parameters
    ----------
    spec : the co-processor.
    jobs : of a ring.
    memory, build : of :class:`golden.soc.ring_walk.RingWalk`.
    """
    walk, ends = RingWalk(spec, memory, build), list[int]()
    begins = read_cycles(spec, memory) + _multiplications(spec, jobs[0].job)
    begin, complete = Begin(0, begins, begins, 0, len(jobs) - 1), begins
    if jobs[0].job.vector is None and len(jobs) > 1 and jobs[1].alike:
        begin = begin._replace(alike=ADDRESSES, asks=begins + _ASKED)
    for number, one in enumerate(jobs):
        if one.job.vector is None:
            complete, came = walk.product(one.job, begin)
        else:
            complete, came = walk.rows(one.job, begin, one.rows)
        ends.append(complete)
        if begin.left:
            following = jobs[number + 1]
            if following.alike:
                more = number + 2 < len(jobs) and jobs[number + 2].alike
                begin = _like(spec, walk, following.job, came, begin, more)
                continue
            begin = _next(spec, walk, (one.job, following.job), (came, complete), begin.left - 1)
    ends[-1] += _LAST
    return ends


def _like(
    spec: CoprocessorSpec, walk: RingWalk, job: Job, came: int, before: Begin, more: bool
) -> Begin:
    """Return when a job begins that is as the one before but for its addresses.

    Parameters
    ----------
    job : this one.
    came : when its addresses have come.
    before : of the one before.
    more : the next one is as this one, too.
    """
    size, left = ADDRESSES if more else DESCRIPTOR, before.left - 1
    if job.vector is not None:
        copied = came + _ALIKE
        run = max(walk.ready + _FOLLOWS, copied)
        return Begin(copied, run, run, 0, left, size, copied)
    # They are taken when the one before is checked, whose addresses have been looked at.
    here = max(came, before.copied + ADDRESSES // spec.bytes)
    copied = here + _CHECK + _of_matrices(spec, job)
    run = max(walk.ready + _FOLLOWS, copied)
    return Begin(copied, run, run, 0, left, size, here + _ASKS if more else copied)


def _next(
    spec: CoprocessorSpec,
    walk: RingWalk,
    jobs: tuple[Job, Job],
    times: tuple[int, int],
    left: int,
) -> Begin:
    """Return when a job begins that is read whole.

    Parameters
    ----------
    jobs : the one before, and this one.
    times : when its descriptor has come, and when the one before is complete.
    left : how many are to follow.
    """
    (before, job), (came, complete) = jobs, times
    checked = came + _CHECK + _multiplications(spec, job)
    copied, written = max(checked, walk.freed - _FREED), _written(spec, before, job)
    run = max(complete + _ENDS, copied + BEGUN)
    load = copied + _LOADED
    if before.vector is not None:
        load = max(load, walk.asked)
    ahead = before.vector != DEPTHWISE and job.vector is None
    if not ahead or load > complete or written - {"a", "a_scales"}:
        return Begin(copied, run, run, 0, left)
    return Begin(copied, load, complete + _ENDS, complete + _HELD if written else 0, left)


def _written(spec: CoprocessorSpec, job: Job, following: Job) -> set[str]:
    """Name what a job reads that the one before writes, by the ranges of their addresses."""
    c = matrices(spec, job)["c"]
    read = {name: one for name, one in matrices(spec, following).items() if name != "c"}
    return {name for name, one in read.items() if one.address < c.end and c.address < one.end}


def _multiplications(spec: CoprocessorSpec, job: Job) -> int:
    """Return the cycles of those of a job's check: of windows, the ends of matrices, blocks."""
    blocks = [job.block_m, job.block_k, job.block_m] if spec.blocks else []
    return _of_matrices(spec, job) + _multiplied([*_of_windows(spec, job), *blocks])


def _of_windows(spec: CoprocessorSpec, job: Job) -> list[int]:
    """Return the factors of a row of the map, and of the codes of a block, and of a window."""
    window = job.window
    if window is None:
        return []
    down, across = window.kernel
    factors = [window.width - 1, job.block_k, across, down - 1]
    if job.vector == DEPTHWISE:
        factors += [window.across, (across - 1) // spec.taps + 1, down - 1]
    return factors


def _of_matrices(spec: CoprocessorSpec, job: Job) -> int:
    """Return the cycles of those of the ends of matrices."""
    placed = matrices(spec, job)
    factors = [placed[name].rows - 1 for name in ("a", "b", "c") if name in placed] + [0, 0]
    if spec.inside.expander.table_bytes:
        factors += [0, 0]
    if spec.shares:
        factors += [placed["a_scales"].rows - 1 if "a_scales" in placed else 0]
    if spec.inside.block or spec.group_scales != "none":
        factors += [placed[s].rows - 1 if s in placed else 0 for s in ("a_scales", "b_scales")]
    return _multiplied(factors)


def _multiplied(factors: Sequence[int]) -> int:
    return sum(2 + max(1, factor.bit_length()) for factor in factors)
