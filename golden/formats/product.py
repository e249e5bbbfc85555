"""Exact matrix products of exact values."""

import numpy as np

from golden.formats.exact import Exact

__all__ = ["matmul", "specials"]

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
        magnitude = np.abs(values.significand)
        used = magnitude != 0
        self.magnitude = magnitude
        self.sign = np.sign(values.significand).astype(np.float64)
        self.lsb = int(values.exponent[used].min()) if used.any() else 0
        self.offset = np.where(used, values.exponent - self.lsb, 0)
        self.width = 0
        if used.any():
            lengths = np.frexp(magnitude.astype(np.float64))[1] + self.offset
            self.width = int(lengths[used].max())

    def slices(self, width: int) -> list[tuple[int, np.ndarray]]:
        """Cut into integers of `width` bits with the value's sign, none of them all zeros.

        Returns the place of the last bit of each, and the integers.
        """
        found = []
        for place in range(0, self.width, width):
            left = np.clip(self.offset - place, 0, width)
            right = np.clip(place - self.offset, 0, 63)
            mask = (np.int64(1) << width) - 1
            part = (self.magnitude >> right & mask >> left) << left
            if part.any():
                found.append((place, part * self.sign))
        return found


def _sums(a: _Fixed, b: _Fixed, depth: int) -> np.ndarray:
    """Multiply the integers: one product of doubles, or one per pair of slices."""
    shape = (a.magnitude.shape[0], b.magnitude.shape[1])
    growth = max(depth - 1, 0).bit_length()
    a_width, b_width = _slice_widths(a.width, b.width, _DOUBLE - growth)
    levels: dict[int, np.ndarray] = {}
    b_slices = b.slices(b_width)
    for a_place, a_part in a.slices(a_width):
        for b_place, b_part in b_slices:
            level = levels.setdefault(a_place + b_place, np.zeros(shape, dtype=np.int64))
            level += (a_part @ b_part).astype(np.int64)
    kind = np.int64 if a.width + b.width + growth < 63 else object
    total = np.zeros(shape, dtype=kind)
    for place, level in levels.items():
        total += level.astype(kind) << place
    return total


def _slice_widths(a_width: int, b_width: int, budget: int) -> tuple[int, int]:
    """Find slices with the fewest pairs; the bits of a pair's two slices add up to the budget."""
    choices = []
    for count in range(1, max(a_width, 1) + 1):
        a_slice = max(-(-a_width // count), 1)
        if a_slice < budget:
            b_count = max(-(-b_width // (budget - a_slice)), 1)
            choices.append((count * b_count, a_slice, max(-(-b_width // b_count), 1)))
    return min(choices)[1:]
