"""Normalised numbers, the input of every rounding to a number format."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from amaranth import C, Cat, Module, Value

from hw.arith.shifter import normalise_part

__all__ = ["Cut", "Normal", "Reach", "no_cut", "normal"]

Cut = Callable[..., tuple[Value, ...]]
"""Passes values from one step to the next: directly, or through registers."""


def no_cut(*values: Value) -> tuple[Value, ...]:
    """Return values unchanged."""
    return values


@dataclass(frozen=True, kw_only=True, eq=False)
class Normal:
    """A normalised number: (-1)^sign * 1.xxx * 2^(scale + offset).

    With `complement`, a negative number is in two's complement, so that no carry need propagate
    before the rounding. `significand` is then complemented, `sticky` belongs to the two's
    complement, and the magnitude, the complement plus one in the last place, may be the next power
    of two above `scale`.

    Members
    -------
    sign : of the value.
    significand : leading one first (zero first if `complement`), any number of bits. The leading
        one may be missing in a zero, and if `scale` + `offset` is `low`: then the value is smaller.
    sticky : whether a one is below the significand.
    scale, offset : exponent of the leading one, their sum; a signed or unsigned value, and an int.
    low, high : smallest and largest `scale` + `offset`.
    complement : 0, or `sign`.
    """

    sign: Value
    significand: Value
    sticky: Value
    scale: Value
    low: int
    high: int
    offset: int = 0
    complement: Value = field(default_factory=lambda: C(0, 1))

    def cut(self, cut: Cut) -> "Normal":
        """Pass the values from one step to the next."""
        sign, significand, sticky, scale = cut(self.sign, self.significand, self.sticky, self.scale)
        negated = sign if self.complement is self.sign else cut(self.complement)[0]
        return replace(
            self,
            sign=sign,
            significand=significand,
            sticky=sticky,
            scale=scale.as_signed() if self.scale.shape().signed else scale,
            complement=negated,
        )


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The precision and range that a rounding needs.

    Members
    -------
    keep : bits of significand; those below only feed the sticky bit.
    low : smallest leading exponent that is distinguished.
    high : largest one.
    """

    keep: int
    low: int
    high: int

    def __or__(self, other: "Reach") -> "Reach":
        """Combine two needs."""
        return Reach(
            keep=max(self.keep, other.keep),
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )


def normal(
    m: Module,
    number: Value,
    exponent: int | Value,
    reach: Reach,
    bounds: tuple[int, int] | None = None,
    cut: Cut = no_cut,
) -> Normal:
    """Normalise a two's complement integer.

    Parameters
    ----------
    m : where the gates go.
    number : two's complement, 2 bits or more.
    exponent : bit 0 weighs 2^exponent; an integer, or a signed value.
    reach : precision and range of the result. With a constant exponent nothing else is built:
        numbers below 2^reach.low or above 2^reach.high are only detected.
    bounds : smallest and largest exponent, if it is a value.
    cut : register place between the two halves of the shifter's levels.
    """
    if isinstance(exponent, int):
        lsb, least, most = exponent, 0, 0
    elif bounds is not None:
        lsb, (least, most) = 0, bounds
    else:
        raise ValueError("bounds must be those of the exponent, not None")
    # -1 without its last place has its leading one below bit 0.
    top, low, high = lsb + len(number) - 2, lsb - 1, lsb + len(number) - 2
    if isinstance(exponent, int):
        low = max(low, reach.low)
        high = max(min(high, reach.high), low + 1)
    levels = (high - low).bit_length()
    high = low + (1 << levels) - 1

    sign, bits = number[-1], number[:-1]
    if high > top:
        bits = Cat(bits, sign.replicate(high - top))
    else:
        # Larger numbers get their leading one moved down to the top.
        above = bits[high - lsb :]
        bits = Cat(bits[: high - lsb], (above ^ sign.replicate(len(above))).any() ^ sign)
    half = levels // 2
    keep = reach.keep + (1 << half) - 1
    bits, far, lost_far = normalise_part(m, bits, keep, range(half, levels), sign, "far")
    bits, far, lost_far, sign = cut(bits, far, lost_far, sign)
    bits, near, lost = normalise_part(m, bits, reach.keep, range(half), sign, "near")
    height: Value = ~Cat(near, far)
    if not isinstance(exponent, int):
        (late,) = cut(exponent)
        height = late.as_signed() + height
    return Normal(
        sign=sign,
        significand=bits,
        sticky=lost | lost_far,
        scale=height,
        offset=low,
        low=low + least,
        high=min(high, max(top, low)) + most,
        complement=sign,
    )
