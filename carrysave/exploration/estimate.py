"""Figures of a design before it is built, from designs that were measured, with intervals.

An interval is the deviation of a Gaussian process times a factor, which conformal prediction
gives: in so many deviations lay nine tenths of the measured designs, each predicted from others.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import jobs
from carrysave.errors import ArgumentError, UsageError
from carrysave.exploration.surrogate import Surrogate, features, traits
from golden.elementary import expm1, log1p
from hw.catalog import Design
from hw.emit import user_files

__all__ = ["FEWEST", "FIGURES", "LEVEL", "Estimator", "Measured", "of_store", "shipped"]

FIGURES = (
    "area_um2",
    "area_ge",
    "period_ns",
    "period_fo4",
    "power_mw",
    "gops",
    "luts",
    "ffs",
    "dsps",
    "brams",
)
LEVEL = 0.9
"""Share of designs whose figure is in its interval."""
FEWEST = 20
"""Designs that a model needs."""
_FORMAT = 2
_SHAPE = ("design", "m", "n", "k")


@dataclass(frozen=True)
class Measured:
    """A design, and its figures of :data:`FIGURES`."""

    design: Design
    figures: Mapping[str, float]


@dataclass(frozen=True)
class _Fit:
    """What is known of a figure.

    Members
    -------
    theta : hyperparameters.
    factor : deviations of an interval, on each side.
    error : median relative error on designs that were left out.
    factor_of_shapes, error_of_shapes : the same, with all designs of a shape left out at a time;
        None if there is one shape.
    """

    theta: Sequence[float]
    factor: float
    error: float
    factor_of_shapes: float | None = None
    error_of_shapes: float | None = None

    def reach(self, known: bool) -> float:
        """Return the deviations of a design's interval, whose shape is known or not."""
        return self.factor if known else self.factor_of_shapes or self.factor


