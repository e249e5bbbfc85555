"""What the command line prints and writes: tables, JSON, pictures."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from carrysave import paths
from carrysave.simulate import Result
from hw.catalog import CATALOG, Design

__all__ = [
    "catalogue",
    "print_catalogue",
    "print_files",
    "print_synthesis",
    "print_verification",
    "verification",
    "write_synthesis",
]


def catalogue() -> list[dict[str, Any]]:
    """Describe every design."""
    return [
        {
            "design": name,
            "summary": entry.summary,
            "parameters": {
                key: {"default": kind.default, "legal": kind.legal, "meaning": kind.doc}
                for key, kind in entry.parameters.items()
            },
            "verified_by": list(entry.evidence),
        }
        for name, entry in CATALOG.items()
    ]


def print_catalogue(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print the designs, each with its parameters."""
    for row in rows:
        console.print(f"[bold]{row['design']}[/bold]  {row['summary']}", highlight=False)
        table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="dim")
        for column in ("  parameter", "default", "legal", "meaning"):
            table.add_column(column)
        for key, kind in row["parameters"].items():
            default = str(kind["default"]).lower()
            table.add_row(f"  {key}", default, kind["legal"], kind["meaning"])
        console.print(table)
        console.print("  verified by: " + "; ".join(row["verified_by"]) + "\n", highlight=False)


def print_files(console: Console, files: Sequence[Path], manifest: dict[str, Any]) -> None:
    """Print what was written."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for path in files:
        table.add_row(str(path), f"{path.stat().st_size:,} bytes")
    console.print(table)
    console.print(
        f"{manifest['module']}: latency {manifest['latency_cycles']} cycles,"
        f" {manifest['throughput']['operations_per_cycle']} operations per cycle,"
        f" {len(manifest['modules'])} generated modules",
        highlight=False,
    )


def verification(design: Design, result: Result, netlist: str | None) -> dict[str, Any]:
    """Describe one run of a bench."""
    return {
        "design": design.module,
        "of": "verilog" if netlist is None else f"netlist {netlist}",
        "ok": result.ok,
        "tests": result.tests,
        "failures": list(result.failed),
        "seconds": round(result.seconds, 3),
        "seed": result.seed,
        "junit": str(result.xml),
        "log": str(result.log),
        "waves": str(result.waves) if result.waves else None,
    }


def print_verification(
    console: Console, design: Design, result: Result, netlist: str | None
) -> None:
    """Print the outcome of a bench."""
    of = f" (netlist, {netlist})" if netlist else ""
    style, word = ("green", "passed") if result.ok else ("red", "FAILED")
    console.print(
        f"[{style}]{word}[/{style}]  {design.module}{of}: {result.tests - result.failures} of"
        f" {result.tests} tests, {result.seconds:.1f} s, seed {result.seed}",
        highlight=False,
    )
    for name in result.failed:
        console.print(f"  failed: {name}", highlight=False)
    for label, path in (("junit", result.xml), ("log", result.log), ("waves", result.waves)):
        if path is not None:
            console.print(f"  {label:6} {path}", highlight=False, soft_wrap=True)


_LIBRARY_ROWS = (
    ("area", "area_um2", "{:,.0f} um2"),
    ("  sequential", "area_sequential_um2", "{:,.0f} um2"),
    ("  combinational", "area_combinational_um2", "{:,.0f} um2"),
    ("cells", "cells", "{:,}"),
    ("minimum period", "period_ns", "{:.3f} ns"),
    ("fmax", "fmax_mhz", "{:,.0f} MHz"),
    ("power", "power_mw", "{:,.1f} mW"),
    ("LUTs", "luts", "{:,}"),
    ("flip-flops", "ffs", "{:,}"),
    ("DSPs", "dsps", "{:,}"),
    ("block RAMs", "brams", "{:,}"),
    ("speed", "gops", "{:,.2f} GOPS"),
    ("area efficiency", "gops_per_mm2", "{:,.1f} GOPS/mm2"),
    ("energy efficiency", "gops_per_w", "{:,.0f} GOPS/W"),
    ("recipe", "recipe", "{}"),
)


def print_synthesis(console: Console, results: Sequence[dict[str, Any]]) -> None:
    """Print results side by side, a column each, and what they depend on."""
    table = Table(header_style="bold")
    table.add_column("")
    for result in results:
        table.add_column(f"{result['module']}\n{result['target']}", justify="right")
    for label, key, form in _LIBRARY_ROWS:
        values = [result.get(key) for result in results]
        if any(value is not None for value in values):
            table.add_row(label, *("-" if v is None else form.format(v) for v in values))
    console.print(table)
    first = results[0]
    if first.get("activity"):
        console.print(f"power at: {first['activity']}", highlight=False)
    path = first.get("critical_path")
    if path:
        console.print(
            f"critical path of {first['module']}: {path[0]['point']} -> {path[-1]['point']},"
            f" {len(path) // 2} cells",
            highlight=False,
        )
    console.print(
        "versions: " + ", ".join(f"{name} {text}" for name, text in first["versions"].items()),
        highlight=False,
    )
    for result in results:
        for file in result.get("files", ()):
            console.print(f"wrote {file}", highlight=False, soft_wrap=True)


def write_synthesis(folder: Path, result: dict[str, Any]) -> list[str]:
    """Write a result as JSON, its netlist, and the picture of its sweep."""
    stem = f"{result['module']}.{result['target']}"
    files = []
    if result.get("netlist"):
        netlist = folder / f"{stem}.netlist.v"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(result["netlist"], netlist)
        files.append(netlist)
    if len(result.get("sweep") or ()) > 1:
        picture = folder / f"{stem}.sweep.svg"
        folder.mkdir(parents=True, exist_ok=True)
        draw_sweep(picture, result)
        files.append(picture)
    path = folder / f"{stem}.json"
    names = [str(file) for file in (*files, path)]
    paths.write(path, json.dumps({**result, "files": names}, indent=2) + "\n")
    return names


def draw_sweep(path: Path, result: dict[str, Any]) -> None:
    """Draw area over period for every point of a sweep, the chosen one marked."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    for recipe in sorted({point["recipe"] for point in result["sweep"]}):
        points = sorted(
            (point["period_ns"], point["area_um2"])
            for point in result["sweep"]
            if point["recipe"] == recipe
        )
        axes.plot(*zip(*points, strict=True), "o-", markersize=4, linewidth=0.8, label=recipe)
    axes.plot(result["period_ns"], result["area_um2"], "k*", markersize=14, label="chosen")
    axes.set_xlabel("minimum period, ns")
    axes.set_ylabel("cell area, um2")
    axes.set_title(f"{result['module']}, {result['target']}", fontsize=10)
    axes.legend(fontsize=8)
    figure.savefig(path)
    pyplot.close(figure)
