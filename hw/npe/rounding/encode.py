"""Encoding: exact fixed-point numbers to codes of any number format."""

from functools import reduce
from operator import or_

from amaranth import C, Module, Value

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.posit import PositFormat
from hw.npe.rounding.normalised import Cut, Normal, Reach, no_cut, normal
from hw.npe.rounding.round_int import round_int
from hw.npe.rounding.round_minifloat import minifloat_reach, round_minifloat
from hw.npe.rounding.round_posit import posit_reach, round_posit
from hw.npe.rounding.rounding import NEAREST, Rounding

__all__ = ["encode", "encode_each"]


def encode(
    m: Module,
    number: Value,
    exponent: int | Value,
    fmt: ElementFormat,
    *,
    bounds: tuple[int, int] | None = None,
    how: Rounding = NEAREST,
    invalid: Value | None = None,
    cuts: tuple[Cut, Cut] = (no_cut, no_cut),
) -> Value:
    """Encode a number in one format; see :func:`encode_each`."""
    (code,) = encode_each(
        m, number, exponent, [fmt], bounds=bounds, how=how, invalid=invalid, cuts=cuts
    )
    return code


def encode_each(
    m: Module,
    number: Value,
    exponent: int | Value,
    formats: list[ElementFormat],
    *,
    bounds: tuple[int, int] | None = None,
    how: Rounding = NEAREST,
    invalid: Value | None = None,
    cuts: tuple[Cut, Cut] = (no_cut, no_cut),
) -> list[Value]:
    """Encode a number in each of some formats, with one normaliser for all.

    Codes are those of :meth:`golden.formats.element.ElementFormat.encode`; zero is +0.

    Parameters
    ----------
    m : where the gates go.
    number : two's complement, 2 bits or more.
    exponent : bit 0 weighs 2^exponent; an integer, or a signed value. With an integer, only bits
        within the formats' range are normalised.
    formats : what to encode in.
    bounds : smallest and largest exponent, if it is a value.
    how : the roundings.
    invalid : the result is NaN, NaR or, where there is none, 0.
    cuts : register places inside the normaliser, and after it.

    Returns
    -------
    A code for each format, of its width.
    """
    nan = C(0, 1) if invalid is None else invalid
    within, behind = cuts
    reaches = [_reach(fmt, how.guard_bits) for fmt in formats if not isinstance(fmt, IntFormat)]
    normalised: Normal | None = None
    if reaches:
        reach = reduce(or_, reaches)
        normalised = normal(m, number, exponent, reach, bounds, within).cut(behind)
    (late,) = behind(*within(nan))
    codes = []
    for fmt in formats:
        if isinstance(fmt, IntFormat):
            whole, where = number, exponent
            if isinstance(exponent, int):
                (whole,) = behind(*within(whole))
            else:
                whole, late_exponent = behind(*within(whole, exponent))
                where = late_exponent.as_signed()
            codes.append(round_int(m, fmt, whole, where, bounds, how=how, nan=late))
            continue
        assert normalised is not None
        if isinstance(fmt, PositFormat):
            codes.append(round_posit(m, fmt, normalised, how=how, nan=late))
        else:
            assert isinstance(fmt, MinifloatFormat)
            codes.append(round_minifloat(m, fmt, normalised, how=how, nan=late))
    return codes


def _reach(fmt: ElementFormat, guard_bits: int) -> Reach:
    """Return the bits and range that rounding to the format needs."""
    if isinstance(fmt, PositFormat):
        return posit_reach(fmt, guard_bits)
    assert isinstance(fmt, MinifloatFormat)
    return minifloat_reach(fmt, guard_bits)
