"""Sums of products as in GPUs: aligned to the largest exponent and truncated."""

from collections.abc import Iterable

import numpy as np

from golden.formats.exact import Exact
from golden.formats.minifloat import MinifloatFormat
from golden.formats.product import specials

__all__ = ["aligned_sums"]

# Below every exponent, and not so low that differences overflow.
_LOWEST = -(1 << 20)


def aligned_sums(
    groups: Iterable[tuple[Exact, Exact, Exact]],
    shape: tuple[int, int],
    *,
    point: int,
    fraction_width: int,
    sum_format: MinifloatFormat,
) -> Exact:
    """Add the products of each group to the running sum, all aligned to one exponent.

    The exponent of a product is the sum of its factors' (for a subnormal, that of the smallest
    normal number), so its significand is below 4; a zero has none. Each term is aligned to the
    largest exponent and its magnitude truncated to `fraction_width` bits after the point; their sum
    is exact, and truncated to the format of sums. That is how tensor cores were found to add (Fasi,
    Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores, 2021, and models since):
    24 or 25 bits for fp16 and bf16 in groups of 8 or 16, for FP8 in groups of 32 first 13 bits and
    as many in the sums, then 25.

    Parameters
    ----------
    groups : for each group along K: elements of A, M x G, of B, G x N, and scales, M x N powers
        of two.
    shape : M, N.
    point : mantissa bits of an element of A and one of B together.
    fraction_width : bits kept of a product, 4..48.
    sum_format : format of the running sum.

    Returns
    -------
    The final sums, M x N.
    """
    total = Exact.finite(np.zeros(shape, dtype=np.int64), 0)
    for a, b, scale in groups:
        total_point = sum_format.mantissa_bits
        value = _fused(a, b, scale, total, (point, total_point), fraction_width)
        nan, infinity = specials(a, b)
        nan |= total.nan | scale.nan | (total.infinity * infinity < 0)
        infinity = np.where(total.infinity != 0, total.infinity, infinity)
        # A truncated sum that overflows becomes an infinity, unlike in IEEE 754.
        over = np.abs(value) >= 2.0 ** (sum_format.max_exponent + 1)
        infinity = np.where((infinity == 0) & over, np.sign(value), infinity)
        value = np.where(infinity != 0, np.copysign(np.inf, infinity), value)
        value = np.where(nan, np.nan, value)
        total = sum_format.decode(sum_format.encode(value, rounding="rtz", saturate=False))
    return total


def _fused(
    a: Exact, b: Exact, scale: Exact, total: Exact, points: tuple[int, int], fraction_bits: int
) -> np.ndarray:
    """Add truncated terms; NaNs count as zero."""
    point, total_point = points
    products = a.significand[:, :, None] * b.significand[None]
    exponents = a.exponent[:, :, None] + b.exponent[None] + scale.exponent[:, None, :] + point
    total_exponent = total.exponent + total_point
    top = np.where(products != 0, exponents, _LOWEST).max(axis=1, initial=_LOWEST)
    top = np.maximum(top, np.where(total.significand != 0, total_exponent, _LOWEST))
    sums = _cut(products, exponents - top[:, None, :] + (fraction_bits - point)).sum(axis=1)
    sums += _cut(total.significand, total_exponent - top + (fraction_bits - total_point))
    return Exact.finite(sums, top - fraction_bits).to_odd()


def _cut(significand: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Shift left or right, truncating the magnitude."""
    magnitude = np.abs(significand) << np.clip(shift, 0, 62) >> np.clip(-shift, 0, 63)
    return np.where(significand < 0, -magnitude, magnitude)
