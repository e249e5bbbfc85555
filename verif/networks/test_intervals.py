"""Intervals: scipy's, and how often they have the true figure."""

import numpy as np
import pytest
from scipy.stats import binomtest

from carrysave.precision.intervals import LEVEL, change, ratio, wilson


@pytest.mark.parametrize("total", [1, 7, 106, 10_000])
def test_wilson_is_scipys(total: int) -> None:
    for count in sorted({0, 1, total // 3, total - 1, total}):
        wanted = binomtest(count, total).proportion_ci(confidence_level=LEVEL, method="wilson")
        assert wilson(count, total) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_wilson_refuses() -> None:
    with pytest.raises(ValueError, match=r"count must be 0\.\.3 of 1 or more inputs, not 4"):
        wilson(4, 3)
    with pytest.raises(ValueError, match=r"count must be 0\.\.0 of 1 or more"):
        wilson(0, 0)


@pytest.mark.parametrize(("more", "less"), [(0.01, 0.01), (0.03, 0.005), (0.2, 0.1), (0, 0)])
def test_change_holds_as_often_as_it_says(more: float, less: float) -> None:
    rng = np.random.default_rng(1)
    held, times = 0, 2000
    for _ in range(times):
        draw = rng.random(400)
        ours = (draw < more) | (draw > 0.5)
        theirs = (draw < less + more) & (draw >= more) | (draw > 0.5)
        low, high = change(int((ours & ~theirs).sum()), int((theirs & ~ours).sum()), 400)
        assert -1 <= low < high <= 1
        held += low <= more - less <= high
    assert held / times >= 0.935


def test_change_is_narrower_than_the_difference_of_two_intervals() -> None:
    """Where both are wrong on the same inputs: 3 that only one has, 23 that only the other."""
    low, high = change(3, 23, 1000)
    assert -0.033 < low < -0.02 < high < -0.005
    assert change(23, 3, 1000) == (-high, -low)
    with pytest.raises(ValueError, match=r"more and less must be 0\.\.3 together, not 2 and 2"):
        change(2, 2, 3)


def test_ratio_holds_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    held, times = 0, 1000
    for _ in range(times):
        wholes = rng.uniform(1, 3, 200)
        parts = wholes * rng.gamma(2, 0.05, 200)
        low, high = ratio(parts, wholes)
        held += low <= 0.1 <= high
    assert 0.93 <= held / times <= 0.965


def test_ratio_of_ones_is_that_of_a_mean() -> None:
    values = np.random.default_rng(3).normal(5, 2, 50)
    error = 1.959964 * values.std(ddof=1) / 50**0.5
    assert ratio(values, np.ones(50)) == pytest.approx((
        values.mean() - error,
        values.mean() + error,
    ))
