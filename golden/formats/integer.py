"""Two's complement and unsigned integers."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from golden.check import Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.element import ElementFormat, check_rounding, floats
from golden.formats.exact import Exact
from golden.formats.random_bits import RandomBits

__all__ = ["IntFormat", "int_format"]


@dataclass(frozen=True, kw_only=True)
class IntFormat(ElementFormat):
    """An integer of `width` bits, two's complement where `signed`, times 2^-fraction_width.

    A code is the integer itself, held in int64; as a bit pattern it is the integer modulo 2^width.
    """

    width: int = parameter(Integer("bits of a code", 8, 1, 63, "bits"))
    signed: bool = parameter(Flag("two's complement", True))
    fraction_width: int = parameter(Integer("bits after the binary point", 0, 0, 63, "bits"))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(IntFormat), vars(self))

    @property
    def low(self) -> int:
        """Least code."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """Greatest code."""
        return (1 << (self.width - 1 if self.signed else self.width)) - 1

    @property
    def name(self) -> str:
        """Short name, such as int8 or uint4; int8f6 with 6 bits after the binary point."""
        point = f"f{self.fraction_width}" if self.fraction_width else ""
        return f"{'int' if self.signed else 'uint'}{self.width}{point}"

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value, in units of 2^lsb."""
        return self.low, self.high

    @property
    def significand_width(self) -> int:
        """Bits of the longest magnitude."""
        return self.width

    @property
    def exponents(self) -> tuple[int, ...]:
        """The one exponent."""
        return (-self.fraction_width,)

    def encode(
        self,
        values: np.ndarray | Exact,
        *,
        rounding: str = "rne",
        saturate: bool = True,
        random: RandomBits | None = None,
    ) -> np.ndarray:
        """Round values to codes, once.

        Parameters
        ----------
        values : floats of any precision up to double, or exact values.
        rounding : "rne", "rtz" or "stochastic".
        saturate : clamp to the range; else wrap modulo 2^width, as an accumulator of that width
            does.
        random : for stochastic rounding alone: bits for each value, NaNs and zeros among them.

        Returns
        -------
        int64 codes, same shape. NaN becomes 0, an infinity the smallest or largest code.
        """
        check_rounding(rounding, saturate, random)
        if saturate and self.width <= 53 and not isinstance(values, Exact) and random is None:
            return super().encode(values, rounding=rounding)
        if not isinstance(values, Exact):
            values = Exact.from_float(floats("values", values))
        integers = _round(values, self.fraction_width, rounding == "rne", random)
        if saturate:
            codes = np.minimum(np.maximum(integers, self.low), self.high).astype(np.int64)
        else:
            codes = self.wrap((integers & ((1 << self.width) - 1)).astype(np.int64))
        ends = np.where(values.infinity > 0, self.high, self.low)
        return np.where(values.nan, 0, np.where(values.infinity != 0, ends, codes))

    def _decode(self, codes: np.ndarray) -> Exact:
        """Take the integers as significands."""
        return Exact.finite(codes, -self.fraction_width)

    def _encode(
        self, values: np.ndarray, nearest: bool, saturate: bool, random: RandomBits | None
    ) -> np.ndarray:
        """Round and saturate doubles; those with random bits are rounded exactly, see `encode`."""
        # Clipping first prevents overflow; the ends are integers.
        scale = 2.0**self.fraction_width
        clipped = np.clip(values, self.low / scale, self.high / scale) * scale
        integers = np.rint(clipped) if nearest else np.trunc(clipped)
        return np.where(np.isnan(integers), 0, integers).astype(np.int64)


@lru_cache(maxsize=256)
def int_format(width: int, signed: bool) -> IntFormat:
    """Return a format of integers; it is made once."""
    return IntFormat(width=width, signed=signed)


def _round(
    values: Exact, fraction_width: int, nearest: bool, random: RandomBits | None
) -> np.ndarray:
    """Round to integers times 2^-fraction_width, the integers of any size."""
    significand = values.significand
    shift = np.where(significand == 0, 0, values.exponent + fraction_width)
    if random is not None:
        # Python's integers have room for the random bits.
        magnitude = np.abs(significand.astype(object))
        shift = np.maximum(shift, -values.width - random.width).astype(object)
        magnitude <<= np.maximum(shift, 0) + random.width
        rounded = random.round(magnitude, np.maximum(-shift, 0) + random.width)
        return np.where(significand < 0, -rounded, rounded)
    if significand.size and (values.width > 61 - shift.max() or shift.min() < -61):
        significand, shift = significand.astype(object), shift.astype(object)
    right = np.maximum(-shift, 0)
    significand = significand << np.maximum(shift, 0)
    floor = significand >> right
    if nearest:
        nudge = ((1 << right) >> 1) - 1 + (floor & 1)
        return np.where(right > 0, significand + nudge >> right, floor)
    return floor + ((significand < 0) & (floor << right != significand))
