"""Functional coverage of many runs as one: what some run has seen, and what none has."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hw.catalog import Design

__all__ = ["merge", "of_parameters"]


def merge(runs: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Merge coverages, as benches describe them, by design, title, and cross of points.

    A combination that one configuration allows, and another does not, is a hole if no run saw it.

    Parameters
    ----------
    runs : a design's name and a coverage, of each run; ``title``, and ``crosses``, each with its
        ``points``, ``hits`` (bins and a count) and ``holes`` (bins).

    Returns
    -------
    ``design title points seen legal holes hits`` of each cross.
    """
    hits: dict[tuple[str, str, tuple[str, ...]], Counter[tuple[str, ...]]] = {}
    holes: dict[tuple[str, str, tuple[str, ...]], set[tuple[str, ...]]] = {}
    for design, coverage in runs:
        for cross in coverage["crosses"]:
            key = design, coverage["title"], tuple(cross["points"])
            seen = hits.setdefault(key, Counter())
            for *bins, count in cross["hits"]:
                seen[tuple(bins)] += count
            holes.setdefault(key, set()).update(map(tuple, cross["holes"]))
    return [
        {
            "design": key[0],
            "title": key[1],
            "points": [*key[2]],
            "seen": len(seen),
            "legal": len(seen.keys() | holes[key]),
            "holes": sorted([*bins] for bins in holes[key] - seen.keys()),
            "hits": [[*bins, count] for bins, count in sorted(seen.items())],
        }
        for key, seen in hits.items()
    ]


def of_parameters(design: Design, values: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Describe which values of its parameters a design has, of those that are tried in pairs."""
    every = [(name, value) for name in values for value in values[name]]
    seen = [(name, value) for name, value in every if design.parameters[name] == value]
    cross = {
        "points": ["parameter", "value"],
        "hits": [[name, str(value), 1] for name, value in seen],
        "holes": [[name, str(value)] for name, value in every if (name, value) not in seen],
    }
    return {"title": "Configurations", "crosses": [cross]}
