"""What is better than what, by several objectives."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.errors import ArgumentError, UsageError
from hw.catalog import Design
from hw.emit import user_files
from hw.unknown import nearest

__all__ = [
    "CELLS",
    "DEVICES",
    "GENERIC",
    "MAPPED",
    "OBJECTIVES",
    "beats",
    "check_objectives",
    "compare",
    "front",
    "less_of",
    "point_of",
    "values_of",
]

OBJECTIVES = {
    "gops_per_mm2": -1, "gops": -1, "gops_per_w": -1, "fmax_mhz": -1, "gops_per_1000_luts": -1,
    "gops_per_dsp": -1, "operations_per_fo4_kge": -1, "area_um2": 1, "kge": 1, "period_ns": 1,
    "power_mw": 1, "pj_per_mac": 1, "luts": 1, "ffs": 1, "dsps": 1, "brams": 1, "latency": 1,
}  # fmt: skip
"""Figure -> 1 if less of it is better, -1 if more is."""
CELLS = (
    "gops_per_mm2",
    "gops_per_w",
    "operations_per_fo4_kge",
    "area_um2",
    "kge",
    "power_mw",
    "pj_per_mac",
)
"""Figures that only libraries of cells have."""
DEVICES = ("gops_per_1000_luts", "gops_per_dsp", "luts", "ffs", "dsps", "brams")
"""Figures that only FPGAs have."""
MAPPED = ("luts", "ffs", "dsps", "brams", "latency")
"""Figures of FPGAs that need no place and route."""
GENERIC = ("operations_per_fo4_kge", "kge", "latency")
"""Figures of the generic library, which knows gates and FO4 alone."""


def check_objectives(names: Sequence[str]) -> None:
    """Refuse an unknown figure, one that is given twice, and none at all."""
    if not names:
        raise ArgumentError(
            "{objective} must be one or more of {legal}", legal=", ".join(OBJECTIVES)
        )
    for name in names:
        if name not in OBJECTIVES:
            raise UsageError(str(nearest(name, OBJECTIVES, "objective")))
    if len(set(names)) < len(names):
        raise ArgumentError(
            "{objective} must name each figure once, not {value}", value=", ".join(names)
        )


def values_of(figures: Mapping[str, Any], objectives: Sequence[str]) -> list[float] | None:
    """Return the objectives, less being better; None if a figure is not known."""
    values = [figures[name] for name in objectives if figures.get(name) is not None]
    if len(values) < len(objectives):
        return None
    return [OBJECTIVES[name] * float(value) for name, value in zip(objectives, values, strict=True)]


def point_of(path: Path, number: int) -> Design:
    """Return a design of the front of a search, from the JSON that it wrote.

    Raises
    ------
    UsageError
        The file is no such JSON, or the front has no point of this number.
    """
    try:
        points = json.loads(user_files.read_text(path))["points"]
        chosen = [row for row in points if row["front"]]
        designs = [(str(row["design"]), dict(row["parameters"])) for row in chosen]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{path}: not what `carrysave explore` writes: {error!r}") from None
    if not 0 <= number < len(designs):
        raise ArgumentError(
            "{point} must be 0..{value}, the front's, not {number}",
            value=len(designs) - 1,
            number=number,
        )
    return Design(*designs[number])


def beats(values: Sequence[Sequence[float]]) -> np.ndarray:
    """Return which point dominates which: is as good in all, and better in one.

    Returns
    -------
    bool, points x points: whether that of the row dominates that of the column.
    """
    table = np.asarray(values, float)
    no_worse = (table[:, None] <= table[None]).all(axis=2)
    better = (table[:, None] < table[None]).any(axis=2)
    return np.asarray(no_worse & better)


def front(values: Sequence[Sequence[float]]) -> list[bool]:
    """Return which points no other dominates; of equal points all are in the front."""
    return [not any(marks) for marks in beats(values).T]


def less_of(row: Mapping[str, Any], objectives: Sequence[str]) -> list[float]:
    """Return the objectives, all of which are known, less being better."""
    values = values_of(row, objectives)
    assert values is not None
    return values


def compare(rows: Sequence[dict[str, Any]], objectives: Sequence[str]) -> None:
    """Tell each point which of the front beat it, by their numbers in the front."""
    able = [row for row in rows if row["allowed"] and row["verified"] is not False]
    if not able:
        return
    table = beats([less_of(row, objectives) for row in able])
    count = sum(row["front"] for row in able)  # which are the first
    for row, marks in zip(able, table[:count].T, strict=True):
        row["beaten_by"] = [number for number, mark in enumerate(marks) if mark]
