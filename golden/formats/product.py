"""Exact matrix products of exact values."""

from collections.abc import Iterator

import numpy as np

from golden.formats.element import ElementFormat
from golden.formats.exact import Exact, join

__all__ = ["matmul", "matmul_codes", "specials"]

# Integers up to 2^53 are doubles, and so is every sum of them that stays below, in any order.
_DOUBLE = 53


def matmul(a: Exact, b: Exact) -> Exact:
    """Multiply matrices exactly.

    A NaN makes its whole row (of a) or column (of b) of the product NaN. Infinities add up as in
    IEEE 754: times zero, or with one of the other sign, they are NaN.

    Parameters
    ----------
    a, b : M x K and K x N.

    Returns
    -------
    M x N values of one exponent; significands are int64 where every sum of K such products fits.
    """
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"a and b must be M x K and K x N, not {a.shape} and {b.shape}")
    a_fixed, b_fixed = _Fixed(a), _Fixed(b)
    nan, infinity = specials(a, b)
    return Exact(
        significand=np.where(nan | (infinity != 0), 0, _sums(a_fixed, b_fixed, a.shape[1])),
        exponent=np.full(nan.shape, a_fixed.lsb + b_fixed.lsb, dtype=np.int64),
        nan=nan,
        infinity=infinity,
    )


def matmul_codes(
    a_format: ElementFormat, b_format: ElementFormat, a: np.ndarray, b: np.ndarray
) -> np.ndarray | None:
    """Multiply matrices of codes exactly by one product of doubles.

    Parameters
    ----------
    a_format, b_format : of the codes.
    a, b : codes, M x K and K x N.

    Returns
    -------
    M x N int64 sums in units of 2^(sum of both lsb); None where a code is no finite number, or a
    sum could have more bits than a double.
    """
    growth = max(a.shape[1] - 1, 0).bit_length()
    if a_format.fixed_width + b_format.fixed_width - 2 + growth > _DOUBLE:
        return None
    left, right = (
        np.ldexp(fmt.to_float(codes), -fmt.lsb) for fmt, codes in ((a_format, a), (b_format, b))
    )
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return None
    return (left @ right).astype(np.int64)


def specials(a: Exact, b: Exact) -> tuple[np.ndarray, np.ndarray]:
    """Find the NaN sums of a matrix product, and the sign (int8) of infinite ones.

    Parameters
    ----------
    a, b : M x K and K x N.
    """
    nan = np.logical_or.outer(a.nan.any(axis=1), b.nan.any(axis=0))
    if not (a.infinity.any() or b.infinity.any()):
        return nan, np.zeros(nan.shape, dtype=np.int8)
    a_infinity, b_infinity = (x.infinity.astype(np.float64) for x in (a, b))
    a_sign, b_sign = (x.sign().astype(np.float64) for x in (a, b))
    # Products of two infinities are in both of the first two terms.
    sign = a_infinity @ b_sign + a_sign @ b_infinity - a_infinity @ b_infinity
    a_is, b_is = np.abs(a_infinity), np.abs(b_infinity)
    count = a_is @ np.abs(b_sign) + np.abs(a_sign) @ b_is - a_is @ b_is
    zeros = a_is @ (b_sign == 0) + (a_sign == 0) @ b_is
    nan = nan | (zeros > 0) | (np.abs(sign) < count)
    return nan, np.where(nan, 0, np.sign(sign)).astype(np.int8)


class _Fixed:
    """Values as integers times one power of two, split into slices that are exact doubles."""

    def __init__(self, values: Exact):
        self.shape = values.shape
        significand = values.significand.reshape(-1)
        used = significand != 0
        self.magnitude = np.abs(significand)
        self.sign = np.sign(significand).astype(np.float64)
        self.lsb = int(values.exponent.reshape(-1)[used].min()) if used.any() else 0
        self.offset = np.where(used, values.exponent.reshape(-1) - self.lsb, 0)
        lengths = np.frexp(self.magnitude.astype(np.float64))[1]
        self.end = np.where(used, lengths + self.offset, 0)
        self.width = int(self.end.max(initial=0))

    def slices(self, width: int) -> list[tuple[int, np.ndarray]]:
        """Cut into integers of `width` bits with the value's sign, none of them all zeros.

        Returns the place of the last bit of each, and the integers.
        """
        slices = []
        for start in range(0, self.width, width):
            # Few reach into a slice of a format with many exponents.
            inside = np.flatnonzero((self.offset < start + width) & (self.end > start))
            left = self.offset[inside] - start
            right = np.clip(-left, 0, 63)
            left = np.maximum(left, 0)
            mask = (np.int64(1) << width) - 1
            bits = (self.magnitude[inside] >> right & mask >> left) << left
            if bits.any():
                part = np.zeros(self.sign.shape)
                part[inside] = bits * self.sign[inside]
                slices.append((start, part.reshape(self.shape)))
        return slices


def _sums(a: _Fixed, b: _Fixed, depth: int) -> np.ndarray:
    """Multiply the integers: one product of doubles, or one per pair of slices."""
    growth = max(depth - 1, 0).bit_length()
    a_width, b_width, pitch = _slice_widths(a.width, b.width, _DOUBLE - growth)
    # No level has more pairs than the shorter operand has slices, 64 at most of any format: its sum
    # is below 2^59.
    shape = a.shape[0], b.shape[1]
    levels: dict[int, np.ndarray] = {}
    b_slices = b.slices(b_width)
    for a_shift, a_part in a.slices(a_width):
        for b_shift, b_part in b_slices:
            level = levels.setdefault(a_shift + b_shift, np.zeros(shape, dtype=np.int64))
            level += (a_part @ b_part).astype(np.int64)
    width = a.width + b.width + growth
    if width >= 63:
        return join(_carried(levels, shape, pitch, width), pitch, width + 1)
    total = np.zeros(shape, dtype=np.int64)
    for weight, level in levels.items():
        total += level << weight
    return total


def _carried(
    levels: dict[int, np.ndarray], shape: tuple[int, int], pitch: int, width: int
) -> Iterator[np.ndarray]:
    """Pass carries from level to level: limbs of `pitch` bits, then as many of the sign."""
    carry = np.zeros(shape, dtype=np.int64)
    for offset in range(0, width + pitch, pitch):
        total = levels[offset] + carry if offset in levels else carry
        yield total & (1 << pitch) - 1
        carry = total >> pitch


def _slice_widths(a_width: int, b_width: int, budget: int) -> tuple[int, int, int]:
    """Find slices with the fewest pairs; the bits of a pair's two slices add up to the budget.

    Returns the bits of a slice of each operand, and of the places of all pairs' products: one
    operand is a single slice, or both have slices of one width.
    """
    a_width, b_width = max(a_width, 1), max(b_width, 1)
    half = budget // 2
    choices = [(-(-a_width // half) * -(-b_width // half), half, half, half)]
    if a_width < budget:
        count = -(-b_width // (budget - a_width))
        choices.append((count, a_width, -(-b_width // count), -(-b_width // count)))
    if b_width < budget:
        count = -(-a_width // (budget - b_width))
        choices.append((count, -(-a_width // count), b_width, -(-a_width // count)))
    return min(choices)[1:]
