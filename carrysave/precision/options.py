"""Options of all layers: what a choice of one for each costs, and the best under limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.precision.choose import choose

__all__ = ["BUDGETS", "Options", "Pair", "is_split", "name_of"]

BUDGETS = {"bytes": "bytes", "cycles": "cycles", "energy": "energy_uj"}
"""Kinds of budgets, and the option's member that each limits."""

_POINTS = 7
"""Number of budgets, from smallest to largest, whose choices are shown."""

Pair = tuple[str, str]
"""Formats of A and B; or twice the name of two along K."""


def is_split(pair: Pair) -> bool:
    """Return whether a pair stands for two formats along K."""
    return "+" in pair[0]


def name_of(pair: Pair) -> str:
    """Return the name of formats, A's first, or of two along K."""
    return pair[0] if is_split(pair) else " x ".join(pair)


@dataclass(frozen=True)
class Options:
    """What each layer can be, by pairs of formats.

    Members
    -------
    table : for each layer, its options, with `noise` and the members of :data:`BUDGETS` that are
        limited; a layer may lack some pairs.
    """

    table: Sequence[Mapping[Pair, Any]]

    def matrix(self, pairs: Sequence[Pair], name: str) -> np.ndarray:
        """Return a member of options, layers x pairs; infinite where there is none."""
        return np.array([
            [getattr(options[pair], name) if pair in options else np.inf for pair in pairs]
            for options in self.table
        ])

    def most(self, pairs: Sequence[Pair], kind: str) -> float:
        """Sum the cost of each layer in its costliest pair."""
        costs = self.matrix(pairs, BUDGETS[kind])
        return float(np.where(np.isfinite(costs), costs, 0.0).max(axis=1).sum())

    def cost(self, picks: Sequence[Pair], kind: str) -> float:
        """Sum the cost of a pair for each layer; infinite if a layer lacks it."""
        return float(
            sum(
                getattr(options[pick], BUDGETS[kind]) if pick in options else np.inf
                for options, pick in zip(self.table, picks, strict=True)
            )
        )

    def alike(self, pair: Pair) -> list[Pair]:
        """Pick a pair for all layers."""
        return [pair] * len(self.table)

    def has(self, pair: Pair) -> bool:
        """Return whether all layers can be of a pair."""
        return all(pair in options for options in self.table)

    def first(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Pick, for each layer, the first pair that it has."""
        return [next(pair for pair in pairs if pair in options) for options in self.table]

    def mix(self, pairs: Sequence[Pair], limits: Mapping[str, float]) -> list[Pair]:
        """Pick a pair for each layer that minimises the total noise under all limits.

        Raises
        ------
        ValueError
            No pick keeps them.
        """
        costs = {kind: self.matrix(pairs, BUDGETS[kind]) for kind in limits}
        picks = choose(self.matrix(pairs, "noise"), costs, limits)
        return [pairs[pick] for pick in picks]

    def front(self, pairs: Sequence[Pair], kind: str) -> list[tuple[float, list[Pair]]]:
        """Pick under limits from smallest to largest; each choice once, with its limit."""
        least = float(self.matrix(pairs, BUDGETS[kind]).min(axis=1).sum())
        points: list[tuple[float, list[Pair]]] = []
        for limit in np.linspace(least, self.most(pairs, kind), _POINTS):
            picks = self.mix(pairs, {kind: float(limit) * (1 + 1e-9)})
            if all(picks != other for _, other in points):
                points.append((float(limit), picks))
        return points
