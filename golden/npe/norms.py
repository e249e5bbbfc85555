"""Norms of rows of integers: by their root mean square, or their standard deviation."""

import math
from dataclasses import replace

import numpy as np

from golden.npe.requantiser import Requantisation, requantiser
from golden.npe.vector import VectorUnitSpec, check_rows

__all__ = ["norm", "normalised"]

_ROWS = 256
"""Rows of a norm at once."""


def norm(spec: VectorUnitSpec, x: np.ndarray, *, centred: bool) -> np.ndarray:
    """Divide rows by their root mean square, or by their standard deviation about the mean.

    With the sum s, the sum of squares Q and s = 0 unless `centred`, D is the root of L * Q - s^2,
    rounded down to 6 bits after the binary point, the mean that of s / L rounded towards zero to 8
    bits, and L / D is rounded down to `spec.reciprocal_width` bits. Values minus the mean, times
    L / D, are rounded and saturated by :func:`golden.npe.requantiser.requantiser`. Rows of D = 0
    are zeros.

    Parameters
    ----------
    spec : widths.
    x : of `spec.in_format`, rows along the last axis, 1 .. length values each.
    centred : subtract the mean: layer norm; else RMS norm.

    Returns
    -------
    int64 codes of out_width bits, two's complement, times 2^-norm_fraction; of the shape of `x`.
    """
    spec.check_operation("layer_norm" if centred else "rms_norm")
    x = check_rows(spec, x)
    length, rows = x.shape[-1], x.reshape(-1, x.shape[-1])
    factors, shifts, means = (np.zeros(len(rows), np.int64) for _ in range(3))
    totals = rows.sum(axis=1) * centred
    powers = length * (rows * rows).sum(axis=1) - totals * totals
    for row in np.flatnonzero(powers):
        total = int(totals[row])
        root = math.isqrt(int(powers[row]) << 2 * spec.ROOT_FRACTION)
        means[row] = (abs(total) << spec.MEAN_FRACTION) // length * (1 if total >= 0 else -1)
        factors[row], digits = normalised(length, root, spec.reciprocal_width)
        shifts[row] = digits - spec.ROOT_FRACTION + spec.MEAN_FRACTION - spec.norm_fraction
    z = (rows << spec.MEAN_FRACTION) - means[:, None]
    codes = np.empty_like(rows)
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        to = Requantisation(
            multiplier=factors[part], shift=shifts[part], zero_point=np.zeros_like(shifts[part])
        )
        unit = replace(spec.norm_spec, n=len(shifts[part]), per_column=True)
        codes[part] = requantiser(unit, z[part].T, to).T
    return codes.reshape(x.shape)


def normalised(dividend: int, divisor: int, width: int) -> tuple[int, int]:
    """Divide, rounding down, so that the quotient has `width` bits.

    Returns
    -------
    The quotient and the number of its digits after the binary point.
    """
    digits = width - dividend.bit_length() + divisor.bit_length()
    quotient = (dividend << digits) // divisor
    return (quotient, digits) if quotient < 1 << width else (quotient >> 1, digits - 1)
