"""The checks of a vector job before it begins."""

from typing import Any, NamedTuple

from amaranth import C, Cat, Mux, Value

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.rdl import codes_of

__all__ = ["VectorCheck", "vector_check"]


class VectorCheck(NamedTuple):
    """What is known of a job, and what is wrong with it if it is a vector job.

    Members
    -------
    here : it is a vector job.
    zero, large, unsupported, long : what is wrong, by the names of error codes.
    bytes_a, bytes_b, bytes_c : bytes of a row of each matrix, minus one.
    pair : it has rows of B, too.
    turned : C has a row for each column of A.
    gathers : A is a table of K rows.
    """

    here: Value
    zero: Value
    large: Value
    unsupported: Value
    long: Value
    bytes_a: Value
    bytes_c: Value
    pair: Value
    bytes_b: Value
    turned: Value
    gathers: Value


def vector_check(
    spec: CoprocessorSpec, job: Any, above: Value, above_m: Value
) -> VectorCheck | None:
    """Look at a job; None in a build without a vector unit.

    Parameters
    ----------
    spec : the build.
    job : :class:`~hw.soc.registers.coprocessor.JobLayout`.
    above, above_m : its N and its M less one.
    """
    unit, mode, size = spec.vector, job.mode, spec.dimension_width
    if unit is None:
        return None
    numbers = codes_of("job_mode_vector")
    built = mode.vector.matches(*(numbers[name] for name in spec.vector_jobs))
    turned: Value = mode.vector == numbers["transpose"] if spec.transpose else C(0, 1)
    gathers: Value = mode.vector == numbers["gather"] if spec.gather else C(0, 1)
    scaled, pair, second, exponents = (
        mode.vector.matches(*(numbers[name] for name in unit.built if name in names))
        for names in (unit.SCALED, unit.PAIRS, unit.SECOND, ("scale",))
    )
    maps, requantised = C(0, 1), scaled
    if spec.taps:
        maps = mode.vector.matches(*(numbers[name] for name in spec.MAPS))
        requantised = scaled | maps
    most: Value = Mux(pair, unit.most("add"), unit.length) if unit.scales else C(unit.length)
    softmax = mode.vector == numbers["softmax"]
    # A softmax has one more code, the exponent.
    last_c = above + softmax
    narrowed: Value = C(0, 1)
    if spec.sizes:
        narrowed = mode.c_bytes[0] & (spec.vector_out_bytes > 1)
    bytes_ = narrowed | maps if spec.taps else narrowed
    wrong = _wrong_mode(spec, job, narrowed, scaled, requantised, softmax, turned, gathers)
    if spec.taps:
        wrong |= maps & ((mode.a_format != 0) | (mode.c_bytes[1] if spec.sizes else 0))
    bytes_c = Mux(bytes_, last_c, Cat(C(1, 1), last_c)) if spec.vector_out_bytes > 1 else last_c
    bytes_a = Mux(mode.a_format == 1, Cat(C(1, 1), above), above)
    bytes_b = bytes_a
    if unit.builds(["scale"]):
        bytes_b = Mux(exponents, 0, bytes_b)
    if spec.gather:
        bytes_b = Mux(gathers, 3, bytes_b)
    return VectorCheck(
        here=mode.vector != 0,
        zero=(job.m == 0) | (job.n == 0) | (gathers & (job.k == 0)),
        large=(job.m >> size != 0) | (job.n >> size != 0) | (gathers & (job.k >> size != 0)),
        unsupported=~built
        | (mode.a_format >= spec.vector_in_bytes)
        | wrong
        | Cat(job.block_m, job.block_n, job.block_k).any(),
        long=(job.n > most) & ~turned,
        bytes_a=bytes_a,
        bytes_c=Mux(turned, above_m, bytes_c) if spec.transpose else bytes_c,
        turned=turned,
        pair=second | gathers | maps if spec.taps else second | gathers,
        bytes_b=bytes_b,
        gathers=gathers,
    )


def _wrong_mode(
    spec: CoprocessorSpec,
    job: Any,
    narrowed: Value,
    scaled: Value,
    requantised: Value,
    softmax: Value,
    turned: Value,
    gathers: Value,
) -> Value:
    """Return whether the job has flags, a multiplier or sizes of codes that its operation lacks."""
    unit, mode = spec.vector, job.mode
    assert unit is not None
    others = mode.as_value()[4 : mode.shape()["vector"].offset]
    wrong = others.any()
    if unit.scales or spec.taps:
        requantise = C(1 << mode.shape()["requantise"].offset - 4, len(others))
        wrong = (others != Mux(requantised, requantise, 0)) | (
            scaled & job.multiplier[unit.reciprocal_width :].any()
        )
    if spec.sizes:
        wrong |= mode.c_bytes > spec.vector_out_bytes
        wrong |= narrowed & ~softmax & ~requantised & ~turned & ~gathers
    if spec.transpose:
        wrong |= turned & ((mode.a_format != 0) | (~narrowed if spec.vector_out_bytes > 1 else 0))
    if spec.gather:
        wrong |= gathers & ((mode.a_format != 0) != (~narrowed & (spec.vector_out_bytes > 1)))
    return wrong
