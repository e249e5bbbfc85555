"""Elementary functions of golden against mpmath, and products in an order that does not matter."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from golden import elementary
from golden.portable_product import product

RNG = np.random.default_rng(1)
COUNT = 600


def _sizes(least: int, most: int) -> np.ndarray:
    """Draw numbers of many sizes, of both signs."""
    size = np.ldexp(RNG.uniform(0.5, 1, COUNT), RNG.integers(least, most, COUNT))
    return np.asarray(size * RNG.choice([-1, 1], COUNT))


def _between(low: float, high: float) -> np.ndarray:
    return RNG.uniform(low, high, COUNT)


WIDE, NARROW = _sizes(-60, 10), _between(-0.02, 0.02)
GREAT = np.abs(_sizes(-1000, 1000))
NEAR_ONE = 1 + _sizes(-52, -2)
TURNS = np.concatenate([
    _between(-1e6, 1e6),
    _between(-8, 8),
    np.rint(_between(0, 1e5)) * (math.pi / 2),
])
PLACES: dict[str, tuple[np.ndarray, ...]] = {
    "exp": (WIDE, NARROW, _between(-745, 709.7)),
    "expm1": (WIDE, NARROW, _between(-40, 709.7)),
    "tanh": (WIDE, NARROW, _between(-25, 25)),
    "sigmoid": (WIDE, NARROW, _between(-740, 40)),
    "log": (GREAT, NEAR_ONE, _between(0.6, 1.6)),
    "log1p": (GREAT, NARROW, NEAR_ONE - 1, _between(-0.99, 1)),
    "sin": (TURNS, NARROW),
    "cos": (TURNS, NARROW),
}
_MORE: dict[str, Callable[[Any], Any]] = {"sigmoid": lambda x: 1 / (1 + mpmath.exp(-x))}


def ulps(found: np.ndarray, right: list[Any]) -> float:
    """Return the most units in the last place by which results differ."""
    worst = 0.0
    for one, exact in zip(found.tolist(), right, strict=True):
        unit = math.ulp(float(exact))
        worst = max(worst, float(abs(mpmath.mpf(one) - exact) / unit))
    return worst


@pytest.mark.parametrize("name", PLACES)
def test_within_an_ulp(name: str) -> None:
    x = np.concatenate(PLACES[name])
    right = _MORE.get(name) or getattr(mpmath, name)
    with mpmath.workprec(160), np.errstate(all="raise", under="ignore"):
        worst = ulps(getattr(elementary, name)(x), [right(mpmath.mpf(one)) for one in x.tolist()])
    assert worst < (1 if name in ("sin", "cos", "expm1") else 0.75), worst


def test_powers() -> None:
    bases = np.concatenate([_between(0.9, 1.1), np.abs(_sizes(-9, 9)), [10000.0]])
    for exponent in (-0.375, 0.5, 1 / 3, 7.3, -64.0, 63.9):
        with mpmath.workprec(160):
            right = [mpmath.power(mpmath.mpf(one), mpmath.mpf(exponent)) for one in bases.tolist()]
            assert ulps(elementary.power(bases, exponent), right) < 0.75
    for power in range(-20, 21):
        assert elementary.power(2, power) == math.ldexp(1, power)
    for base, exponent in ((-1.0, 2.0), (1.0, 65.0), (1.0, np.nan)):
        with pytest.raises(ValueError, match="by exponents from -64 to 64"):
            elementary.power(base, exponent)


def test_ends() -> None:
    """Infinities, zeros with their sign, subnormal numbers, NaN; nothing is printed of them."""
    inf, nan, tiny = math.inf, math.nan, 5e-324
    x = np.array([0.0, -0.0, inf, -inf, nan, tiny, 800.0, -800.0])
    right = {
        "exp": [1, 1, inf, 0, nan, 1, inf, 0],
        "expm1": [0.0, -0.0, inf, -1, nan, tiny, inf, -1],
        "tanh": [0.0, -0.0, 1, -1, nan, tiny, 1, -1],
        "sigmoid": [0.5, 0.5, 1, 0, nan, 0.5, 1, 0],
    }
    with np.errstate(all="raise", under="ignore"):
        for name, each in right.items():
            np.testing.assert_array_equal(getattr(elementary, name)(x), each, name)
        for name in ("expm1", "tanh", "sin", "log1p"):
            found = getattr(elementary, name)(x[:2])
            assert np.signbit(found).tolist() == [False, True], name
        points = [0.0, inf, -inf, nan, 1.0, -1.0, tiny]
        found = elementary.log(points)
        np.testing.assert_array_equal(found[:6], [-inf, inf, nan, nan, 0, nan])
        assert found[6] == -1074 * math.log(2)
        found = elementary.log1p(points)
        np.testing.assert_array_equal(found[[0, 1, 2, 3, 5, 6]], [0, inf, nan, nan, -inf, tiny])
        powers = elementary.power([0.0, 0.0, 0.0, inf, inf, inf, nan], [2, 0, -1, 1, 0, -1, 1])
        np.testing.assert_array_equal(powers, [0, 1, inf, inf, 1, 0, nan])
    for name in ("sin", "cos"):
        for angle in (2e6, -2e6, inf, nan):
            with pytest.raises(ValueError, match="quarter turns"):
                getattr(elementary, name)([1.0, angle])


@pytest.mark.parametrize("size", [1, 3, 2304])
def test_products_of_any_order(size: int) -> None:
    """Sums are exact, so a permutation of K gives the same bits; and near the exact product."""
    rng = np.random.default_rng(size)
    a = rng.normal(size=(4, size)) * np.ldexp(1.0, rng.integers(-300, 300, (4, 1)))
    b = rng.normal(size=(size, 3)) * np.ldexp(1.0, rng.integers(-300, 300, (1, 3)))
    found = product(a, b)
    order = rng.permutation(size)
    np.testing.assert_array_equal(product(a[:, order], b[order]), found)
    for row, column in np.ndindex(found.shape):
        pairs = zip(a[row].tolist(), b[:, column].tolist(), strict=True)
        exact = sum(Fraction(x) * Fraction(y) for x, y in pairs)
        most = size * float(np.abs(a[row]).max()) * float(np.abs(b[:, column]).max())
        assert abs(Fraction(float(found[row, column])) - exact) <= Fraction(most) / 2**36
    assert product(np.zeros((2, size)), b).tolist() == [[0.0] * 3] * 2


def test_greatest_products_are_exact() -> None:
    """Of all digits at once, sums reach what doubles hold, and go no further."""
    for size in (1, 2, 1023, 1024, 4095, 4096):
        a, b = np.full((1, size), 1 - 2.0**-53), np.full((size, 1), 1 - 2.0**-53)
        found = float(product(a, b)[0, 0])
        assert abs(found - size) <= size * 2.0**-36
        a[0, size // 2] = 2.0**-20
        shuffled = product(np.roll(a, 1, axis=1), b)
        assert shuffled == product(a, b)
