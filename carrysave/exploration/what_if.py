"""A model of designs as plain data, from which a page computes what it says of any design."""

from collections.abc import Mapping
from typing import Any

from carrysave.exploration.estimate import LEVEL, Estimator
from carrysave.exploration.surrogate import traits
from golden.check import Choice, Flag, Integer, Parameter
from hw.catalog import CATALOG

__all__ = ["facts"]

_COMPUTED = ("design", "lanes")
"""Traits that are no parameters."""


def facts(model: Estimator, start: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what ``what_if.js`` of pages needs to say what :meth:`Estimator.estimate` says.

    Parameters
    ----------
    model : of designs whose ``lanes`` are the product of their parameters m, n and k; others are
        left out of what can be chosen, not of the model.
    start : ``design parameters`` to begin with, if the model knows such.

    Returns
    -------
    ``target activity level names rows figures designs start``: of each measured design its traits,
    by `names`, None where it has none; of each figure its values and what was fitted; of each
    design its parameters, with what is legal.
    """
    table = [traits(one.design) for one in model.measured]
    names = list(dict.fromkeys(name for row in table for name in row))
    designs: dict[str, list[dict[str, Any]]] = {}
    for name in dict.fromkeys(row["design"] for row in table):
        rows = [row for row in table if row["design"] == name]
        if name in CATALOG and all(row["lanes"] == _product(row) for row in rows):
            designs[name] = _parameters(name, rows)
    first = next(iter(designs), None)
    known = start is not None and start["design"] in designs
    return {
        "target": model.target,
        "activity": model.activity,
        "level": LEVEL,
        "names": names,
        "rows": [[row.get(name) for name in names] for row in table],
        "figures": {
            name: {**vars(fit), "values": [one.figures[name] for one in model.measured]}
            for name, fit in model.fits.items()
        },
        "designs": designs,
        "start": start if known else {"design": first, "parameters": {}},
    }


def _product(row: Mapping[str, Any]) -> int:
    product: int = row.get("m", 1) * row.get("n", 1) * row.get("k", 1)
    return product


def _parameters(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parameters of a design that a model looks at; those that vary come first."""
    kinds = CATALOG[name].parameters
    known = [key for key in kinds if any(key in row for row in rows)]
    described = [
        _parameter(key, kinds[key], [row[key] for row in rows if key in row]) for key in known
    ]
    return sorted(described, key=lambda one: len(one["seen"]) < 2)


def _parameter(name: str, kind: Parameter, values: list[Any]) -> dict[str, Any]:
    """Describe a parameter: its values so far, those that are legal, and one to begin with."""
    seen = sorted(set(values))
    described = {
        "name": name,
        "doc": kind.doc,
        "legal": kind.legal,
        "seen": seen,
        "default": kind.default if kind.default in seen else seen[len(seen) // 2],
    }
    match kind:
        case Integer():
            return {**described, "low": kind.low, "high": kind.high}
        case Choice():
            return {**described, "choices": list(kind.options)}
        case Flag():
            return {**described, "choices": [False, True]}
    return {**described, "choices": seen}
