"""Floating-point addition of two numbers of possibly different precision, rounded once."""

from dataclasses import replace

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import signed
from amaranth.lib import data

from golden.formats.minifloat import MinifloatFormat
from hw.arith.adder import resolve
from hw.arith.shifter import shift_right
from hw.npe.rounding.normalised import Cut, Normal, no_cut, normal
from hw.npe.rounding.round_minifloat import minifloat_reach, round_minifloat
from hw.npe.rounding.rounding import Rounding

__all__ = ["add", "align", "weighted"]


def add(
    m: Module,
    one: data.View,
    term: data.View,
    fmt: MinifloatFormat,
    adder: str = "sklansky",
    cuts: tuple[Cut, Cut] = (no_cut, no_cut),
) -> Value:
    """Add two numbers and round to nearest even, as IEEE 754 does.

    The significand with the larger exponent is left-aligned in a frame three bits longer than
    either significand. The other is shifted right; ones shifted out set the frame's last (sticky)
    bit. That takes a shift of four places or more, after which the leading one of the sum is at
    most one place below the top, or the exponent is the smallest one; so the frame holds all bits
    that rounding needs.

    Parameters
    ----------
    m : where the gates go.
    one : a number of the format, see :func:`hw.npe.floats.term.unpack`.
    term : a number, its exponent by the bias of the format; normalised, unless its exponent is 1
        or less.
    fmt : of the sum.
    adder : see :func:`hw.arith.adder.resolve`.
    cuts : register places before the addition, and before the rounding.

    Returns
    -------
    The code of the sum.
    """
    within, behind = cuts
    large, small, differ, front, exponent = _ordered(m, one, term)
    width = len(large)
    nan = one.nan | term.nan | (one.infinite & term.infinite & differ)
    one_infinite, one_sign = one.infinite, one.sign
    term_infinite, term_sign = term.infinite, term.sign
    large, small, differ, front, nan = within(large, small, differ, front, nan)
    one_infinite, one_sign, term_infinite, term_sign = within(
        one_infinite, one_sign, term_infinite, term_sign
    )
    (exponent,) = within(exponent)

    # Two's complement, relative to the sign of the larger one, extended by a carry and a sign bit.
    flipped = Cat(small ^ differ.replicate(width), differ.replicate(2))
    columns = [[C(1, 1), differ]]
    columns += [[a, b] for a, b in zip(Cat(large, C(0, 2)), flipped, strict=True)]
    total = resolve(m, columns, adder)[1:]

    bounds = 1, max(one.shape().high, term.shape().high)
    number = normal(m, total, exponent, minifloat_reach(fmt), bounds).cut(behind)
    sign = _sign(m, total, front, (one_infinite, one_sign), (term_infinite, term_sign))
    sum_sign, infinite, nan = behind(sign, one_infinite | term_infinite, nan)
    return round_minifloat(
        m,
        fmt,
        replace(weighted(number, -fmt.bias - (width - 1)), sign=sum_sign),
        how=Rounding(saturate=False, adder=adder),
        infinite=infinite,
        nan=nan,
    )


def _sign(
    m: Module, total: Value, front: Value, one: tuple[Value, Value], term: tuple[Value, Value]
) -> Value:
    """Return the sign of a sum, of numbers by whether they are infinite, and their signs."""
    sign = Signal(name="sum_sign")
    m.d.comb += sign.eq(front ^ total[-1])
    with m.If(one[0]):
        m.d.comb += sign.eq(one[1])
    with m.Elif(term[0]):
        m.d.comb += sign.eq(term[1])
    with m.Elif(~total.any()):
        # Zero is +0, except for the sum of two negative zeros.
        m.d.comb += sign.eq(one[1] & term[1])
    return sign


def _ordered(
    m: Module, one: data.View, term: data.View
) -> tuple[Value, Value, Value, Value, Value]:
    """Put the number with the larger exponent first.

    Returns
    -------
    The frames of the larger and of the smaller one, whether their signs differ, the larger one's
    sign, and its exponent.
    """
    width = 3 + max(one.shape().significand_width, term.shape().significand_width)
    x, y = (
        Cat(C(0, width - part.shape().significand_width), part.significand) for part in (one, term)
    )
    ahead = Signal(signed(len(one.exponent - term.exponent)), name="ahead")
    swap = Signal(name="swap")
    differ = Signal(name="differ")
    large = Signal(width, name="large")
    distance = Signal(len(ahead) - 1, name="distance")
    width_of_exponent = max(len(one.exponent), len(term.exponent))
    exponent = Signal(signed(width_of_exponent), name="exponent")
    m.d.comb += [
        ahead.eq(one.exponent - term.exponent),
        swap.eq(ahead[-1]),
        differ.eq(one.sign ^ term.sign),
        large.eq(Mux(swap, y, x)),
        distance.eq(Mux(swap, -ahead, ahead)),
        exponent.eq(Mux(swap, term.exponent, one.exponent)),
    ]
    small = align(m, Mux(swap, x, y), distance)
    front: Value = Mux(swap, term.sign, one.sign)
    return large, small, differ, front, exponent


def weighted(number: Normal, exponent: int) -> Normal:
    """Multiply by 2^exponent."""
    return replace(
        number,
        offset=number.offset + exponent,
        low=number.low + exponent,
        high=number.high + exponent,
    )


def align(m: Module, bits: Value, distance: Value) -> Value:
    """Shift right; the last bit is sticky."""
    levels = len(bits).bit_length()
    shifted, lost = shift_right(m, bits, distance[:levels], "align")
    aligned = Signal(len(bits), name="aligned")
    m.d.comb += aligned.eq(shifted | lost)
    if levels < len(distance):
        with m.If(distance[levels:].any()):
            m.d.comb += aligned.eq(bits.any())
    return aligned
