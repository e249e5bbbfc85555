"""Exact values: integers times powers of two, with NaNs and infinities."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

__all__ = ["Exact", "join"]


_WORD = 64
_LENGTHS = np.frompyfunc(int.bit_length, 1, 1)


def join(limbs: Iterable[np.ndarray], pitch: int, width: int) -> np.ndarray:
    """Make Python integers of `width` bits, two's complement, of limbs.

    Parameters
    ----------
    limbs : int64, 0 .. 2^pitch - 1, the lowest first; `width` bits of them or more.
    pitch : bits from limb to limb, up to 62.
    width : bits that are used, the sign among them.

    Returns
    -------
    dtype object, of the shape of a limb.
    """
    words: list[np.ndarray] = []
    offset = 0
    for limb in limbs:
        bits, shift = limb.astype(np.uint64), offset % _WORD
        if shift == 0:
            words.append(bits)
        else:
            words[-1] |= bits << np.uint64(shift)
            if shift + pitch > _WORD:
                words.append(bits >> np.uint64(_WORD - shift))
        offset += pitch
    count = -(-width // _WORD)
    # The sign fills the last word.
    assert offset >= width
    top = words[count - 1].view(np.int64)
    free = count * _WORD - min(offset, count * _WORD)
    words[count - 1] = (top << free >> free).view(np.uint64)
    data = np.stack(words[:count], axis=-1).astype("<u8").view(f"V{count * _WORD // 8}")
    values = [int.from_bytes(each, "little", signed=True) for each in data.reshape(-1).tolist()]
    return np.array(values, dtype=object).reshape(words[0].shape)


def _shortened(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Truncate Python integers to 62 bits, odd if a 1 is lost: int64; also return the bits cut."""
    cut = np.maximum(_LENGTHS(values).astype(np.int64) - 62, 0)
    places = cut.astype(object)
    high = values >> places
    lost = high << places != values
    return high.astype(np.int64) | lost.astype(np.int64), cut


@dataclass(frozen=True, kw_only=True, eq=False)
class Exact:
    """An array of values significand * 2^exponent, NaNs and infinities.

    All four arrays have one shape. Zero has no sign.

    Members
    -------
    significand : int64 within +-(2^63 - 1), or Python integers (dtype object) of any size; 0 for
        NaNs and infinities.
    exponent : int64.
    nan : bool; NaN, or NaR of a posit.
    infinity : int8; 1 or -1 for an infinity, else 0.
    """

    significand: np.ndarray
    exponent: np.ndarray
    nan: np.ndarray
    infinity: np.ndarray

    @classmethod
    def finite(cls, significand: np.ndarray, exponent: np.ndarray | int) -> Self:
        """Make an array of finite numbers; the exponent may be one for all."""
        shape = significand.shape
        return cls(
            significand=significand,
            exponent=np.broadcast_to(np.asarray(exponent, dtype=np.int64), shape),
            nan=np.zeros(shape, dtype=bool),
            infinity=np.zeros(shape, dtype=np.int8),
        )

    @classmethod
    def from_float(cls, values: np.ndarray) -> Self:
        """Convert floats of any precision up to double, exactly."""
        # A signalling NaN becomes a quiet one, for which numpy would warn.
        with np.errstate(invalid="ignore"):
            values = np.asarray(values, dtype=np.float64)
        number = np.isfinite(values)
        fraction, exponent = np.frexp(np.where(number, values, 0.0))
        return cls(
            significand=np.ldexp(fraction, 53).astype(np.int64),
            exponent=np.where(fraction == 0, 0, exponent - 53).astype(np.int64),
            nan=np.isnan(values),
            infinity=np.where(np.isinf(values), np.sign(values), 0).astype(np.int8),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.significand.shape

    def __getitem__(self, index: Any) -> Self:
        """Take a part, as of an array."""
        return type(self)(
            significand=self.significand[index],
            exponent=self.exponent[index],
            nan=self.nan[index],
            infinity=self.infinity[index],
        )

    def __mul__(self, other: Self) -> Self:
        """Multiply exactly, element by element; zero times infinity is NaN."""
        a, b = self.significand, other.significand
        if self.width + other.width > 63:
            a, b = a.astype(object), b.astype(object)
        a_sign, b_sign = self.sign(), other.sign()
        infinite = (self.infinity != 0) | (other.infinity != 0)
        sign = a_sign * b_sign
        return type(self)(
            significand=a * b,
            exponent=self.exponent + other.exponent,
            nan=self.nan | other.nan | infinite & (sign == 0),
            infinity=np.where(infinite & ~self.nan & ~other.nan, sign, 0).astype(np.int8),
        )

    @property
    def width(self) -> int:
        """Bits of the longest significand, without sign."""
        if not self.significand.size:
            return 0
        return max(int(abs(self.significand.min())), int(abs(self.significand.max()))).bit_length()

    def fixed(self, lsb: int) -> np.ndarray:
        """Return the integers value / 2^lsb: int64 if they fit, else Python's.

        Raises ValueError if a value is not a multiple of 2^lsb; a NaN or infinity gives 0.
        """
        significand = self.significand
        shift = np.where(significand == 0, 0, self.exponent - lsb)
        if significand.size and (self.width > 63 - shift.max() or shift.min() < -62):
            significand, shift = significand.astype(object), shift.astype(object)
        right = np.maximum(-shift, 0)
        if np.any((significand >> right) << right != significand):
            raise ValueError(f"lsb must be the exponent of a common divisor, not {lsb}")
        return (significand >> right) << np.maximum(shift, 0)

    def to_odd(self) -> np.ndarray:
        """Round to odd in double precision: exact up to 53 bits, else to the odd neighbour.

        Rounded again, to at most 50 bits and by any rule, that equals rounding the exact value
        (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008). Values outside
        2^-1000 .. 2^1000, beyond any format here, are clamped to that range.
        """
        significand, cut = self.significand, np.zeros((), dtype=np.int64)
        if significand.dtype == object:
            significand, cut = _shortened(significand)
        # As a double a significand may have rounded up to the next power of two.
        length = np.frexp(significand.astype(np.float64))[1]
        length -= np.abs(significand) >> np.maximum(length - 1, 0) == 0
        excess = np.maximum(length - 53, 0)
        high = significand >> excess
        # The floor of an inexact quotient, or the integer above it, whichever is odd.
        high |= high << excess != significand
        fraction, exponent = np.frexp(high.astype(np.float64))
        exponent = np.clip(exponent + excess + cut + self.exponent, -1000, 1000)
        result = np.ldexp(fraction, exponent)
        if self.nan.any() or self.infinity.any():
            result = np.where(self.infinity != 0, np.copysign(np.inf, self.infinity), result)
            result = np.where(self.nan, np.nan, result)
        return result

    def sign(self) -> np.ndarray:
        """-1, 0 or 1; of infinities too."""
        return np.sign(self.significand).astype(np.int8) + self.infinity
