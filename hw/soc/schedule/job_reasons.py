"""Reasons to refuse a job that can be seen at once."""

from typing import Any

from amaranth import Cat, Mux, Value
from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.coprocessor import error_code
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.vector_check import VectorCheck

__all__ = ["job_reasons"]


def job_reasons(
    spec: CoprocessorSpec, job: Any, formats: tuple[Value, Value], of_rows: VectorCheck | None
) -> list[tuple[Value, int]]:
    """List what is refused at once, in order of precedence, with the error codes.

    Parameters
    ----------
    job : :class:`~hw.soc.registers.coprocessor.JobLayout`.
    formats : whether the pair of formats exists, and its largest K.
    of_rows : what is known of a vector job.
    """
    mode, size = job.mode, spec.dimension_width
    known, limit = formats
    zero = (job.m == 0) | (job.n == 0) | (job.k == 0)
    large = (job.m >> size != 0) | (job.n >> size != 0) | (job.k >> size != 0)
    chosen = Cat(job.block_m, job.block_n, job.block_k).any()
    unsupported = (
        ~known
        | (mode.per_column & ~(mode.requantise & spec.requantises_columns))
        | (mode.accumulate & (mode.requantise | mode.bias | (not spec.accumulates)))
        | (mode.bias & (not spec.bias))
        | (mode.requantise & (not spec.requantise))
        | ((mode.order | chosen) & (not spec.blocks))
    )
    if spec.sizes:
        unsupported |= mode.c_bytes.all() | (mode.c_bytes.any() & ~mode.requantise)
    long = job.k > limit
    if of_rows is not None:
        here = of_rows.here
        zero, large = Mux(here, of_rows.zero, zero), Mux(here, of_rows.large, large)
        unsupported = Mux(here, of_rows.unsupported, unsupported)
        long &= ~here
    if spec.windows:
        words: Any = data.View(WindowLayout(), Cat(job.a_scales, job.b_scales))
        zero |= mode.window & (words.channels == 0)
        unsupported |= mode.window & words.none.any()
    reasons = [
        (zero | large, error_code("zero_dimension")),
        (unsupported, error_code("unsupported")),
        (long, error_code("long_k")),
    ]
    if spec.windows:
        steps = (words.sy, words.sx, words.dy, words.dx)
        wrong = Cat(step == 0 for step in steps).any() | (job.ldsa < words.channels)
        reasons.append((mode.window & wrong, error_code("bad_window")))
    if of_rows is not None:
        reasons.append((of_rows.here & of_rows.long, error_code("long_row")))
    return reasons