class Estimator:
    """A model of designs for a target.

    Parameters
    ----------
    target : library or family of FPGAs.
    activity : what power is for.
    versions : of what measured.
    measured : designs that it was fitted to.
    fits : of each figure.
    """

    def __init__(
        self,
        target: str,
        activity: str,
        versions: Mapping[str, str],
        measured: Sequence[Measured],
        fits: Mapping[str, _Fit],
    ) -> None:
        self.target, self.activity, self.versions = target, activity, versions
        self.measured, self.fits = measured, fits

    @classmethod
    def fit(
        cls, target: str, activity: str, versions: Mapping[str, str], measured: Sequence[Measured]
    ) -> "Estimator":
        """Fit a model of the figures that all designs have."""
        if len(measured) < FEWEST:
            raise ArgumentError(
                "{fit} needs {fewest} designs or more that were measured for {target}, not {value}",
                fewest=FEWEST,
                target=target,
                value=len(measured),
            )
        rows = [features(one.design) for one in measured]
        numbers: dict[Any, int] = {}
        shapes = [numbers.setdefault(_shape(one.design), len(numbers)) for one in measured]
        fits = {}
        for name in FIGURES:
            if not all(name in one.figures for one in measured):
                continue
            values = log1p([one.figures[name] for one in measured])
            model = Surrogate(rows, values, linear=True)
            known = model.tried(LEVEL)
            other = model.tried(LEVEL, shapes) if len(numbers) > 1 else (None, None)
            fits[name] = _Fit(model.theta, *known, *other)
        return cls(target, activity, versions, measured, fits)

    @classmethod
    def read(cls, path: Path) -> "Estimator":
        """Read what :meth:`plain` gave."""
        try:
            table = json.loads(user_files.read_text(path))
            if table["format"] != _FORMAT:
                raise UsageError(f"{path}: format must be {_FORMAT}, not {table['format']!r}")
            names, figures = table["parameters"], list(table["figures"])
            measured = []
            for name, values, results in table["rows"]:
                values_of = zip(names, values, strict=True)
                design = Design(name, {key: value for key, value in values_of if value is not None})
                numbers = map(float, results)
                measured.append(Measured(design, dict(zip(figures, numbers, strict=True))))
            fits = {name: _Fit(**table["figures"][name]) for name in table["figures"]}
            return cls(table["target"], table["activity"], table["versions"], measured, fits)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(
                f"{path}: not what `carrysave estimate --fit` writes: {error!r}"
            ) from None

    def plain(self) -> dict[str, Any]:
        """Return it as plain data: no code is in it."""
        names = list(dict.fromkeys(name for one in self.measured for name in one.design.parameters))
        return {
            "format": _FORMAT,
            "target": self.target,
            "activity": self.activity,
            "versions": dict(self.versions),
            "figures": {name: vars(fit) for name, fit in self.fits.items()},
            "parameters": names,
            "rows": [
                [
                    one.design.name,
                    [one.design.parameters.get(name) for name in names],
                    [one.figures[name] for name in self.fits],
                ]
                for one in self.measured
            ],
        }

    def text(self) -> str:
        """Return the text of a file: a line for each design."""
        plain = self.plain()
        rows = ",\n".join(map(json.dumps, plain.pop("rows")))
        return f'{json.dumps(plain)[:-1]},\n"rows": [\n{rows}\n]}}\n'

    def estimate(self, design: Design) -> dict[str, dict[str, float]]:
        """Return ``estimate low high`` of each figure of a design.

        Raises
        ------
        UsageError
            The design is not of the kind that was measured.
        """
        self._check(design)
        return self.guess([design])[0]

    def guess(self, designs: Sequence[Design]) -> list[dict[str, dict[str, float]]]:
        """Return the same of designs, of whatever kind."""
        rows = [features(one.design) for one in self.measured]
        wanted = [features(design) for design in designs]
        known = [self.has_shape(design) for design in designs]
        guesses: list[dict[str, dict[str, float]]] = [{} for _ in designs]
        for name, fit in self.fits.items():
            values = log1p([one.figures[name] for one in self.measured])
            model = Surrogate(rows, values, fit.theta, search=False, linear=True)
            mean, deviation = model.predict(wanted)
            reach = deviation * [fit.reach(one) for one in known]
            parts = (mean, mean - reach, mean + reach)
            for one, *each in zip(guesses, *parts, strict=True):
                middle, low, high = (max(float(expm1(value)), 0.0) for value in each)
                one[name] = {"estimate": middle, "low": low, "high": high}
        return guesses

    def has_shape(self, design: Design) -> bool:
        """Return whether a design of the same name, m, n and k was measured."""
        return _shape(design) in {_shape(one.design) for one in self.measured}

    def _check(self, design: Design) -> None:
        """Refuse a design unlike all that were measured."""
        measured = [traits(one.design) for one in self.measured if one.design.name == design.name]
        if not measured:
            known = dict.fromkeys(one.design.name for one in self.measured)
            raise UsageError(
                f"design must be one of {', '.join(known)}, which were measured for"
                f" {self.target}, not {design.name}"
            )
        for name, value in traits(design).items():
            seen = sorted({row[name] for row in measured if name in row})
            if isinstance(value, str | bool) or len(seen) < 2:
                inside, legal = value in seen, " or ".join(map(_plain, seen)) or "the default"
            else:
                inside, legal = seen[0] <= value <= seen[-1], f"{seen[0]}..{seen[-1]}"
            if not inside:
                what = "lanes (m x n x k)" if name == "lanes" else name
                raise UsageError(
                    f"{what} of {design.name} must be {legal}, as it was measured for"
                    f" {self.target}, not {_plain(value)}"
                )


def _shape(design: Design) -> tuple[Any, ...]:
    values = traits(design)
    return tuple(values.get(name) for name in _SHAPE)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def shipped(target: str) -> Path | None:
    """Return the model of a target that comes with carrysave, if there is one."""
    path = Path(__file__).with_name("models") / f"{target}.json"
    return path if path.is_file() else None


def of_store(path: Path | str | None, target: str) -> Estimator:
    """Fit a model to what a store has of a target.

    Of our results at several activities those are taken that are most, of a design the last.
    """
    with jobs.reading(path) as reader:
        ours = [row for row, foreign in reader.rows("design IS NOT NULL") if not foreign]
    chosen = [
        row for row in ours if row["target"] == target and row.get("area_um2", row.get("luts"))
    ]
    activities = [row.get("activity") or "" for row in chosen]
    activity = max(activities, key=activities.count, default="")
    latest: dict[str, Measured] = {}
    versions: dict[str, str] = {}
    for row in sorted(chosen, key=lambda row: row["at"]):
        if (row.get("activity") or "") != activity:
            continue
        try:
            design = Design(row["design"], json.loads(row["parameters"]))
        except (ValueError, TypeError):
            continue  # of another version
        figures = {name: float(row[name]) for name in FIGURES if row.get(name) is not None}
        latest[design.key] = Measured(design, figures)
        versions = json.loads(row["versions"])
    return Estimator.fit(target, activity, versions, list(latest.values()))
