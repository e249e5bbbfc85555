"""Which point to try next: all in order, at random, or by what the tried ones show."""

import itertools
import math
import random
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from carrysave.errors import needs
from carrysave.exploration.space import Point
from carrysave.exploration.surrogate import Surrogate, features, quantile
from golden.elementary import log1p

if TYPE_CHECKING:
    import optuna

__all__ = ["METHODS", "Search", "search"]

METHODS = ("model", "tpe", "nsga2", "random", "grid")


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

    @property
    def hopeless(self) -> int:
        """How many points are left that are not worth a measurement, as it seems."""
        return 0

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
        choices = self.places[number]
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
                    params=choices,
                    values=list(values) if values else None,
                    state=state,
                    distributions={name: self.kinds[name] for name in choices},
                    system_attrs=marks,
                )
            )

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
            if isinstance(self.kinds[name], optuna.distributions.IntDistribution)
            else value
            for name, value in values.items()
        }

    def _apart(self, number: int, wanted: dict[str, Any]) -> float:
        """Return how much a point differs from what is wanted: 1 for each axis at most."""
        total = 0.0
        for name, value in self.places[number].items():
            other = wanted[name]
            if isinstance(value, int) and not isinstance(value, bool):
                total += abs(value - other) / max(len(self.axes[name]) - 1, 1)
            else:
                total += value != other
        return total


class Modelled(Search):
    """Proposes by a model of each objective, fitted to what was measured.

    First come points at random, of each design as many. Then, of the points left, the one that
    adds the most to the volume that the front dominates, if all objectives are as good as may be.

    Parameters
    ----------
    skip : propose no point that a measured one beats even if all is as good as its interval allows.
    """

    FIRST = 10
    OPTIMISM = 1.0  # deviations
    LEVEL = 0.95  # of the intervals

    def __init__(self, points: Sequence[Point], seed: int, *, skip: bool = True) -> None:
        super().__init__(points, seed)
        self.skip = skip
        self.rows = [features(point.design) for point in points]
        self.costs: dict[int, list[float]] = {}
        self.ruled_out = False
        by_design: dict[str, list[int]] = {}
        for number in self.rng.sample(range(len(points)), len(points)):
            by_design.setdefault(points[number].design.name, []).append(number)
        turns = itertools.zip_longest(*by_design.values())
        self.first = [number for turn in turns for number in turn if number is not None]
        del self.first[self.FIRST :]

    @property
    def hopeless(self) -> int:
        """How many points are left, none of which is worth a measurement."""
        return len(self.left) if self.ruled_out else 0

    def tell(self, number: int, values: Sequence[float] | None) -> None:
        """Keep the logarithms of objectives: sizes multiply them."""
        super().tell(number, values)
        if values is not None:
            self.costs[number] = [math.copysign(float(log1p(abs(one))), one) for one in values]

    def ask(self, count: int) -> list[int]:
        """Propose points; each next one of a batch as if the model were right on those before."""
        self.first = [number for number in self.first if number in self.left]
        if self.first or not self.left or len(self.costs) < 3:
            chosen, self.first = self.first[:count], self.first[count:]
            for number in chosen:
                del self.left[number]
            return chosen or super().ask(count)
        chosen = self._promising(count)
        for number in chosen:
            del self.left[number]
        self.ruled_out = not chosen
        return chosen

    def _promising(self, count: int) -> list[int]:
        import moocore

        seen = np.array(list(self.costs.values()))
        left = np.array(list(self.left))
        rows = [self.rows[number] for number in left]
        models = [Surrogate([self.rows[number] for number in self.costs], one) for one in seen.T]
        mean, deviation = np.stack([one.predict(rows) for one in models], axis=2)
        bound = mean - self.OPTIMISM * deviation
        able = np.ones(len(left), bool)
        if self.skip:
            reach = np.array([quantile(one.left_out(), self.LEVEL) for one in models])
            low = mean - reach * deviation
            able = ~(seen[:, None] <= low).all(axis=2).any(axis=0)
        # The volume is that below a point which is worse than all.
        worst = np.maximum(seen.max(axis=0), mean.max(axis=0))
        worst += 0.1 * (worst - np.minimum(seen.min(axis=0), bound.min(axis=0)))
        known = seen
        chosen: list[int] = []
        while able.any() and len(chosen) < count:
            places = np.flatnonzero(able)
            places = places[moocore.is_nondominated(bound[places])]
            volumes = [
                moocore.hypervolume(np.vstack([known, bound[index]]), ref=worst) for index in places
            ]
            index = places[int(np.argmax(volumes))]
            able[index] = False
            known = np.vstack([known, mean[index]])
            chosen.append(int(left[index]))
        return chosen


def search(
    method: str,
    points: Sequence[Point],
    seed: int,
    objectives: int,
    trials: int,
    *,
    skip: bool = True,
) -> Search:
    """Return the search of a method of :data:`METHODS`, for a number of objectives and trials.

    Parameters
    ----------
    skip : with a model, propose no hopeless points; the search may then end early.
    """
    if method in {"random", "grid"}:
        return Search(points, seed, ordered=method == "grid")
    if method == "model":
        needs("sklearn", "moocore")
        return Modelled(points, seed, skip=skip)
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
