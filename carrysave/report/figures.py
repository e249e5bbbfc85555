"""What a synthesis found as figures and tables: the same on terminals, in pages and pictures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from carrysave.report.tables import Section

__all__ = [
    "FIGURES", "NO_RATIO", "Figure", "Measures", "figures", "measures", "path_table",
    "ratio", "ratios_to_first", "short_versions", "sweep_table", "tried_table", "variant_of",
]  # fmt: skip


class Figure(NamedTuple):
    """A figure of a result: its name, indented if it is part of the last; its key; how it is shown.

    ``better`` is as of :class:`carrysave.report.tables.Column`.
    """

    name: str
    key: str
    form: str
    better: str = ""


FIGURES = (
    Figure("area", "area_um2", "{:,.0f} um2", "less"),
    Figure("  sequential", "area_sequential_um2", "{:,.0f} um2"),
    Figure("  combinational", "area_combinational_um2", "{:,.0f} um2"),
    Figure("area", "area_ge", "{:,.0f} GE", "less"),
    Figure("  sequential", "area_sequential_ge", "{:,.0f} GE"),
    Figure("  combinational", "area_combinational_ge", "{:,.0f} GE"),
    Figure("cells", "cells", "{:,}"),
    Figure("minimum period", "period_ns", "{:.3f} ns", "less"),
    Figure("minimum period", "period_fo4", "{:.2f} FO4", "less"),
    Figure("fmax", "fmax_mhz", "{:,.0f} MHz", "more"),
    Figure("  best seed", "fmax_best_mhz", "{:,.0f} MHz"),
    Figure("fmax of logic alone", "fmax_logic_mhz", "{:,.0f} MHz"),
    Figure("power", "power_mw", "{:,.2f} mW", "less"),
    Figure("energy per MAC", "pj_per_mac", "{:,.2f} pJ", "less"),
    Figure("pins annotated", "annotated", "{:.1%}"),
    Figure("glitches", "glitches", "{:.0%} of transitions"),
    Figure("LUTs", "luts", "{:,}", "less"),
    Figure("flip-flops", "ffs", "{:,}", "less"),
    Figure("DSPs", "dsps", "{:,}", "less"),
    Figure("block RAMs", "brams", "{:,}", "less"),
    Figure("carry cells", "carry", "{:,}"),
    Figure("blocks", "blocks", "{}"),
    Figure("device", "device", "{}"),
    Figure("speed", "gops", "{:,.2f} GOPS", "more"),
    Figure("  for 1,000 LUTs", "gops_per_1000_luts", "{:,.2f} GOPS", "more"),
    Figure("  for a DSP", "gops_per_dsp", "{:,.3f} GOPS", "more"),
    Figure("area efficiency", "gops_per_mm2", "{:,.1f} GOPS/mm2", "more"),
    Figure("speed", "operations_per_fo4", "{:,.3f} a FO4", "more"),
    Figure("area efficiency", "operations_per_fo4_kge", "{:,.4f} a FO4 and kGE", "more"),
    Figure("energy efficiency", "gops_per_w", "{:,.0f} GOPS/W", "more"),
    Figure("recipe", "recipe", "{}"),
    Figure("hierarchy", "hierarchy_mode", "{}"),
    Figure("points tried", "tried", "{}"),
)


NO_RATIO = ("annotated", "glitches", "tried")
"""Numbers that say nothing of a design when compared."""


def figures(results: Sequence[dict[str, Any]]) -> Iterator[tuple[Figure, list[Any]]]:
    """Yield the figures that any of some results has, each with a value of every result."""
    for figure in FIGURES:
        values = [result.get(figure.key) for result in results]
        if figure.key == "tried":
            values = [sum(row["points"] for row in value or ()) or None for value in values]
        if isinstance(next(iter(filter(None, values)), None), dict):
            values = [_counts(value or {}) for value in values]
        if any(value is not None for value in values):
            yield figure, values


def ratios_to_first(figure: Figure, values: Sequence[Any]) -> list[float | None]:
    """Return the ratios of values to the first of them; None of that, and where there is none."""
    if figure.key in NO_RATIO:
        return [None] * len(values)
    return [None, *(ratio(value, values[0]) for value in values[1:])]


def short_versions(versions: Mapping[str, str]) -> dict[str, str]:
    """Return versions as one reads them."""
    # ABC calls itself "UC Berkeley, ABC 1.01 (compiled <date>)".
    return {
        name: text.removeprefix("UC Berkeley, ABC ").partition(" (")[0]
        for name, text in versions.items()
    }


class Measures(NamedTuple):
    """Keys of a result for its area, its period and their product, and their units."""

    area: str
    period: str
    density: str
    area_unit: str
    time_unit: str
    density_unit: str


_PHYSICAL = Measures("area_um2", "period_ns", "gops_per_mm2", "um2", "ns", "GOPS/mm2")
_RELATIVE = Measures(
    "area_ge", "period_fo4", "operations_per_fo4_kge", "GE", "FO4", "operations a FO4 and kGE"
)


def measures(result: Mapping[str, Any]) -> Measures:
    """Return in which units a result is."""
    return _RELATIVE if result.get("area_ge") is not None else _PHYSICAL


def ratio(value: Any, first: Any) -> float | None:
    """Return the ratio of two figures; None where there is none."""
    numbers = isinstance(value, int | float) and isinstance(first, int | float)
    return value / first if numbers and first else None


def variant_of(tried: dict[str, Any]) -> str:
    """Name a hierarchy, and the parameters that a search changed."""
    build = tried.get("build", tried.get("hows", {}))  # the key of former reports
    return ", ".join([tried["hierarchy"], *(f"{name}={value}" for name, value in build.items())])


def tried_table(label: str, result: dict[str, Any]) -> Section:
    """Tabulate what a search tried besides recipes and delay targets, and the best of each."""
    measure = measures(result)
    columns = (
        "hierarchy",
        "mapped once",
        "recipe",
        ("points", "{:,}"),
        (measure.area_unit, "{:,.0f}"),
        (measure.time_unit, "{:.3f}"),
    )
    rows = [
        (
            variant_of(row),
            ", ".join(row["mapped_once"]) or None,
            row["recipe"],
            row["points"],
            row[measure.area],
            row[measure.period],
        )
        for row in result["tried"]
    ]
    return Section(f"tried for {label}, the best of each", columns, rows, 3)


def _counts(blocks: dict[str, int]) -> str | None:
    """Write how many there are of each kind."""
    return ", ".join(f"{count:,} {kind}" for kind, count in blocks.items()) or None


def path_table(label: str, path: Sequence[dict[str, Any]]) -> Section:
    """Tabulate a critical path: of an FPGA its steps, but those of no length; else its pins."""
    relative = "delay_fo4" in path[0]  # as in a result of gate equivalents and FO4
    unit, delay, arrival = (
        ("FO4", "delay_fo4", "arrival_fo4") if relative else ("ns", "delay_ns", "arrival_ns")
    )
    most = max(step[delay] for step in path)
    title = f"critical path of {label}"
    cells = "kind" not in path[0]
    form = "{:.3f}" if cells else "{:.2f}"
    figures = ((f"delay, {unit}", form, "", most), (f"sum, {unit}", form))
    if cells:
        rows = [(step["point"], step["cell"], step[delay], step[arrival]) for step in path]
        return Section(title, ("pin", "cell", *figures), rows, 2)
    steps = [
        (
            step["from"],
            "" if step["to"] == step["from"] else step["to"],
            step["kind"],
            step["delay_ns"],
            step["arrival_ns"],
        )
        for step in path
        if step["delay_ns"] or step is path[-1]
    ]
    return Section(title, ("from", "to", "kind", *figures), steps, 3)


def sweep_table(result: dict[str, Any]) -> Section:
    """Tabulate the points of a search."""
    measure = measures(result)
    area, period = (
        next(figure for figure in FIGURES if figure.key == key)
        for key in (measure.area, measure.period)
    )
    target = "delay_target_" + measure.period.rpartition("_")[2]
    columns = (
        "recipe",
        "variant",
        ("delay target", f"{{:.3f}} {measure.time_unit}"),
        *((figure.name, figure.form, figure.better) for figure in (period, area)),
    )
    rows = [
        (
            point["recipe"],
            variant_of(point),
            point[target],
            point[measure.period],
            point[measure.area],
        )
        for point in result["sweep"]
    ]
    return Section("points of the search", columns, rows, 2)
