"""Chances of normal operands: the same bits on every processor, since manifests have them.

`math.erf`, numpy's powers and its convolutions are those of the C library, and of the kernels that
a processor selects, and differ in the last bit. Here are sums, products and quotients of doubles,
each of which IEEE 754 rounds in one way; numpy fuses none of them, and adds in an order of its own
that is the same in all of its kernels.
"""

import math
from functools import cache, reduce

import numpy as np

from golden.elementary import exp

__all__ = ["convolved", "normal_below", "power"]

_FAR = 8.0
"""Beyond it a chance is 0 or 1, to the last bit of a half."""
_TERMS = 100
"""Of the series in the table: the last is less than 2^-53 of the sum at `_FAR`."""
_STEPS = 16
"""Places of the table, from one number to the next."""
_NEAR = 11
"""Terms from a place of the table on."""


def normal_below(x: np.ndarray) -> np.ndarray:
    """Return the chance that a number of a normal distribution is less than each of x.

    It is that of the next place in a table, and the series of the density from there on.
    """
    x = np.asarray(x, dtype=np.float64)
    near = np.clip(np.nan_to_num(x), -_FAR, _FAR)
    steps = np.rint(near * _STEPS)
    fraction, rest = steps / _STEPS, near - steps / _STEPS
    chances, densities = (one[(steps + _FAR * _STEPS).astype(np.int64)] for one in _table())
    before, term, square = np.zeros_like(rest), np.ones_like(rest), rest * rest
    total = term
    for number in range(1, _NEAR):
        before, term = term, (fraction * rest * term + square * before) / -number
        total = total + term / (number + 1)
    result = np.clip(chances + densities * (rest * total), 0.0, 1.0)
    ends = np.where(x >= _FAR, 1.0, np.where(x <= -_FAR, 0.0, result))
    return np.where(np.isnan(x), x, ends)


@cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    """Return chances and densities of places: 1/2 + density(x) (x + x^3 / 3 + x^5 / 15 + ...)."""
    x = np.arange(-_FAR * _STEPS, _FAR * _STEPS + 1) / _STEPS
    term = x
    total = x
    for number in range(1, _TERMS):
        term = term * x * x / (2 * number + 1)
        total = total + term
    densities = exp(x * x * -0.5) / math.sqrt(2 * math.pi)
    return np.clip(0.5 + densities * total, 0.0, 1.0), densities


def convolved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the distribution of a sum of two independent numbers."""
    result = np.zeros(len(a) + len(b) - 1)
    for shift, chance in enumerate(b.tolist()):
        result[shift : shift + len(a)] += a * chance
    return result


def power(values: np.ndarray, exponent: int) -> np.ndarray:
    """Return values to a power, 1 or more."""
    return reduce(np.multiply, [values] * exponent)
