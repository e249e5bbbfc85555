"""Command-line output of synthesis: tables, JSON, pictures."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from carrysave import cache
from carrysave.errors import installed, remedy
from carrysave.report import floor_plan, routed_layout
from carrysave.report.designs import print_line
from carrysave.report.figures import (
    figures,
    measures,
    path_table,
    ratios_to_first,
    short_versions,
    tried_table,
    variant_of,
)
from carrysave.report.placed_figures import placed_table, routed_notes, wires_of
from carrysave.report.tables import show, svg

__all__ = ["pictures", "print_board", "print_synthesis", "write_synthesis"]


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
    for figure, values in figures(results):
        texts = ["-" if v is None else figure.form.format(v) for v in values]
        ratios = ratios_to_first(figure, values) if names else [None] * len(values)
        table.add_row(
            figure.name,
            *(
                text if ratio is None else f"{text}\n{ratio:.2f}x"
                for text, ratio in zip(texts, ratios, strict=True)
            ),
        )
    console.print(table)
    _print_energy(console, labels, results)
    for result in results:
        if result.get("placed"):
            show(console, placed_table(result))
            for line in (wires_of(result), *routed_notes(result)):
                print_line(console, line)
    _print_notes(console, labels, results)
    _print_paths(console, labels, results if names else results[:1])
    versions = (f"{name} {text}" for name, text in short_versions(results[0]["versions"]).items())
    print_line(console, f"versions: {', '.join(versions)}")
    for result in results:
        for file in result.get("files", ()):
            print_line(console, f"wrote {file}")


def _print_notes(
    console: Console, labels: Sequence[str], results: Sequence[dict[str, Any]]
) -> None:
    """Print what was tried, notes, and under which conditions figures hold."""
    for label, result in zip(labels, results, strict=True):
        if len(result.get("tried") or ()) > 1:
            show(console, tried_table(label, result))
        for note in result.get("notes", ()):
            print_line(console, f"note on {label}: {note}")
    for label, result in zip(labels, results, strict=True):
        corners = result.get("corners") or ()
        if len(corners) > 1:
            periods = (f"{one['name']} {one['period_ns']:.3f} ns" for one in corners)
            print_line(console, f"period of {label} by corner: {', '.join(periods)}")
    if results[0].get("activity"):
        print_line(console, f"power at: {results[0]['activity']}")
    for label, result in zip(labels, results, strict=True):
        if resets := (result.get("conditions") or {}).get("resets"):
            print_line(console, f"resets of {label}: {resets}")


def _print_paths(
    console: Console, labels: Sequence[str], results: Sequence[dict[str, Any]]
) -> None:
    """Print critical paths."""
    for label, result in zip(labels, results, strict=False):
        path = result.get("critical_path")
        if path and "kind" in path[0]:
            show(console, path_table(label, path))
        elif path:
            print_line(
                console,
                f"critical path of {label}: {path[0]['point']} -> {path[-1]['point']},"
                f" {len(path) // 2} cells",
            )


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
        for name, facts in ((label, result), (f"{label}, placed", result.get("placed") or {})):
            if parts := facts.get("energy_parts"):
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


def print_board(console: Console, report: dict[str, Any]) -> None:
    """Print a design's use of a board's FPGA, and its speed."""
    table = Table(title=f"{report['design']} on {report['board']}", title_justify="left")
    for head, side in (("", "left"), ("used", "right"), ("there", "right"), ("share", "right")):
        table.add_column(head, justify="left" if side == "left" else "right")
    for part, limit in report["capacity"].items():
        used = report[part]
        table.add_row(part, f"{used:,}", f"{limit:,}", f"{used / limit:.0%}")
    console.print(table)
    verdict = "fast enough" if report["ok"] else "TOO SLOW"
    print_line(
        console,
        f"up to {report['fmax_mhz']:.1f} MHz; the board has {report['clock_mhz']:g} MHz: {verdict}",
    )
    for run in report.get("runs", ()):
        reached = f"seed {run['seed']}: {run['fmax_mhz']:.1f} MHz at {run['clock_mhz']:g} MHz asked"
        print_line(console, reached + ("" if run["ok"] else ", missed"))


def write_synthesis(folder: Path, result: dict[str, Any]) -> list[str]:
    """Write a result as JSON, its netlists, and pictures of sweep and floor plan, or a note."""
    stem = f"{result['module']}.{result['target']}"
    files = []
    if result.get("netlist"):
        netlist = folder / f"{stem}.netlist.v"
        cache.write(netlist, Path(result["netlist"]).read_bytes())
        files.append(netlist)
    if placed := result.get("placed"):
        netlist = folder / f"{stem}.placed.v"
        cache.write(netlist, Path(placed["netlist"]).read_bytes())
        files.append(netlist)
    for source in ((result.get("routed") or {}).get("files") or {}).values():
        path = folder / f"{stem}.routed{Path(source).suffix}"
        cache.write(path, Path(source).read_bytes())
        files.append(path)
    drawn = pictures(result) if installed("matplotlib") else {}
    files += [
        cache.write(folder / f"{stem}.{name}.svg", picture) for name, picture in drawn.items()
    ]
    if _drawers(result) and not installed("matplotlib"):
        note = f"no picture, which needs {remedy('matplotlib')}"
        result["notes"] = [*result.get("notes", ()), note]
    path = folder / f"{stem}.json"
    names = [str(file) for file in (*files, path)]
    cache.write(path, json.dumps({**result, "files": names}, indent=2) + "\n")
    return names


def pictures(result: dict[str, Any]) -> dict[str, bytes]:
    """Draw what a result has pictures of, SVG by name: ``sweep``, ``floor``, ``layout``."""
    return {name: draw(result) for name, draw in _drawers(result).items()}


def _drawers(result: dict[str, Any]) -> dict[str, Callable[[dict[str, Any]], bytes]]:
    """Return what draws the pictures of a result."""
    drawers: dict[str, Callable[[dict[str, Any]], bytes]] = {}
    if len(result.get("sweep") or ()) > 1:
        drawers["sweep"] = draw_sweep
    if result.get("placed"):
        drawers["floor"] = floor_plan.draw
    if result.get("routed"):
        drawers["layout"] = routed_layout.draw
    return drawers


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
