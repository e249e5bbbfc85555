"""Reasons to refuse a job that can be seen at once."""

from typing import Any

from amaranth import C, Cat, Mux, Value
from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.coprocessor import error_code
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.geometry import job_flags, scales_groups
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
        Cat(~known, *_not_built(spec, mode)).any()
        | (mode.per_column & ~mode.requantise)
        | (mode.accumulate & (mode.requantise | (mode.bias & (not spec.row_factors))))
        | (mode.table & ~mode.per_column)
        | (chosen & (not spec.blocks))
    )
    if spec.sparse:
        unsupported |= mode.packed & ((job.ldb == 0) | (job.ldb >> spec.distance_width != 0))
    long: Value = job.k > limit
    if spec.lists:
        unsupported |= mode.listed & (mode.packed if spec.sparse else 0)
        long |= job_flags(spec, job)["listed"] & (job.k > spec.lists)
    if scales_groups(spec):
        unsupported |= job.ldsb.any() & _no_groups(job)
    if spec.table and spec.sizes:
        unsupported |= mode.table & mode.c_bytes[1]
    if spec.sizes:
        unsupported |= mode.c_bytes.all() | (mode.c_bytes.any() & ~mode.requantise)
    if of_rows is not None:
        here = of_rows.here
        zero, large = Mux(here, of_rows.zero, zero), Mux(here, of_rows.large, large)
        unsupported = Mux(here, of_rows.unsupported, unsupported)
        long = long & ~here | of_rows.deep if spec.top_k else long & ~here
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
        wrong = Cat(step == 0 for step in steps).any()
        if of_rows is not None and spec.depthwise:
            # Of others the check of strides says so.
            near = job.ldsa < words.channels
            wrong |= of_rows.windows & (near | _unlike_pixels(spec, job, words.channels))
        reasons.append((mode.window & wrong, error_code("bad_window")))
    if of_rows is not None:
        reasons.append((of_rows.here & of_rows.long, error_code("long_row")))
    return reasons


def _not_built(spec: CoprocessorSpec, mode: Any) -> list[Value]:
    """Return the fields of MODE that are 0 in all jobs of a build."""
    built = {
        "requantise": spec.requantise,
        "bias": spec.bias,
        "per_column": spec.requantises_columns,
        "accumulate": spec.accumulates,
        "order": spec.blocks,
        "window": spec.windows,
        "vector": spec.vector is not None,
        "table": spec.table,
    }
    missing = {name: mode[name] for name, there in built.items() if not there}
    if spec.row_factors and "bias" in missing:
        # Its address may be that of factors.
        missing["bias"] &= ~mode.accumulate
    return list(missing.values())


def _no_groups(job: Any) -> Value:
    """Return whether blocks are no groups, of 2^i beats; or sums are not all that is made."""
    several = (job.block_k & (job.block_k - 1)).any()
    none = (job.block_m == 0) | (job.block_n == 0) | (job.block_k == 0)
    return several | none | job.mode.requantise | job.mode.accumulate | job.mode.bias


def _unlike_pixels(spec: CoprocessorSpec, job: Any, channels: Value) -> Value:
    """Return whether pixels are not N channels, in whole beats of the unit."""
    assert spec.vector is not None
    lanes = spec.vector.lanes
    whole = (channels + (lanes - 1)) & ~C(lanes - 1, len(channels) + 1)
    return (job.ldsa != whole) | (job.n != channels)
