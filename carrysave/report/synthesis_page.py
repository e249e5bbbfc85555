"""Pages of syntheses: of one result, and of several side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from carrysave.report import ranking
from carrysave.report.figures import (
    Figure,
    figures,
    measures,
    path_table,
    ratios_to_first,
    short_versions,
    sweep_table,
    tried_table,
)
from carrysave.report.page import Page, Part, Picture, Scatter, Text
from carrysave.report.placed_figures import placed_table, routed_notes, wires_of
from carrysave.report.tables import Section

__all__ = ["compare_page", "synthesis_page"]

_FIRST = (
    "area_um2",
    "area_ge",
    "luts",
    "ffs",
    "dsps",
    "period_ns",
    "period_fo4",
    "fmax_mhz",
    "pj_per_mac",
    "gops",
    "gops_per_mm2",
    "operations_per_fo4_kge",
)
"""Keys of the figures that a page begins with."""
_STEPS = 100
"""Points of a curve."""


def synthesis_page(result: dict[str, Any]) -> Page:
    """Return the page of one result, see :func:`carrysave.asic.synthesis.synthesise`."""
    values = [(figure, value) for figure, (value,) in figures([result])]
    parts: list[Part] = []
    if result.get("placed"):
        parts += [placed_table(result), Text("", [wires_of(result), *routed_notes(result)])]
    parts += _pictures(result)
    parts.append(Section("figures", ("", result["target"]), _lines(values)))
    if len(result.get("sweep") or ()) > 1:
        parts.append(_sweep(result))
    parts += _parts(result["module"], result)
    return Page(
        title=f"{result['module']} on {result['target']}",
        says=_conditions(result),
        command=result["command"],
        versions=short_versions(result["versions"]),
        summary=[
            (figure.name, figure.form.format(value))
            for figure, value in values
            if figure.key in _FIRST and value is not None
        ],
        parts=parts,
    )


def compare_page(comparison: dict[str, Any]) -> Page:
    """Return the page of a comparison, see :func:`carrysave.report.comparison.compared`."""
    names = [entry["name"] for entry in comparison["designs"]]
    results = [entry["result"] for entry in comparison["designs"]]
    across = list(figures(results))
    heads = _heads([figure for figure, _ in across])
    titles = {figure.key: head for head, (figure, _) in zip(heads, across, strict=True)}
    better = [(figure, values) for figure, values in across if figure.better]
    columns = ["design", *((titles[each.key], each.form, each.better) for each, _ in better)]
    rows = [[name, *(values[number] for _, values in better)] for number, name in enumerate(names)]
    table = Section("designs", columns, rows)
    axes = _axes(titles)
    parts: list[Part] = []
    if answer := comparison["answer"]:
        parts += [ranking.table(answer), Text("", ranking.lines(answer))]
    parts.append(Scatter(table, *axes, group="design") if axes else table)
    lines = [
        (head, *_with_ratios(figure, values))
        for head, (figure, values) in zip(heads, across, strict=True)
    ]
    parts.append(Section(f"figures and ratios to {names[0]}", ["", *names], lines))
    for name, result in zip(names, results, strict=True):
        parts += _parts(name, result)
    return Page(
        title=f"{' and '.join(names) if len(names) == 2 else f'{len(names)} designs'}"
        f" on {comparison['target']}",
        says=_conditions(results[0]),
        command=comparison["command"],
        versions=short_versions(results[0]["versions"]),
        parts=[*parts, *([Text("notes", comparison["notes"])] if comparison["notes"] else ())],
    )


def _with_ratios(figure: Figure, values: Sequence[Any]) -> list[str | None]:
    """Format values, each with its ratio to the first."""
    return [
        None
        if value is None
        else figure.form.format(value) + (f" ({ratio:.2f}x)" if ratio is not None else "")
        for value, ratio in zip(values, ratios_to_first(figure, values), strict=True)
    ]


def _axes(titles: dict[str, str]) -> tuple[str, str] | None:
    """Choose the figures that a comparison shows first, if there are such."""
    for pair in (("period_ns", "area_um2"), ("period_fo4", "area_ge"), ("fmax_mhz", "luts")):
        if all(key in titles for key in pair):
            return titles[pair[0]], titles[pair[1]]
    return None


def _heads(shown: Sequence[Figure]) -> list[str]:
    """Return titles that do without the figure before."""
    heads, whole = [], ""
    for figure in shown:
        part = figure.name.strip()
        whole = whole if part != figure.name else part
        heads.append(whole if part == whole else f"{whole}, {part}")
    return heads


def _lines(values: Sequence[tuple[Figure, Any]]) -> list[tuple[str, str]]:
    """List figures below each other."""
    heads = _heads([figure for figure, _ in values])
    return [
        (head, figure.form.format(value))
        for head, (figure, value) in zip(heads, values, strict=True)
    ]


def _conditions(result: dict[str, Any]) -> str:
    """Say what the figures are for."""
    said = [result.get("activity") and f"power at: {result['activity']}"]
    said.append((result.get("conditions") or {}).get("resets"))
    return "; ".join(filter(None, said))


def _parts(label: str, result: dict[str, Any]) -> list[Part]:
    """Return what is below the figures of a result."""
    parts: list[Part] = []
    if len(result.get("tried") or ()) > 1:
        parts.append(tried_table(label, result))
    corners = result.get("corners") or ()
    if len(corners) > 1:
        rows = [(corner["name"], corner["period_ns"]) for corner in corners]
        columns = ("corner", ("minimum period", "{:.3f} ns"))
        parts.append(Section(f"corners of {label}", columns, rows))
    placed = result.get("placed") or {}
    for text, path in (
        (label, result.get("critical_path")),
        (f"{label}, placed", placed.get("critical_path")),
    ):
        if path:
            parts.append(path_table(text, path))
    if result.get("notes"):
        parts.append(Text(f"notes on {label}", result["notes"]))
    return parts


def _sweep(result: dict[str, Any]) -> Scatter:
    """Return the chart of a search, with the points that are as good as the chosen one."""
    table, measure = sweep_table(result), measures(result)
    period, area = result[measure.period], result[measure.area]
    best = [
        number
        for number, point in enumerate(result["sweep"])
        if (point[measure.period], point[measure.area]) == (period, area)
    ]
    periods = [point[measure.period] for point in result["sweep"]]
    low, high = 0.9 * min(periods), 1.1 * max(periods)
    across = [low + (high - low) * step / _STEPS for step in range(_STEPS + 1)]
    density = result.get(measure.density)
    level = f"{density:,.4g} {measure.density_unit}" if density else "equal area x period"
    guide = (level, [(x, period * area / x) for x in across])
    x, y = table.heads[-2:]
    return Scatter(table, x, y, group="variant", marked=best, mark="chosen", guides=[guide])


def _pictures(result: dict[str, Any]) -> list[Picture]:
    """Return the floor plan and the routed layout, if they were drawn."""
    drawn = {
        ".floor.svg": (
            "floor plan",
            "The placed cells, coloured by module and by slack, with the critical path.",
        ),
        ".layout.svg": (
            "routed layout",
            "The wires of each layer over the cells, and the ports, as dots.",
        ),
    }
    return [
        Picture(title, Path(file).read_bytes(), says, width=640)
        for end, (title, says) in drawn.items()
        for file in result["files"]
        if file.endswith(end)
    ]
