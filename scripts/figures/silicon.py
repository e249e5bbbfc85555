"""Designs on a cell library, mapped and placed: each beside its twin, and arrays as they grow."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from carrysave import jobs
from carrysave.asic.design_job import design_job
from carrysave.asic.liberty.cells import Library
from hw.catalog import Design

__all__ = [
    "GROWN",
    "PAIRS",
    "QUALITY",
    "SIDES",
    "designs",
    "is_array",
    "measure_grown",
    "measure_pairs",
]

# A design and the twin that it is measured against, in the same run and under the same flow.
PAIRS = [
    (Design("opt1"), Design("mac")),
    (Design("opt1", {"pipeline": 1}), Design("mac", {"pipeline": 1})),
    (Design("systolic_os"), Design("systolic_os", {"pe": "mac"})),
    (Design("systolic_ws"), Design("systolic_ws", {"pe": "mac"})),
    (Design("matrix_2d"), Design("matrix_2d", {"pe": "mac"})),
    (Design("cube"), Design("cube", {"pe": "mac"})),
    (Design("adder_tree"), Design("adder_tree", {"pe": "mac"})),
    (Design("adder_tree", {"pe": "opt2"}), Design("adder_tree", {"pe": "mac"})),
    (Design("digit_column", {"m": 1, "n": 16, "pe": "opt4c"}), Design("laconic", {"k": 1})),
]
SIDES = (2, 4, 8, 16)

_FIGURES = {
    "um2": ("area_um2", "{:,.0f}"),
    "ns": ("period_ns", "{:.3f}"),
    "pJ": ("pj_per_mac", "{:.2f}"),
    "GOPS/mm2": ("gops_per_mm2", "{:.1f}"),
}
"""Columns of each tier: key of a result, and of what it has under ``placed``."""
_TIERS = ("mapped", "placed")


def _columns(figures: Sequence[str]) -> dict[str, str]:
    return {f"{tier}, {name}": _FIGURES[name][1] for name in figures for tier in _TIERS}


_RATIOS = {f"{tier}, ratio": "{:.2f}" for tier in _TIERS}
QUALITY = {"module": "{}", **_columns(tuple(_FIGURES)), **_RATIOS, "points": "{}"}
GROWN = {"array": "{}", **_columns(("ns", "um2", "pJ")), "wire, m": "{:.3f}", "cells take": "{}"}


def designs() -> tuple[Design, ...]:
    """Return the designs of all pairs, each once."""
    return tuple(dict.fromkeys(design for pair in PAIRS for design in pair))


def is_array(design: Design) -> bool:
    """Whether a design is of many elements: its search is brief."""
    return design.entry.stage == "tpe"


Keep = Callable[[list[dict[str, Any]]], None]
"""Called with all rows after each: the largest take long."""


def _figures(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of both tiers of a result."""
    return {
        f"{tier}, {name}": of[key]
        for name, (key, _) in _FIGURES.items()
        for tier, of in zip(_TIERS, (facts, facts["placed"]), strict=True)
    }


def measure_pairs(
    pairs: Sequence[tuple[Design, Design]],
    library: Library,
    keep: Keep,
    *,
    quick: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Synthesise and place every design and its twin; ratios are of GOPS/mm2.

    Parameters
    ----------
    quick : pairs, by the module of the first, of which one recipe each is run. Of all others both
        are searched alike, arrays briefly, and the best few of each are placed, of arrays the best.
    """
    rows: list[dict[str, Any]] = []
    measured = _results(
        [(design, pair[0].module not in quick) for pair in pairs for design in pair], library
    )
    for _ in pairs:
        results = [next(measured), next(measured)]
        figures = [_figures(result) for result in results]
        for result, each in zip(results, figures, strict=True):
            ratios = {
                f"{tier}, ratio": each[f"{tier}, GOPS/mm2"] / figures[1][f"{tier}, GOPS/mm2"]
                for tier in _TIERS
            }
            rows.append({
                "module": result["module"],
                **each,
                **ratios,
                "points": len(result["sweep"]),
                **{key: result[key] for key in ("recipe", "hierarchy_mode", "versions")},
            })
        keep(rows)
    return rows


def measure_grown(sides: Sequence[int], library: Library, keep: Keep) -> list[dict[str, Any]]:
    """Synthesise and place square arrays, one recipe each."""
    rows: list[dict[str, Any]] = []
    arrays = [(Design("systolic_os", {"m": side, "n": side}), False) for side in sides]
    for side, result in zip(sides, _results(arrays, library), strict=True):
        placed = result["placed"]
        rows.append({
            "array": f"{side} x {side}",
            **_figures(result),
            "wire, m": placed["wire_um"] * 1e-6,
            "cells take": f"{placed['utilisation']:.0%}",
            "recipe": result["recipe"],
            "versions": result["versions"],
        })
        keep(rows)
    return rows


def _results(wanted: Sequence[tuple[Design, bool]], library: Library) -> Iterator[dict[str, Any]]:
    """Yield what was found of each design, in their order; what was done before is not again.

    Parameters
    ----------
    wanted : each with whether it is searched.
    """
    runs = [
        design_job(design, library, sweep=sweep, brief=sweep and is_array(design), place=True)
        for design, sweep in wanted
    ]
    for outcome in jobs.run(runs, ordered=True):
        yield outcome.get()
