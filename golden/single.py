"""Elementary functions of floats of 32 bits, as a processor computes them: the twin of C's.

Only sums, products and quotients of such floats, each rounded once, and exact steps. Results are
the same bits in numpy and in ``carrysave_single.c``, and a few units in the last place from
what is exact. They are not as precise as :mod:`golden.elementary`: a processor without floats of
its own needs some thousand cycles for each of those.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PAIRS", "SINGLES", "encode", "erf", "exp", "logistic", "tanh"]

Floats = NDArray[np.float32]

_ONE, _TWO, _HALF = np.float32(1), np.float32(2), np.float32(0.5)
_LEAST, _MOST = np.float32(-87), np.float32(88)
"""Between these powers of e are not 0, and finite."""
_LOG2_E = np.float32(1.4426950408889634)
_LN2 = (np.float32(0.693359375), np.float32(-2.12194440e-4))
"""Two parts of it; multiples of the first are exact."""
_OF_EXP = (0.5, 0.16666576266288757, 0.04166646674275398, 0.008363179862499237,
           0.0013933652080595493)  # fmt: skip
"""(e^r - 1 - r) / r^2, up to half of ln 2. All of these are fitted at Chebyshev's points."""
_OF_TANH = (-0.3333333432674408, 0.1333332508802414, -0.05396474897861481, 0.021818896755576134,
            -0.008528008125722408, 0.0025285908486694098)  # fmt: skip
"""(tanh x / x - 1) / x^2 by x^2, up to 0.55."""
_SMALL = np.float32(0.55)
_OF_ERF = (1.128379225730896, -0.37612637877464294, 0.11283782869577408, -0.026865437626838684,
           0.005221053492277861, -0.0008484396385028958, 0.00011268253729213029,
           -9.673590284364764e-06)  # fmt: skip
"""erf x / x by x^2, up to 1."""
_OF_ERFC = (-0.0001604576245881617, 0.2850055396556854, 0.259104460477829, 0.34980762004852295,
            -0.10769318044185638, 0.5681912899017334, -0.4744580090045929,
            0.12026210874319077)  # fmt: skip
"""erfc x / e^(-x^2) by 1 / (1 + x/2), from 1 to 4."""
_WHOLE = np.float32(4)
"""From it on erf is 1."""


def exp(x: Floats) -> Floats:
    """Return e^x: 0 below -87, and that of 88 above it."""
    inside = np.where(x > _LEAST, np.where(x < _MOST, x, _MOST), _LEAST)
    number: Floats = np.rint(inside * _LOG2_E).astype(np.float32)
    rest = inside - number * _LN2[0]
    rest = rest - number * _LN2[1]
    value = _ONE + (rest + rest * rest * _series(rest, _OF_EXP))
    # Powers of two by their bits; the value is from 0.7 to 1.5, the power from 2^-126 to 2^127.
    bits = (number.astype(np.int32) + np.int32(127)) << np.int32(23)
    return np.where(x > _LEAST, value * bits.view(np.float32), np.float32(0))


def logistic(x: Floats) -> Floats:
    """Return 1 / (1 + e^-x)."""
    return _ONE / (_ONE + exp(-x))


def tanh(x: Floats) -> Floats:
    """Return the hyperbolic tangent: by e^2x, and near 0 by a series."""
    size = np.abs(x)
    square = size * size
    near = size + size * (square * _series(square, _OF_TANH))
    far = _ONE - _TWO / (exp(_TWO * size) + _ONE)
    magnitude = np.where(size < _SMALL, near, far)
    return np.where(x < 0, -magnitude, magnitude)


def erf(x: Floats) -> Floats:
    """Return the error function: by a series, and from 1 on by e^(-x^2)."""
    size = np.abs(x)
    square = size * size
    near = size * _series(square, _OF_ERF)
    t = _ONE / (_ONE + size * _HALF)
    far = _ONE - exp(-square) * _series(t, _OF_ERFC)
    magnitude = np.where(size < _ONE, near, np.where(size < _WHOLE, far, _ONE))
    return np.where(x < 0, -magnitude, magnitude)


def _series(x: Floats, terms: tuple[float, ...]) -> Floats:
    """Return the sum of terms times powers of x, from the highest down."""
    *rest, last = (np.float32(term) for term in terms)
    total = np.full_like(x, last)
    for term in reversed(rest):
        total = total * x + term
    return total


def encode(
    x: NDArray[Any], step: NDArray[Any] | np.float32, zero: int, low: int, high: int
) -> NDArray[np.float64]:
    """Return codes: quotients by a step, to the nearest integer, and a zero point, in limits."""
    quotient = (x / step).astype(np.float32)
    inside = np.where(quotient < high - zero, quotient, high - zero)
    return np.rint(np.where(quotient > low - zero, inside, low - zero)) + float(zero)


def _root(x: Floats) -> Floats:
    return np.sqrt(np.where(x > 0, x, np.float32(0)))


SINGLES: dict[str, Callable[[Floats], Floats]] = {
    "copy": np.asarray, "erf": erf, "exp": exp, "logistic": logistic, "root": _root, "tanh": tanh,
}  # fmt: skip
"""Functions of a float, by name; the root of what is not above 0 is 0."""
PAIRS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "quotient": np.divide,
    "maximum": lambda x, y: np.where(x > y, x, y),
    "minimum": lambda x, y: np.where(x < y, x, y),
}
"""Functions of two floats."""
