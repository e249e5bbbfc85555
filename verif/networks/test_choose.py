"""Choices of formats, against all that there are."""

import itertools

import numpy as np
import pytest

from carrysave.precision.choose import choose


@pytest.mark.parametrize("seed", range(20))
def test_choice_is_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers, options = 5, 4
    noise = 10.0 ** rng.uniform(-8, 0, (layers, options))
    noise[rng.random(noise.shape) < 0.1] = np.inf
    noise[:, 0] = np.where(np.isinf(noise).all(axis=1), 0.1, noise[:, 0])
    costs = {kind: rng.integers(1, 100, noise.shape).astype(float) for kind in ("bytes", "cycles")}
    there = np.isfinite(noise)
    costs = {kind: np.where(there, cost, np.inf) for kind, cost in costs.items()}
    limits = {}
    for kind, cost in costs.items():
        least = np.where(there, cost, np.inf).min(axis=1).sum()
        most = np.where(there, cost, 0.0).max(axis=1).sum()
        limits[kind] = least + rng.uniform(0.2, 0.9) * (most - least)
    every = [
        (sum(noise[layer, pick] for layer, pick in enumerate(picks)), picks)
        for picks in itertools.product(range(options), repeat=layers)
        if all(
            sum(cost[layer, pick] for layer, pick in enumerate(picks)) <= limits[kind]
            for kind, cost in costs.items()
        )
    ]
    best = min((one for one in every if np.isfinite(one[0])), default=None)
    if best is None:
        with pytest.raises(ValueError, match="no choice of formats keeps all of bytes, cycles"):
            choose(noise, costs, limits)
        return
    assert tuple(choose(noise, costs, limits)) == best[1]


def test_choice_that_costs_less_wins_a_tie() -> None:
    noise = np.array([[0.0, 0.0], [1e-3, 1e-3]])
    costs = {"bytes": np.array([[8.0, 4.0], [4.0, 8.0]])}
    assert list(choose(noise, costs, {"bytes": 100.0})) == [1, 0]


def test_limit_that_nothing_keeps() -> None:
    with pytest.raises(ValueError, match="bytes must be 6 or more, not 5"):
        choose(np.ones((2, 2)), {"bytes": np.array([[3.0, 4.0], [3.0, 8.0]])}, {"bytes": 5.0})
