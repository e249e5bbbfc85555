"""What a figure of a design will be, from designs that were measured: a Gaussian process."""

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.errors import needs
from golden.elementary import expm1, log, log1p
from hw.catalog import Design

__all__ = ["Surrogate", "features", "quantile", "traits"]

Floats = NDArray[np.float64]
_STEPS = 15
_JITTER = 1e-10
_FOLDS, _GROUP_FOLDS = 5, 10
Features = Mapping[str, float | str]


def traits(design: Design) -> dict[str, Any]:
    """Return what figures may depend on: what its key says, and ``lanes``, m x n x k."""
    sizes = (getattr(design.spec, name, 1) for name in ("m", "n", "k"))
    lanes = math.prod(size for size in sizes if isinstance(size, int))
    return {**json.loads(design.key), "lanes": lanes}


def features(design: Design) -> dict[str, float | str]:
    """Return the traits of a design as a model takes them: numbers as logarithms."""
    return {
        name: value if isinstance(value, str) else _logarithm(value)
        for name, value in traits(design).items()
    }


@cache
def _logarithm(value: float) -> float:
    """Return log2 of 1 + value; a space has few values, many times."""
    return float(log1p(value) / log(2))


class Surrogate:
    """A Gaussian process over designs.

    Parameters
    ----------
    rows : of :func:`features`.
    values : a number of each; logarithms, if it is a figure that sizes multiply.
    theta : hyperparameters.
    search : look for better ones.
    linear : values go on in a straight line where no design was measured, as logarithms of areas
        do with those of sizes; else they fall back to the mean of all.
    """

    def __init__(
        self,
        rows: Sequence[Features],
        values: Sequence[float] | Floats,
        theta: Sequence[float] | None = None,
        *,
        search: bool = True,
        linear: bool = False,
    ) -> None:
        needs("sklearn")
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import (
            ConstantKernel,
            DotProduct,
            Matern,
            WhiteKernel,
        )
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from threadpoolctl import threadpool_limits

        self._rows, self._values, self._linear = list(rows), np.asarray(values, float), linear
        self._scale = make_pipeline(DictVectorizer(sparse=False), StandardScaler())
        places = self._scale.fit_transform(self._rows)
        kernel = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(
            np.full(places.shape[1], 3.0), (0.3, 100.0), nu=2.5
        ) + WhiteKernel(1e-2, (1e-6, 1.0))
        if linear:
            kernel += ConstantKernel(1.0, (1e-3, 1e3)) * DotProduct(1.0, (1e-2, 1e2))
        if theta is not None:
            kernel = kernel.clone_with_theta(theta)

        def best(_: object, start: Floats, bounds: Floats) -> tuple[Floats, float]:
            return _search(places, self._values, start, bounds)

        self._process = GaussianProcessRegressor(
            kernel, alpha=_JITTER, normalize_y=True, optimizer=best if search else None
        )
        # Threads on small matrices wait for each other.
        with warnings.catch_warnings(), threadpool_limits(1):
            # A parameter that does not matter has a length at its limit.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._process.fit(places, self._values)

    @property
    def theta(self) -> list[float]:
        """The hyperparameters."""
        return [float(one) for one in self._process.kernel_.theta]

    def predict(self, rows: Sequence[Features]) -> tuple[Floats, Floats]:
        """Return the expected values of designs, and the process's deviations."""
        mean, deviation = self._process.predict(self._scale.transform(rows), return_std=True)
        return mean, deviation

    def left_out(self) -> Floats:
        """Return what each value deviates from what the others say, in the process's deviations.

        A closed form (Rasmussen and Williams, 5.4.2) with the hyperparameters of all values, so it
        is fast, and somewhat too small.
        """
        precision = np.square(np.linalg.inv(self._process.L_)).sum(axis=0)
        scores: Floats = np.abs(self._process.alpha_.reshape(-1)) / np.sqrt(precision)
        return scores

    def tried(self, level: float, groups: Sequence[int] | None = None) -> tuple[float, float]:
        """Predict its own designs, each by a process that did not see its group.

        Parameters
        ----------
        level : share of designs that an interval is to hold.
        groups : 0 and up, of each design; by default each is a group by itself.

        Returns
        -------
        tuple
            Deviations that an interval has on each side, and the median relative error.
        """
        mean, deviation = self._crossed(groups)
        true = expm1(self._values)
        errors = np.abs(expm1(mean) - true) / np.where(true > 0, true, 1.0)
        scores = np.abs(mean - self._values) / deviation
        return quantile(scores, level), float(np.median(errors))

    def _crossed(self, groups: Sequence[int] | None) -> tuple[Floats, Floats]:
        group_of = np.arange(len(self._values)) if groups is None else np.asarray(groups)
        folds = min(_FOLDS if groups is None else _GROUP_FOLDS, int(group_of.max()) + 1)
        part = (np.random.default_rng(1).permutation(group_of.max() + 1) % folds)[group_of]
        mean, deviation = np.empty((2, len(group_of)))
        for fold in range(folds):
            inside, outside = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
            rows = [self._rows[one] for one in inside]
            other = Surrogate(rows, self._values[inside], linear=self._linear)
            predicted = other.predict([self._rows[one] for one in outside])
            mean[outside], deviation[outside] = predicted
        return mean, deviation


def _search(places: Floats, values: Floats, start: Floats, bounds: Floats) -> tuple[Floats, float]:
    """Find hyperparameters; the last of many steps change lengths that do not matter."""
    from scipy.optimize import minimize

    from carrysave.exploration.likelihood import negative

    normal = (values - values.mean()) / (values.std() or 1.0)
    optimum = minimize(
        negative,
        start,
        args=(places, normal, _JITTER),
        method="L-BFGS-B",
        jac=True,
        bounds=bounds,
        options={"maxiter": _STEPS},
    )
    return optimum.x, float(optimum.fun)


def quantile(scores: Floats, level: float) -> float:
    """Return what a share of scores, and of one that is not known yet, is below: conformal."""
    rank = math.ceil((len(scores) + 1) * level)
    return float(np.sort(scores)[min(rank, len(scores)) - 1])
