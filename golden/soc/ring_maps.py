"""When rows of a job on maps are read, computed and written."""

from collections.abc import Callable

from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.ring_bus import RingBus
from golden.soc.ring_loader import RingLoader
from golden.soc.ring_marks import Mark, mean
from golden.soc.spec import CoprocessorSpec

__all__ = ["map_rows"]

_TO_ROWS, _STORED, _HANDED, _WRITTEN = 5, 3, 5, 22
"""More to the first row; least cycles of a row; from a row's codes to where they are handed over,
and to their last beat on the bus."""
_ALIKE_ROWS, _MEAN_ROWS, _ENDING = 96, 48, 2
"""Rows from which on most are left out; of how many of them the mean is; the last ones that are not
left out."""


def map_rows(
    spec: CoprocessorSpec,
    job: Job,
    begin: int,
    bus: RingBus,
    loader: RingLoader,
    later: Callable[[Mark], None],
) -> tuple[int, int]:
    """Read rows of B and of A, and write those of C.

    Parameters
    ----------
    begin : when the job begins.
    later : has all that is under way so much later.

    Returns
    -------
    When all rows were requested, and were handed over.
    """
    placed, clock = matrices(spec, job), spec.array_clock
    assert spec.vector is not None
    size, c = placed["a"].row_bytes, placed["c"]
    each = -(-size // spec.vector_word_bytes) * (spec.vector_word_bytes // spec.vector.lanes)
    each = max(each, _STORED)
    marks, number, unit = list[Mark](), 0, begin
    loader.row += _TO_ROWS
    while number < job.m:
        for name in "ba" if job.ldb or not number else "a":
            came = loader.read(name, number)
            begins = max(unit, came - size // spec.bytes)
            unit = max(begins + each, came + 2)
        last, address = unit + _WRITTEN, c.address + number * c.distance
        bus.write(last - size // spec.vector.lanes, last, address, c.row_bytes)
        marks.append(Mark(loader.row, clock * unit, bus.written))
        number += 1
        if number == _ALIKE_ROWS and (skipped := job.m - number - _ENDING) > 0:
            later(by := mean(marks, skipped, _MEAN_ROWS)[1])
            number, unit = number + skipped, unit + by.engine // clock
    return loader.row, unit + _HANDED
