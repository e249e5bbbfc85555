"""What the designs of a search that were not measured may be: its objectives, with intervals."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from carrysave.errors import installed
from carrysave.exploration.front import OBJECTIVES
from carrysave.exploration.space import Point
from carrysave.exploration.surrogate import Surrogate, features
from golden.elementary import expm1, log1p

__all__ = ["FEWEST", "LEVEL", "estimated"]

LEVEL = 0.9
"""Share of designs whose figure is in its interval."""
FEWEST = 10
"""Measured designs that estimates need."""
_LOOKED, _SHOWN = 2000, 100
"""Designs that are estimated, of more by chance; and that are shown, the most promising."""


def estimated(
    points: Sequence[Point],
    measured: Mapping[int, Mapping[str, Any]],
    objectives: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """Estimate what was not measured, by a model of each objective over what was.

    Intervals are by conformal prediction: each measured design was predicted from others.

    Parameters
    ----------
    points : all of a space.
    measured : rows of those that were measured, by number; without an error, with all objectives.
    seed : of what is drawn if there are many.

    Returns
    -------
    ``level left points``; of each point ``design module parameters values figures beaten``: of each
    objective ``estimate low high``, and by how many of all its estimates are beaten. There are none
    if fewer than :data:`FEWEST` designs were measured.
    """
    left = [number for number in range(len(points)) if number not in measured]
    known = [number for number, row in measured.items() if row["error"] is None]
    result: dict[str, Any] = {"level": LEVEL, "left": len(left), "points": []}
    if not left or len(known) < FEWEST or not installed("sklearn"):
        return result
    if len(left) > _LOOKED:
        left = sorted(random.Random(seed).sample(left, _LOOKED))
    rows = [features(points[number].design) for number in known]
    wanted = [features(points[number].design) for number in left]
    figures = {}
    for name in objectives:
        model = Surrogate(rows, log1p([float(measured[number][name]) for number in known]))
        mean, deviation = model.predict(wanted)
        reach = model.tried(LEVEL)[0] * deviation
        figures[name] = np.maximum(expm1(np.stack([mean, mean - reach, mean + reach])), 0.0)
    beaten = _beaten(
        np.stack([OBJECTIVES[name] * figures[name][0] for name in objectives], axis=1),
        np.array([
            [OBJECTIVES[name] * measured[one][name] for name in objectives] for one in known
        ]),
    )
    result["points"] = [
        {
            "design": points[left[place]].design.name,
            "module": points[left[place]].design.module,
            "parameters": dict(points[left[place]].design.parameters),
            "values": dict(points[left[place]].values),
            "figures": {
                name: dict(zip(("estimate", "low", "high"), map(float, one[:, place]), strict=True))
                for name, one in figures.items()
            },
            "beaten": int(beaten[place]),
        }
        for place in np.argsort(beaten, kind="stable")[:_SHOWN]
    ]
    return result


def _beaten(costs: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return for each point how many of all, measured or not, are as good and better in one."""
    every = np.concatenate([costs, known])
    return np.array([
        int(((every <= one).all(axis=1) & (every < one).any(axis=1)).sum()) for one in costs
    ])
