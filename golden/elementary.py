"""Elementary functions of doubles: the same bits on every processor.

Those of numpy are of the kernels that a processor selects (its AVX-512 ones differ from others in
the last bit), and those of `math` are of the C library, which has ones with and without FMA. Here
are only sums, products and quotients of doubles, each of which IEEE 754 rounds in one way, and
exact steps: `rint`, `frexp`, `ldexp`, comparisons, tables. numpy fuses none of them. The tables are
of `decimal`, which computes in integers.

Results are at most 1 ulp from what is exact; `exp`, `expm1`, `log`, `log1p`, `tanh` and `power`
nearly always the nearest double. Arguments are broadcast, results are arrays of doubles.
"""

from decimal import Context, Decimal
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["cos", "exp", "expm1", "log", "log1p", "power", "sigmoid", "sin", "tanh"]

Floats = NDArray[np.float64]

_DECIMAL = Context(prec=60)
_LN2 = _DECIMAL.ln(Decimal(2))
_HALF_PI = Decimal("1.57079632679489661923132169163975144209858469968755291048747")
_STEPS = 32
"""Of 2^x from 0 to 1, in the table of `exp`."""


def _parts(value: Decimal, *bits: int) -> tuple[float, ...]:
    """Cut a number into doubles: each but the last is a multiple of 2^-bits."""
    result = []
    for one in bits:
        part = float(_DECIMAL.multiply(value, Decimal(2**one)).to_integral_value()) / 2**one
        result.append(part)
        value = _DECIMAL.subtract(value, Decimal(part))
    return (*result, float(value))


def _table(rows: list[tuple[float, ...]]) -> tuple[Floats, Floats]:
    high, low = np.array(rows).T
    return high.copy(), low.copy()


# Products of these by integers that are not too large are exact.
_STEP = _parts(_DECIMAL.divide(_LN2, Decimal(_STEPS)), 41)
_POWERS = _table([
    _parts(_DECIMAL.power(Decimal(2), Decimal(one) / _STEPS), 52) for one in range(_STEPS)
])
_LN2_PARTS = _parts(_LN2, 42)
_PI_PARTS = _parts(_HALF_PI, 32, 65)
_FIRST, _LAST = 45, 91
"""64ths of the significands from the root of 1/2 to that of 2."""
_INVERSES = np.array([round(256 * 64 / one) / 256 for one in range(_FIRST, _LAST + 1)])
_LOGS = _table([_parts(-_DECIMAL.ln(Decimal(one)), 42) for one in _INVERSES.tolist()])
_FAR = 800.0
"""Beyond it powers of e are 0 or infinite."""
_REACH = float(2**20)
"""Quarter turns that `sin` and `cos` go."""
_SPLIT = float(2**27 + 1)


def exp(x: ArrayLike) -> Floats:
    """Return e^x."""
    return _exp(np.asarray(x, np.float64), 0.0)


def expm1(x: ArrayLike) -> Floats:
    """Return e^x - 1, precise around 0."""
    x = np.asarray(x, np.float64)
    high, low = _expm1(np.clip(x, -60, 709))
    return np.where(x == 0, x, np.where(x > 709, _exp(x, 0.0), high + low))


def tanh(x: ArrayLike) -> Floats:
    """Return the hyperbolic tangent: e / (e + 2), of e = e^2x - 1."""
    x = np.asarray(x, np.float64)
    high, low = _expm1(2 * np.minimum(np.abs(x), 30))
    return np.copysign(_quotient(high, low, *_sum(high, 2.0), low), x)


def sigmoid(x: ArrayLike) -> Floats:
    """Return 1 / (1 + e^-x)."""
    x = np.asarray(x, np.float64)
    # Below -40 it is e^x but for less than half an ulp.
    high, low = _expm1(np.clip(-x, -60, 60))
    near = _quotient(np.ones_like(high), np.zeros_like(high), *_sum(high, 2.0), low)
    return np.where(x < -40, exp(x), near)


def log(x: ArrayLike) -> Floats:
    """Return the natural logarithm."""
    x = np.asarray(x, np.float64)
    return _of_log(x, _log(x, np.zeros_like(x)))


def log1p(x: ArrayLike) -> Floats:
    """Return the natural logarithm of 1 + x, precise around 0."""
    x = np.asarray(x, np.float64)
    whole, rest = _sum(1.0, np.where(np.abs(x) < np.inf, x, np.nan))
    result = _of_log(whole, _log(whole, rest))
    return np.where(x == 0, x, np.where(x == np.inf, x, result))


def power(base: ArrayLike, exponent: ArrayLike) -> Floats:
    """Return powers of numbers that are not negative, by exponents from -64 to 64."""
    base, exponent = np.asarray(base, np.float64), np.asarray(exponent, np.float64)
    if np.any(base < 0) or not np.all(np.abs(exponent) <= 64):
        raise ValueError("powers are of numbers >= 0, by exponents from -64 to 64")
    high, low = _log(np.where((base > 0) & (base < np.inf), base, 1.0), np.zeros_like(base))
    whole, rest = _multiply(exponent, high)
    result = _exp(whole, rest + exponent * low)
    ends = np.where((base == 0) == (exponent > 0), 0.0, np.inf)
    result = np.where(((base == 0) | (base == np.inf)) & (exponent != 0), ends, result)
    return np.where(np.isnan(base), base, result)


def sin(x: ArrayLike) -> Floats:
    """Return the sine of angles up to 2^20 quarter turns."""
    x = np.asarray(x, np.float64)
    return np.where(x == 0, x, _turned(x, 0))


