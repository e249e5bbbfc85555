"""Fronts, and how likely values are: pure functions against their definitions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from carrysave.errors import UsageError
from carrysave.exploration.front import beats, check_objectives, front, point_of, values_of
from carrysave.exploration.likelihood import negative


def test_objectives_are_known_and_each_once() -> None:
    check_objectives(["gops"])
    check_objectives(["gops", "area_um2"])
    for names, says in (
        ([], "must be one or more of gops_per_mm2, "),
        (["gops", "area"], "unknown objective 'area'"),
        (["gops", "kge", "gops"], "each figure once, not gops, kge, gops"),
    ):
        with pytest.raises(UsageError, match=says):
            check_objectives(names)


def test_less_of_an_objective_is_better() -> None:
    figures = {"gops": 3, "area_um2": 5.0, "power_mw": None, "latency": 0}
    assert values_of(figures, ["gops", "area_um2"]) == [-3.0, 5.0]
    assert values_of(figures, ["latency"]) == [0.0]
    assert values_of(figures, ["gops", "power_mw"]) is None
    assert values_of(figures, ["gops", "kge"]) is None


def test_a_point_beats_what_it_is_as_good_as_and_better_once() -> None:
    values = [[1.0, 2.0], [1.0, 3.0], [2.0, 1.0], [1.0, 2.0], [3.0, 3.0]]
    due = [
        [all(a <= b for a, b in zip(one, other, strict=True)) and one != other for other in values]
        for one in values
    ]
    assert beats(values).tolist() == due
    assert front(values) == [True, False, True, True, False]


def test_points_of_a_file_are_those_of_the_front(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    rows = [(4, False), (5, True), (6, True)]
    path.write_text(
        json.dumps({
            "points": [
                {"design": "mac", "parameters": {"a_width": width}, "front": is_front}
                for width, is_front in rows
            ]
        })
    )
    assert [point_of(path, number).parameters["a_width"] for number in (0, 1)] == [5, 6]
    for number in (-1, 2):
        with pytest.raises(UsageError, match=rf"point must be 0\.\.1, the front's, not {number}"):
            point_of(path, number)
    path.write_text("{}")
    with pytest.raises(UsageError, match="not what `carrysave explore` writes"):
        point_of(path, 0)


def likelihood(theta: np.ndarray, places: np.ndarray, values: np.ndarray, jitter: float) -> float:
    """Return it by its definition: of a normal distribution with a Matern kernel of 5/2."""
    count, axes = places.shape
    variance, *lengths = np.exp(theta[: axes + 1])
    whole = np.zeros((count, count))
    for one in range(count):
        for other in range(count):
            apart = math.sqrt(
                5
                * sum(
                    ((places[one, axis] - places[other, axis]) / lengths[axis]) ** 2
                    for axis in range(axes)
                )
            )
            whole[one, other] = variance * (1 + apart + apart**2 / 3) * math.exp(-apart)
            if one == other:
                whole[one, other] += math.exp(theta[axes + 1]) + jitter
            if len(theta) > axes + 2:
                offset = math.exp(theta[axes + 3]) ** 2
                product = float(places[one] @ places[other])
                whole[one, other] += math.exp(theta[axes + 2]) * (offset + product)
    sign, determinant = np.linalg.slogdet(whole)
    assert sign == 1
    rest = values @ np.linalg.solve(whole, values)
    return float(-rest / 2 - determinant / 2 - count / 2 * math.log(2 * math.pi))


@pytest.mark.parametrize("line", [False, True])
def test_likelihood_is_that_of_the_definition(line: bool) -> None:
    """Its gradient is that of differences."""
    rng = np.random.default_rng(4)
    places, values = rng.standard_normal((6, 3)), rng.standard_normal(6)
    for _ in range(2):
        theta = 0.5 * rng.standard_normal(7 if line else 5)
        value, gradient = negative(theta, places, values, 0.01)
        assert value == pytest.approx(-likelihood(theta, places, values, 0.01), rel=1e-10)
        for axis in range(len(theta)):
            step = np.zeros(len(theta))
            step[axis] = 1e-5
            above, below = (
                likelihood(theta + sign * step, places, values, 0.01) for sign in (1, -1)
            )
            assert gradient[axis] == pytest.approx((below - above) / 2e-5, rel=1e-6, abs=1e-8)


def test_what_is_no_distribution_is_not_likely() -> None:
    value, gradient = negative(np.full(3, -99.0), np.zeros((2, 1)), np.ones(2), -1.0)
    assert value == math.inf
    assert gradient.tolist() == [0.0] * 3
