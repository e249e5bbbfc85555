"""Command-line output of synthesis: tables, JSON, pictures."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from carrysave import cache
from carrysave.errors import installed, remedy
from carrysave.report import floor_plan
from carrysave.report.designs import print_line
from carrysave.report.tables import svg

__all__ = ["NO_RATIO", "ROWS", "print_board", "print_synthesis", "ratio", "write_synthesis"]


ROWS = (
    ("area", "area_um2", "{:,.0f} um2"),
    ("  sequential", "area_sequential_um2", "{:,.0f} um2"),
    ("  combinational", "area_combinational_um2", "{:,.0f} um2"),
    ("area", "area_ge", "{:,.0f} GE"),
    ("  sequential", "area_sequential_ge", "{:,.0f} GE"),
    ("  combinational", "area_combinational_ge", "{:,.0f} GE"),
    ("cells", "cells", "{:,}"),
    ("minimum period", "period_ns", "{:.3f} ns"),
    ("minimum period", "period_fo4", "{:.2f} FO4"),
    ("fmax", "fmax_mhz", "{:,.0f} MHz"),
    ("  best seed", "fmax_best_mhz", "{:,.0f} MHz"),
    ("fmax of logic alone", "fmax_logic_mhz", "{:,.0f} MHz"),
    ("power", "power_mw", "{:,.2f} mW"),
    ("energy per MAC", "pj_per_mac", "{:,.2f} pJ"),
    ("pins annotated", "annotated", "{:.1%}"),
    ("glitches", "glitches", "{:.0%} of transitions"),
    ("LUTs", "luts", "{:,}"),
    ("flip-flops", "ffs", "{:,}"),
    ("DSPs", "dsps", "{:,}"),
    ("block RAMs", "brams", "{:,}"),
    ("carry cells", "carry", "{:,}"),
    ("blocks", "blocks", "{}"),
    ("device", "device", "{}"),
    ("speed", "gops", "{:,.2f} GOPS"),
    ("  for 1,000 LUTs", "gops_per_1000_luts", "{:,.2f} GOPS"),
    ("  for a DSP", "gops_per_dsp", "{:,.3f} GOPS"),
    ("area efficiency", "gops_per_mm2", "{:,.1f} GOPS/mm2"),
    ("speed", "operations_per_fo4", "{:,.3f} a FO4"),
    ("area efficiency", "operations_per_fo4_kge", "{:,.4f} a FO4 and kGE"),
    ("energy efficiency", "gops_per_w", "{:,.0f} GOPS/W"),
    ("recipe", "recipe", "{}"),
    ("hierarchy", "hierarchy_mode", "{}"),
    ("points tried", "tried", "{}"),
)


NO_RATIO = ("annotated", "glitches", "tried")
"""Numbers that say nothing of a design when compared."""


def print_synthesis(
    console: Console, results: Sequence[dict[str, Any]], names: Sequence[str] = ()
) -> None:
    """Print results side by side, one column each, and their conditions.

    Parameters
    ----------
    names : of the results, for a comparison: figures then have their ratio to those of the first.
    """
    table = Table(header_style="bold")
    table.add_column("", no_wrap=True)
    labels = list(names or (result["module"] for result in results))
    for label, result in zip(labels, results, strict=True):
        head = f"{escape(label)}\n{result['target']}"
        table.add_column(head, justify="right", overflow="fold")
    for label, key, form in ROWS:
        values = [result.get(key) for result in results]
        if key == "tried":
            values = [sum(row["points"] for row in value or ()) or None for value in values]
        if isinstance(next(iter(filter(None, values)), None), dict):
            values = [_counts(value or {}) for value in values]
        if any(value is not None for value in values):
            texts = ["-" if v is None else form.format(v) for v in values]
            ratios: list[float | None] = [None] * len(values)
            if names and key not in NO_RATIO:
                ratios[1:] = [ratio(v, values[0]) for v in values[1:]]
            table.add_row(
                label,
                *(
                    text if own is None else f"{text}\n{own:.2f}x"
                    for text, own in zip(texts, ratios, strict=True)
                ),
            )
    console.print(table)
    first = results[0]
    _print_energy(console, labels, results)
    for result in results:
        _print_placed(console, result)
    for label, result in zip(labels, results, strict=True):
        _print_tried(console, label, result)
        for note in result.get("notes", ()):
            print_line(console, f"note on {label}: {note}")
    for label, result in zip(labels, results, strict=True):
        corners = result.get("corners") or ()
        if len(corners) > 1:
            periods = (f"{one['name']} {one['period_ns']:.3f} ns" for one in corners)
            print_line(console, f"period of {label} by corner: {', '.join(periods)}")
    if first.get("activity"):
        print_line(console, f"power at: {first['activity']}")
    for label, result in zip(labels, results, strict=True):
        if said := (result.get("conditions") or {}).get("resets"):
            print_line(console, f"resets of {label}: {said}")
    for label, result in zip(labels, results if names else [first], strict=False):
        path = result.get("critical_path")
        if path and "kind" in path[0]:
            _print_path(console, label, path)
        elif path:
            print_line(
                console,
                f"critical path of {label}: {path[0]['point']} -> {path[-1]['point']},"
                f" {len(path) // 2} cells",
            )
    versions = {
        # ABC calls itself "UC Berkeley, ABC 1.01 (compiled <date>)".
        name: text.removeprefix("UC Berkeley, ABC ").partition(" (")[0]
        for name, text in first["versions"].items()
    }
    print_line(
        console, "versions: " + ", ".join(f"{name} {text}" for name, text in versions.items())
    )
    for result in results:
        for file in result.get("files", ()):
            print_line(console, f"wrote {file}")


_ENERGY = {
    "flip_flops": "flip-flops and their nets",
    "clock_pins": "clock pins of flip-flops",
    "clock_gates": "clock gates and their nets",
    "clock_tree": "clock tree",
    "logic": "logic and its nets",
    "glitches": "glitches",
    "leakage": "leakage",
}


def _print_energy(
    console: Console, labels: Sequence[str], results: Sequence[dict[str, Any]]
) -> None:
    """Print where the energy of each result goes, placed ones with their wires."""
    columns = []
    for label, result in zip(labels, results, strict=True):
        for name, own in ((label, result), (f"{label}, placed", result.get("placed") or {})):
            if parts := own.get("energy_parts"):
                columns.append((name, parts))
    if not columns:
        return
    table = Table(title="energy, pJ in a cycle", title_justify="left", header_style="bold")
    table.add_column("", no_wrap=True)
    for name, _ in columns:
        table.add_column(escape(name), justify="right", overflow="fold")
    for key, label in _ENERGY.items():
        if any(parts[key] for _, parts in columns):
            texts = (
                f"{parts[key]:,.3f} ({parts[key] / sum(parts.values()):.0%})"
                for _, parts in columns
            )
            table.add_row(label, *texts)
    console.print(table)


_PLACED = (
    ("area of cells", "area_um2", "{:,.0f} um2"),
    ("minimum period", "period_ns", "{:.3f} ns"),
    ("energy per MAC", "pj_per_mac", "{:,.2f} pJ"),
    ("power", "power_mw", "{:,.2f} mW"),
    ("speed", "gops", "{:,.2f} GOPS"),
    ("area efficiency", "gops_per_mm2", "{:,.1f} GOPS/mm2"),
    ("  of the die", "gops_per_mm2_die", "{:,.1f} GOPS/mm2"),
    ("utilisation", "utilisation", "{:.1%}"),
    ("area of the die", "die_um2", "{:,.0f} um2"),
    ("wire", "wire_um", "{:,.0f} um"),
    ("buffers by wires", "buffers", "{:,}"),
    ("buffers of the clock tree", "clock_buffers", "{:,}"),
)


def _print_placed(console: Console, result: dict[str, Any]) -> None:
    """Print what became of a result with its wires, beside what it was before."""
    placed = result.get("placed")
    if not placed:
        return
    table = Table(title=f"{result['module']} placed", title_justify="left", header_style="bold")
    for head in ("", "mapped", "placed", "ratio"):
        table.add_column(head, justify="right" if head else "left", no_wrap=True)
    for label, key, form in _PLACED:
        before, after = result.get(key), placed[key]
        if after is not None:
            ratio = f"{after / before:.3f}" if before else ""
            table.add_row(label, form.format(before) if before else "", form.format(after), ratio)
    most = placed["congestion"]
    table.add_row("wire by um2 of die", "", f"{most['mean']:.2f} um, up to {most['most']:.2f}", "")
    console.print(table)
    wires = placed["technology"]
    print_line(
        console,
        f"wires: {wires['capacitance']:g} fF/um, {wires['resistance']:g} ohm/um"
        f" ({wires['source']}); {placed['conditions']}",
    )


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
    hows = (f"{name}={value}" for name, value in tried["hows"].items())
    return ", ".join([tried["hierarchy"], *hows])


def _print_tried(console: Console, label: str, result: dict[str, Any]) -> None:
    """Print what a search tried besides recipes and delay targets, and the best of each."""
    rows = result.get("tried") or ()
    if len(rows) < 2:
        return
    table = Table(
        title=escape(f"tried for {label}, the best of each"), title_justify="left",
        header_style="bold",
    )  # fmt: skip
    for name in ("hierarchy", "mapped once", "recipe"):
        table.add_column(name, overflow="fold")
    measure = measures(result)
    for name in ("points", measure.area_unit, measure.time_unit):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            escape(variant_of(row)), escape(", ".join(row["mapped_once"]) or "-"), row["recipe"],
            f"{row['points']}", f"{row[measure.area]:,.0f}", f"{row[measure.period]:.3f}",
        )  # fmt: skip
    console.print(table)


def _counts(blocks: dict[str, int]) -> str | None:
    """Write how many there are of each kind."""
    return ", ".join(f"{count:,} {kind}" for kind, count in blocks.items()) or None


def _print_path(console: Console, module: str, path: Sequence[dict[str, Any]]) -> None:
    """Print the steps of a path between registers of an FPGA; those of no length are left out."""
    table = Table(title=f"critical path of {module}", title_justify="left", header_style="bold")
    for name in ("from", "to"):
        table.add_column(name, overflow="fold")
    table.add_column("", no_wrap=True)
    for name in ("ns", "sum"):
        table.add_column(name, justify="right", no_wrap=True)
    for step in path:
        if step["delay_ns"] or step is path[-1]:
            table.add_row(
                escape(step["from"]),
                "" if step["to"] == step["from"] else escape(step["to"]),
                step["kind"],
                f"{step['delay_ns']:.2f}",
                f"{step['arrival_ns']:.2f}",
            )
    console.print(table)


def print_board(console: Console, found: dict[str, Any]) -> None:
    """Print a design's use of a board's FPGA, its speed, and the files written."""
    table = Table(title=f"{found['design']} on {found['board']}", title_justify="left")
    for head, side in (("", "left"), ("used", "right"), ("there", "right"), ("share", "right")):
        table.add_column(head, justify="left" if side == "left" else "right")
    for part, limit in found["capacity"].items():
        used = found[part]
        table.add_row(part, f"{used:,}", f"{limit:,}", f"{used / limit:.0%}")
    console.print(table)
    verdict = "fast enough" if found["ok"] else "TOO SLOW"
    print_line(
        console,
        f"up to {found['fmax_mhz']:.1f} MHz; the board has {found['clock_mhz']:g} MHz: {verdict}",
    )
    for file in found["files"]:
        print_line(console, f"wrote {file}")


def write_synthesis(folder: Path, result: dict[str, Any]) -> list[str]:
    """Write a result as JSON, its netlists, and pictures of sweep and floor plan, or a note."""
    stem = f"{result['module']}.{result['target']}"
    files = []
    if result.get("netlist"):
        netlist = folder / f"{stem}.netlist.v"
        cache.write(netlist, Path(result["netlist"]).read_bytes())
        files.append(netlist)
    pictures = []
    if len(result.get("sweep") or ()) > 1:
        pictures.append(("sweep", draw_sweep))
    if placed := result.get("placed"):
        netlist = folder / f"{stem}.placed.v"
        cache.write(netlist, Path(placed["netlist"]).read_bytes())
        files.append(netlist)
        pictures.append(("floor", floor_plan.draw))
    for name, draw in pictures if installed("matplotlib") else ():
        picture = folder / f"{stem}.{name}.svg"
        cache.write(picture, draw(result))
        files.append(picture)
    if pictures and not installed("matplotlib"):
        note = f"no picture, which needs {remedy('matplotlib')}"
        result["notes"] = [*result.get("notes", ()), note]
    path = folder / f"{stem}.json"
    names = [str(file) for file in (*files, path)]
    cache.write(path, json.dumps({**result, "files": names}, indent=2) + "\n")
    return names


def draw_sweep(result: dict[str, Any]) -> bytes:
    """Draw area over period for every point of a sweep as SVG, the chosen one marked.

    A curve through the chosen point joins all points of equal area x period, which for one design
    means equal GOPS/mm2; points below it are better.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    measure = measures(result)
    period, area = result[measure.period], result[measure.area]
    density = result.get(measure.density)
    level = f"{density:,.4g} {measure.density_unit}" if density else "equal area x period"
    figure, axes = pyplot.subplots(figsize=(7.6, 4.4), layout="constrained")
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in result["sweep"]:
        kind = f"{point['recipe']}, {variant_of(point)}"
        curves.setdefault(kind, []).append((point[measure.period], point[measure.area]))
    for number, (recipe, points) in enumerate(sorted(curves.items())):
        # Ten colours, then again with another marker.
        marker = "os^Dv"[number // 10 % 5]
        axes.plot(*zip(*sorted(points), strict=True), marker=marker, ms=4, lw=0.8, label=recipe)
    axes.margins(0.08)
    limits = axes.axis()
    low, high = max(limits[0], 1e-9), limits[1]
    curve = [low + (high - low) * step / 200 for step in range(201)]
    axes.plot(curve, [period * area / x for x in curve], "k--", lw=0.8, alpha=0.6, label=level)
    chosen = f"chosen: {period:.3f} {measure.time_unit}, {area:,.0f} {measure.area_unit}"
    axes.plot(period, area, "*", ms=15, mfc="none", mec="black", mew=1.2, label=chosen)
    axes.axis(limits)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.25)
    axes.set_xlabel(f"minimum period, {measure.time_unit}")
    axes.set_ylabel(f"cell area, {measure.area_unit}")
    axes.set_title(f"{result['module']}, {result['target']}", fontsize=10, wrap=True)
    figure.legend(fontsize=8, loc="outside right upper", title="recipe", title_fontsize=8)
    return svg(figure)
