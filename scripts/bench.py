"""Measure carrysave: area, period and power of the designs, simulation and generation speed.

    make bench                                  default library, osu018
    .venv/bin/python scripts/bench.py --liberty sky130_fd_sc_hd__tt_025C_1v80.lib.gz
    .venv/bin/python scripts/bench.py --readme  also rewrites the tables of README.md

Everything is written to build/bench.json; synthesis results are cached by content.
"""

import argparse
import json
import os
import platform
import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from carrysave import liberty, paths, simulate, synth
from hw.catalog import Design
from hw.emit import generate

ROOT = Path(__file__).resolve().parents[1]

# A design and the twin that it is measured against, in the same run and under the same flow.
PAIRS = [
    (Design("opt1"), Design("mac")),
    (Design("opt1", {"pipeline": 1}), Design("mac", {"pipeline": 1})),
    (Design("systolic_os"), Design("systolic_os", {"pe": "mac"})),
    (Design("systolic_ws"), Design("systolic_ws", {"pe": "mac"})),
    (Design("matrix_2d"), Design("matrix_2d", {"pe": "mac"})),
    (Design("cube"), Design("cube", {"pe": "mac"})),
    (Design("adder_tree", {"pe": "opt2"}), Design("adder_tree", {"pe": "mac"})),
    (Design("digit_column", {"m": 1, "n": 16, "pe": "opt4c"}), Design("laconic", {"k": 1})),
]
SIZES = (8, 16, 32, 64)


def measure_synthesis(
    pairs: list[tuple[Design, Design]], library: liberty.Library, console: Console
) -> list[dict[str, Any]]:
    """Synthesise every design and its twin by the best of a sweep."""
    rows = []
    for pair in pairs:
        found = []
        for design in pair:
            with console.status(f"synthesise {design.module}"):
                found.append(synth.synthesise_design(design, library, sweep=True))
        ratio = found[0]["gops_per_mm2"] / found[1]["gops_per_mm2"]
        rows += [{**found[0], "ratio_to_twin": ratio}, {**found[1], "ratio_to_twin": 1.0}]
    return rows


def measure_sizes(library: liberty.Library, console: Console) -> list[dict[str, Any]]:
    """Generate and synthesise arrays of growing size, one point each."""
    rows = []
    for size in SIZES:
        design = Design("systolic_os", {"m": size, "n": size})
        with TemporaryDirectory() as folder, console.status(f"{design.module}"):
            start = time.perf_counter()
            verilog = generate(design, Path(folder))[0]
            generated = time.perf_counter() - start
            text = verilog.read_text()
            start = time.perf_counter()
            result = synth.synthesise_design(design, library)
            rows.append({
                "design": design.module,
                "generate_s": generated,
                "bytes": len(text),
                "modules": len(re.findall(r"^module ", text, re.MULTILINE)),
                "synthesise_s_or_cached": time.perf_counter() - start,
                **{key: result[key] for key in ("area_um2", "period_ns", "gops_per_mm2")},
            })
    return rows


def measure_simulation(console: Console) -> list[dict[str, Any]]:
    """Multiply 64 x 64 x 256 on 16 x 16, and start the same simulation again."""
    design = Design("systolic_os", {"m": 16, "n": 16})
    rows = []
    for run in ("first", "again"):
        with TemporaryDirectory() as folder, console.status(f"simulate, {run}"):
            start = time.perf_counter()
            result = simulate.verify(
                design, seed=1, tests="test_large_product", directory=Path(folder)
            )
            rows.append({
                "design": design.module,
                "run": run,
                "ok": result.ok,
                "simulation_s": result.seconds,
                "total_s": time.perf_counter() - start,
            })
    return rows


def table(rows: list[dict[str, Any]], columns: dict[str, str]) -> list[list[str]]:
    """Format rows of results; `columns` maps keys to formats."""
    return [
        [("-" if row[key] is None else form.format(row[key])) for key, form in columns.items()]
        for row in rows
    ]


QOR = {
    "module": "{}",
    "area_um2": "{:,.0f}",
    "period_ns": "{:.3f}",
    "power_mw": "{:,.1f}",
    "pj_per_mac": "{:.2f}",
    "gops_per_mm2": "{:.1f}",
    "ratio_to_twin": "{:.2f}",
}


def show(console: Console, title: str, rows: list[dict[str, Any]], columns: dict[str, str]) -> None:
    """Print a table."""
    view = Table(title=title, title_justify="left")
    for key in columns:
        view.add_column(key, justify="left" if key in ("design", "module") else "right")
    for cells in table(rows, columns):
        view.add_row(*cells)
    console.print(view)


def markdown(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """Format a table for README.md."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(cells) + " |" for cells in table(rows, columns)]
    return "\n".join(lines)


def write_readme(name: str, text: str) -> None:
    """Replace what stands between a table's two marks."""
    readme = ROOT / "README.md"
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = readme.read_text().partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not (found and end):
        raise SystemExit(f"README.md must have the marks {marks[0]} and {marks[1]}")
    paths.write(readme, f"{before}{marks[0]}\n{text}\n{marks[1]}{after}")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--liberty", type=Path, help="cell library; osu018 if absent")
    parser.add_argument("--only", nargs="+", metavar="DESIGN", help="these designs and no sizes")
    parser.add_argument("--readme", action="store_true", help="rewrite the tables of README.md")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=140)
    library = liberty.Library.load(arguments.liberty) if arguments.liberty else liberty.osu018()
    pairs = [pair for pair in PAIRS if pair[0].name in (arguments.only or pair[0].name)]
    quality = measure_synthesis(pairs, library, console)
    show(console, f"Area, period, power: {library.name}", quality, QOR)
    if arguments.readme:
        name = "osu018" if arguments.liberty is None else "sky130"
        write_readme(f"figures {name}", markdown(quality, QOR))
    sizes, simulation = [], []
    if not arguments.only:
        sizes = measure_sizes(library, console)
        show(console, "Cost against size", sizes, dict.fromkeys(sizes[0], "{}"))
        simulation = measure_simulation(console)
        show(console, "64 x 64 x 256", simulation, dict.fromkeys(simulation[0], "{}"))
    versions = quality[0]["versions"]
    console.print(versions)
    record = {
        "library": library.name,
        "versions": versions,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}",
        "quality": quality,
        "sizes": sizes,
        "simulation": simulation,
    }
    paths.write(ROOT / "build" / f"bench.{library.name}.json", json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
