"""Chances of normal operands: the same bits on every processor, since manifests have them.

`math.erf`, numpy's powers and its convolutions are those of the C library, and of the kernels that
a processor selects, and differ in the last bit. Here are sums, products and quotients of doubles,
each of which IEEE 754 rounds in one way; numpy fuses none of them, and adds in an order of its own
that is the same in all of its kernels.
"""

import math
from functools import reduce

import numpy as np

__all__ = ["convolved", "normal_below", "power"]

_FAR = 8.0
"""Beyond it a chance is 0 or 1, to the last bit of a half."""
_TERMS = 100
"""Of the series: the last is less than 2^-53 of the sum at `_FAR`."""
_LN2 = (6243314768165359 * 2.0**-53, 2.319046813846299559e-17)
"""ln 2 as a sum of two doubles."""


def normal_below(x: np.ndarray) -> np.ndarray:
    """Return the chance that a number of a normal distribution is less than each of x.

    It is 1/2 + density(x) (x + x^3 / 3 + x^5 / (3 * 5) + ...), whose terms have one sign.
    """
    near = np.clip(np.asarray(x, dtype=np.float64), -_FAR, _FAR)
    square = near * near
    term = near.copy()
    total = near.copy()
    for number in range(1, _TERMS):
        term = term * square / (2 * number + 1)
        total += term
    found = 0.5 + _exp(square * -0.5) / math.sqrt(2 * math.pi) * total
    return np.clip(np.where(near >= _FAR, 1.0, np.where(near <= -_FAR, 0.0, found)), 0.0, 1.0)


def _exp(x: np.ndarray) -> np.ndarray:
    """Return e^x of doubles not far from 0: 2^k times the series of what is left."""
    powers = np.rint(x / _LN2[0])
    rest = (x - powers * _LN2[0]) - powers * _LN2[1]
    total = np.ones_like(rest)
    for number in range(16, 0, -1):
        total = 1 + total * rest / number
    return np.ldexp(total, powers.astype(np.int64))


def convolved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the distribution of a sum of two independent numbers."""
    found = np.zeros(len(a) + len(b) - 1)
    for place, chance in enumerate(b.tolist()):
        found[place : place + len(a)] += a * chance
    return found


def power(values: np.ndarray, exponent: int) -> np.ndarray:
    """Return values to a power, 1 or more."""
    return reduce(np.multiply, [values] * exponent)
