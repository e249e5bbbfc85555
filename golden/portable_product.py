"""Matrix products of doubles: the same bits on every processor.

BLAS adds in an order of its own, by the processor, by threads and by shapes, and fuses products and
sums where it can. Products of integers whose sums stay below 2^53 are exact in any order.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["product"]

Floats = NDArray[np.float64]


def product(a: Floats, b: Floats) -> Floats:
    """Return the matrix product of doubles, m x k times k x n, whatever the order of BLAS's sums.

    Rows of a and columns of b are integers of two halves, so that each sum of products is below
    2^53 and exact; of the products of halves the least is left out. Errors are below 2^-36 of the
    greatest of a row times that of a column, for each of the k: about as for floats of 36 bits.
    """
    width = (52 - max(a.shape[1], 1).bit_length()) // 2
    (a_high, a_low), a_power = _halves(a, width, 1)
    (b_high, b_low), b_power = _halves(b, width, 0)
    rest = a_high @ b_low + a_low @ b_high
    result: Floats = np.ldexp(a_high @ b_high + np.ldexp(rest, -width), a_power + b_power)
    return result


def _halves(
    values: Floats, width: int, axis: int
) -> tuple[tuple[Floats, Floats], NDArray[np.int_]]:
    """Cut numbers into two integers of a width and a sign, by a power of two along an axis."""
    greatest = np.abs(values).max(axis=axis, keepdims=True, initial=0.0)
    power = np.frexp(greatest)[1].astype(np.int64) - width
    # Products by powers of two are exact as `ldexp` is, and fast; two, as one could overflow.
    first, second = (np.ldexp(1.0, part) for part in (-(power // 2), power // 2 - power))
    scaled = values * first * second
    high = np.rint(scaled)
    return (high, np.rint((scaled - high) * 2.0**width)), power