def cos(x: ArrayLike) -> Floats:
    """Return the cosine of angles up to 2^20 quarter turns."""
    return _turned(np.asarray(x, np.float64), 1)


def _series(x: Floats, terms: list[float]) -> Floats:
    """Return the sum of terms times powers of x."""
    *rest, last, first = terms
    return reduce(lambda total, term: total * x + term, reversed(rest), first * x + last)


def _inverse_factorials(first: int, last: int, step: int = 1) -> list[float]:
    result, made = [], 1
    for number in range(1, last + 1):
        made *= number
        if number >= first and not (number - first) % step:
            result.append(1 / made)
    return result


_OF_EXP = _inverse_factorials(2, 8)
_OF_LOG = [(-1) ** (number + 1) / number for number in range(2, 13)]
_OF_SIN = [(-1) ** power * one for power, one in enumerate(_inverse_factorials(3, 21, 2), 1)]
_OF_COS = [(-1) ** power * one for power, one in enumerate(_inverse_factorials(4, 22, 2))]


def _sum(a: Floats | float, b: Floats | float) -> tuple[Floats, Floats]:
    """Return a sum and what its rounding loses (Knuth)."""
    result = np.asarray(a + b)
    part = result - a
    return result, np.asarray((a - (result - part)) + (b - part))


def _multiply(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a product and what its rounding loses (Dekker)."""
    result = a * b
    a_high, a_low = _cut(a)
    b_high, b_low = _cut(b)
    return result, ((a_high * b_high - result) + a_high * b_low + a_low * b_high) + a_low * b_low


def _cut(a: Floats) -> tuple[Floats, Floats]:
    """Cut doubles into two numbers of 26 bits (Veltkamp)."""
    large = a * _SPLIT
    high = large - (large - a)
    return high, a - high


def _quotient(a: Floats, a_low: Floats, b: Floats, b_rest: Floats, b_low: Floats) -> Floats:
    """Return (a + a_low) / (b + b_rest + b_low)."""
    result = a / b
    whole, rest = _multiply(result, b)
    return result + (((a - whole) - rest) + a_low - result * (b_rest + b_low)) / b


def _reduced(x: Floats, tail: Floats | float) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return n, r and p: x is n 32nds of ln 2 and a rest, of which e is 1 + r + p."""
    number = np.rint(np.fmin(x, _FAR) * (_STEPS / float(_LN2)))
    near = x - number * _STEP[0]
    less = tail - number * _STEP[1]
    rest = near + less
    more = (near - rest) + less
    return number.astype(np.int64), rest, more + rest * rest * _series(rest, _OF_EXP)


def _exp(x: Floats, tail: Floats | float) -> Floats:
    number, rest, more = _reduced(np.maximum(np.minimum(x, _FAR), -_FAR), tail)
    high, low = (one[number % _STEPS] for one in _POWERS)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(high + (high * (rest + more) + low), number // _STEPS))


def _expm1(x: Floats) -> tuple[Floats, Floats]:
    """Return e^x - 1 as a sum of two doubles, of numbers that are not too large."""
    number, rest, more = _reduced(x, 0.0)
    high, low = (one[number % _STEPS] for one in _POWERS)
    whole, lost = _multiply(high, rest)
    first, second = _sum(high, whole)
    second = second + (lost + high * more + low * (1 + rest))
    first, second = (np.ldexp(one, number // _STEPS) for one in (first, second))
    first, third = _sum(first, -1.0)
    return _sum(first, third + second)


def _log(x: Floats, tail: Floats) -> tuple[Floats, Floats]:
    """Return the logarithm of x + tail as a sum of two doubles; x is above 0 and finite."""
    x = np.where((x > 0) & (x < np.inf), x, 1.0)
    part, two = np.frexp(x)
    two = two.astype(np.int64) - (part * part < 0.5)
    part, tail = np.ldexp(x, -two), np.ldexp(tail, -two)
    power = np.rint(part * 64).astype(np.int64) - _FIRST
    inverse = _INVERSES[power]
    high, low = _cut(part)
    z, rest = _sum(high * inverse - 1, low * inverse)
    rest = rest + tail * inverse
    first, second = _sum(two * _LN2_PARTS[0] + _LOGS[0][power], z)
    less = two * _LN2_PARTS[1] + _LOGS[1][power]
    return _sum(first, second + (less + ((rest - z * rest) + z * z * _series(z, _OF_LOG))))


def _of_log(x: Floats, result: tuple[Floats, Floats]) -> Floats:
    """Return a logarithm, with its values where there are none."""
    ends = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.nan))
    return np.where((x > 0) & (x < np.inf), result[0] + result[1], ends)


def _turned(x: Floats, quarters: int) -> Floats:
    """Return the sine of angles that are so many quarter turns further."""
    number = np.rint(x * (1 / float(_HALF_PI)))
    if not np.all(np.abs(number) <= _REACH):
        raise ValueError(f"angles must be up to {_REACH:.0f} quarter turns: {np.abs(x).max()}")
    near, rest = _sum(x - number * _PI_PARTS[0], -(number * _PI_PARTS[1]))
    r, t = _sum(near, rest - number * _PI_PARTS[2])
    square = r * r
    half = square / 2
    sine = r + (t * (1 - half) + r * (square * _series(square, _OF_SIN)))
    whole = 1 - half
    cosine = whole + (((1 - whole) - half) + (square * square * _series(square, _OF_COS) - r * t))
    turn = (number.astype(np.int64) + quarters) % 4
    return np.where(turn >= 2, -1.0, 1.0) * np.where(turn % 2 == 1, cosine, sine)
