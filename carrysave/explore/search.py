"""Which point to try next: all in order, at random, or by what the tried ones show."""

import random
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from carrysave.errors import needs
from carrysave.explore.space import Point

if TYPE_CHECKING:
    import optuna

__all__ = ["METHODS", "Search", "search"]

METHODS = ("tpe", "nsga2", "random", "grid")


class Search:
    """Proposes points of a list, each once: here in the order of the list, or a random one.

    Parameters
    ----------
    points : legal ones.
    seed : of what is drawn.
    """

    def __init__(self, points: Sequence[Point], seed: int, *, ordered: bool = False) -> None:
        self.points = points
        self.left = dict.fromkeys(range(len(points)))
        self.rng = random.Random(seed)
        self.ordered = ordered

    def tell(self, number: int, values: Sequence[float] | None) -> None:
        """Take what is known of a point: its objectives, less being better; None: no good."""
        self.left.pop(number, None)

    def ask(self, count: int) -> list[int]:
        """Propose points that were not proposed before; fewer if no more are left."""
        chosen = list(self.left)
        if not self.ordered:
            self.rng.shuffle(chosen)
        for number in chosen[:count]:
            del self.left[number]
        return chosen[:count]


class Sampled(Search):
    """Proposes by a sampler of Optuna's.

    A sampler knows nothing of constraints between parameters: in place of what it proposes comes
    the legal point that was not tried and differs the least from it.
    """

    def __init__(
        self, points: Sequence[Point], seed: int, sampler: "optuna.samplers.BaseSampler", count: int
    ) -> None:
        import optuna

        super().__init__(points, seed)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = optuna.create_study(directions=["minimize"] * count, sampler=sampler)
        self.axes: dict[str, list[Any]] = {"design": []}
        for point in points:
            for name, value in {"design": point.design.name, **point.values}.items():
                axis = self.axes.setdefault(name, [])
                if value not in axis:
                    axis.append(value)
        self.kinds: dict[str, Any] = {}
        for name, values in self.axes.items():
            if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
                values.sort()
                # Places of values, which may be 1, 2, 4, 8.
                self.kinds[name] = optuna.distributions.IntDistribution(0, len(values) - 1)
            else:
                self.kinds[name] = optuna.distributions.CategoricalDistribution(values)
        self.places = [self._places(point) for point in points]
        self.asked: dict[int, optuna.Trial] = {}

    def tell(self, number: int, values: Sequence[float] | None) -> None:
        """Add a trial of the point itself, whatever was proposed."""
        import optuna

        super().tell(number, values)
        place = self.places[number]
        trial = self.asked.pop(number, None)
        marks = {}
        if trial is not None:
            # Evolution marks what it proposes with a generation.
            marks = self.study.get_trials(deepcopy=False)[trial.number].system_attrs
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        state = optuna.trial.TrialState.COMPLETE if values else optuna.trial.TrialState.FAIL
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self.study.add_trial(
                optuna.trial.create_trial(
                    params=place, values=list(values) if values else None, state=state,
                    distributions={name: self.kinds[name] for name in place},
                    system_attrs=marks,
                )
            )  # fmt: skip

    def ask(self, count: int) -> list[int]:
        """Propose the nearest points to the sampler's."""
        chosen: list[int] = []
        while self.left and len(chosen) < count:
            trial = self.study.ask(self.kinds)
            number = min(self.left, key=lambda one: (self._apart(one, trial.params), one))
            del self.left[number]
            self.asked[number] = trial
            chosen.append(number)
        return chosen

    def _places(self, point: Point) -> dict[str, Any]:
        import optuna

        values = {"design": point.design.name, **point.values}
        return {
            name: self.axes[name].index(value)
            if isinstance(self.kinds[name], optuna.distributions.IntDistribution) else value
            for name, value in values.items()
        }  # fmt: skip

    def _apart(self, number: int, wanted: dict[str, Any]) -> float:
        """Return how much a point differs from what is wanted: 1 for each axis at most."""
        total = 0.0
        for name, place in self.places[number].items():
            other = wanted[name]
            if isinstance(place, int) and not isinstance(place, bool):
                total += abs(place - other) / max(len(self.axes[name]) - 1, 1)
            else:
                total += place != other
        return total


def search(method: str, points: Sequence[Point], seed: int, objectives: int, trials: int) -> Search:
    """Return the search of a method of :data:`METHODS`, for a number of objectives and trials."""
    if method in {"random", "grid"}:
        return Search(points, seed, ordered=method == "grid")
    needs("optuna")
    import optuna

    sampler: optuna.samplers.BaseSampler
    if method == "tpe":
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=10)
    else:
        # Eight generations.
        size = min(max(trials // 8, 4), 50)
        sampler = optuna.samplers.NSGAIISampler(seed=seed, population_size=size)
    return Sampled(points, seed, sampler, objectives)
