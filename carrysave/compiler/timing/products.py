"""Products that are nowhere in memory yet: their jobs, and what these take."""

from dataclasses import replace
from functools import lru_cache

from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import least, planned
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.compiler.timing.job_cycles import ends_of, ring_job
from carrysave.driver import Mode, Requantisation
from carrysave.driver.job import Job

__all__ = ["job_of_shape", "least_cycles", "product_cycles"]

_TIMED = 4
"""Products on a start that are timed."""


@lru_cache(maxsize=4096)
def product_cycles(
    target: Target,
    shape: tuple[int, int, int],
    *,
    scales: int,
    bias: bool = False,
    count: int = 1,
    alike: bool = True,
) -> int:
    """Return the cycles of products of codes, one or more on a start.

    Parameters
    ----------
    target : the co-processor.
    shape : M, K and N.
    scales : by which sums become codes of a byte: one, or more of columns; 0: sums leave.
    bias : each has one.
    count : how many follow each other; behind some all take what the last one of these does.
    alike : they have the same scales, or records.
    """
    job = _of_codes(target, shape, scales, bias)
    # None reads what the one before it writes.
    end = min(CHIP, target.spec.scratch_base)
    first = ring_job(replace(planned(job, target), c=end // 2), target)
    timed = min(count, _TIMED)
    ends = ends_of([first, *[first._replace(alike=alike)] * (timed - 1)], target)
    return ends[-1] + (count - timed) * (ends[-1] - ends[timed - 2])


@lru_cache(maxsize=4096)
def least_cycles(
    target: Target, shape: tuple[int, int, int], *, scales: int, bias: bool = False
) -> int:
    """Return the cycles of a product of codes at least, about, whose blocks are the best.

    Parameters
    ----------
    target, shape, scales, bias : see :func:`product_cycles`.
    """
    return least(_of_codes(target, shape, scales, bias), target)


def _of_codes(target: Target, shape: tuple[int, int, int], scales: int, bias: bool) -> Job:
    """Return the job of a product of codes; see :func:`product_cycles`."""
    how = Requantisation(multiplier=1, shift=0) if scales else None
    job = job_of_shape(target, shape, requantisation=how, bias=bias)
    return replace(job, records=0) if scales > 1 else job


def job_of_shape(
    target: Target,
    shape: tuple[int, int, int],
    *,
    mode: Mode | None = None,
    requantisation: Requantisation | None = None,
    wide: bool = False,
    bias: bool = False,
) -> Job:
    """Return the job of a product that is nowhere in memory yet.

    Parameters
    ----------
    target : the co-processor.
    shape : M, K and N.
    mode : formats; None: those of codes.
    requantisation, wide : see :class:`carrysave.driver.batch.Work`.
    bias : it has one.
    """
    mode, info, how = mode or target.mode, target.info, requantisation
    number = info.sums
    if how is not None:
        number = info.wide if wide else info.codes
        low, high = how.limits(number)
        how = replace(how, low=low, high=high)
    (m, k, n), beat = shape, info.stores.data_width // 8
    sides = [] if not mode.block or mode.b_sides is None else [(mode.b_sides, n)]
    lda, ldb, ldc, *ldsb = (
        -(-one.row_bytes(columns) // beat) * beat
        for one, columns in ((mode.a, k), (mode.b_stored, n * mode.codes), (number, n), *sides)
    )
    return Job(
        a=0, b=0, c=0, m=m, n=n, k=k, lda=lda, ldb=ldb, ldc=ldc,
        bias=0 if bias else None, requantisation=how,
        records=0 if how is not None and how.per_column else None,
        a_format=mode.a_format, b_format=mode.b_format, c_bytes=2 if wide else 0,
        ldsb=sum(ldsb),
    )  # fmt: skip
