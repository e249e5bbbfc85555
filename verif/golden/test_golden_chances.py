"""Chances of normal operands against Python's and numpy's own, but for the last bits."""

import math

import numpy as np

from golden.pe.chances import convolved, normal_below, power


def test_normal_distribution() -> None:
    x = np.linspace(-9, 9, 20001)
    right = [0.5 * math.erfc(-one / math.sqrt(2)) for one in x.tolist()]
    np.testing.assert_allclose(normal_below(x), right, rtol=0, atol=3e-15)
    assert normal_below(np.array([0.0, -1e300, 1e300])).tolist() == [0.5, 0.0, 1.0]


def test_sums_and_powers() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random(9), rng.random(5)
    np.testing.assert_allclose(convolved(a, b), np.convolve(a, b), rtol=1e-14)
    for exponent in (1, 2, 7, 256):
        np.testing.assert_allclose(power(a, exponent), a**exponent, rtol=1e-13)
