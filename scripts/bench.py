"""Measure carrysave: area, period and power of the designs, simulation and generation speed.

    make bench                                  default library, osu018
    .venv/bin/python scripts/bench.py --liberty sky130_fd_sc_hd__tt_025C_1v80.lib.gz
    .venv/bin/python scripts/bench.py --docs  also rewrites the tables of docs/figures

Everything is written to build/bench.json; synthesis results are cached by content.
"""

import argparse
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from carrysave import cache, jobs
from carrysave.asic import synthesis
from carrysave.asic.liberty import cells as liberty
from carrysave.progress import Steps
from carrysave.sim import runner
from hw.catalog import Design
from hw.emit.files import generate
from scripts.pages import write_table

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
# Engines of growing size, one point each; verified up to a size that simulates in minutes.
SIZES = (8, 16, 32, 64)
VERIFIED = 32
SIDES = {
    "systolic_os": ("m", "n"),
    "systolic_ws": ("k", "m", "n"),
    "matrix_2d": ("m", "n"),
    "cube": ("m", "n"),
    "adder_tree": ("n", "k"),
    "digit_column": ("m", "n"),
}
PARTS = ("quality", "sizes", "simulation")


def measure_synthesis(
    pairs: list[tuple[Design, Design]], library: liberty.Library, steps: Steps
) -> list[dict[str, Any]]:
    """Synthesise every design and its twin, the best of a sweep each."""
    rows = []
    for pair in pairs:
        found = []
        for design in pair:
            steps.step(f"synthesise {design.module}")
            found.append(synthesis.synthesise_design(design, library, sweep=True))
        ratio = found[0]["gops_per_mm2"] / found[1]["gops_per_mm2"]
        rows += [{**found[0], "ratio_to_twin": ratio}, {**found[1], "ratio_to_twin": 1.0}]
    return rows


def measure_sizes(
    names: Iterable[str],
    sizes: Iterable[int],
    library: liberty.Library,
    steps: Steps,
    keep: Callable[[list[dict[str, Any]]], None],
) -> list[dict[str, Any]]:
    """Generate, verify and synthesise engines of growing size, one point each.

    `keep` is called with all rows after each: the largest take long.
    """
    rows = []
    for name in names:
        for size in sizes:
            try:
                design = Design(name, dict.fromkeys(SIDES[name], size))
            except ValueError as error:
                steps.step(f"no {name} of {size}: {error}")
                continue
            steps.step(f"generate, verify, synthesise {design.module}")
            with TemporaryDirectory() as folder:
                start = time.perf_counter()
                verilog = generate(design, Path(folder))[0]
                generated = time.perf_counter() - start
                text = verilog.read_text()
                verified = None
                if size <= VERIFIED:
                    result = runner.verify(
                        design, tests="test_large_product", directory=Path(folder)
                    )
                    verified = "yes" if result.ok else "NO"
                start = time.perf_counter()
                found = synthesis.synthesise_design(design, library, activity="none")
                rows.append({
                    "design": design.module,
                    "macs": round(design.component().operations_per_cycle / 2, 1),
                    "generate_s": round(generated, 1),
                    "bytes": len(text),
                    "modules": len(re.findall(r"^module ", text, re.MULTILINE)),
                    "verified": verified,
                    "synthesise_s_or_cached": round(time.perf_counter() - start, 1),
                    **{key: round(found[key], 3) for key in SIZE_FIGURES},
                })
            keep(rows)
    return rows


SIZE_FIGURES = ("area_um2", "period_ns", "gops_per_mm2")
SIZE_COLUMNS = {
    "design": "{}",
    "macs": "{:g}",
    "bytes": "{:,}",
    "modules": "{}",
    "verified": "{}",
    "area_um2": "{:,.0f}",
    "period_ns": "{:.3f}",
    "gops_per_mm2": "{:.1f}",
    "generate_s": "{:.1f}",
    "synthesise_s_or_cached": "{:.1f}",
}


def measure_simulation(steps: Steps) -> list[dict[str, Any]]:
    """Multiply 64 x 64 x 256 on 16 x 16, and start the same simulation again."""
    design = Design("systolic_os", {"m": 16, "n": 16})
    rows = []
    for run in ("first", "again"):
        steps.step(f"simulate, {run}")
        with TemporaryDirectory() as folder:
            start = time.perf_counter()
            result = runner.verify(
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
    for key, form in columns.items():
        view.add_column(key, justify="left" if form == "{}" else "right")
    for cells in table(rows, columns):
        view.add_row(*cells)
    console.print(view)


def markdown(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """Format a table for the documentation."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(cells) + " |" for cells in table(rows, columns)]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--liberty", type=Path, help="cell library; osu018 if absent")
    parser.add_argument("--only", nargs="+", metavar="DESIGN", help="these designs")
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=SIZES, metavar="SIDE", help="of part sizes"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--docs", action="store_true", help="rewrite the tables of docs/figures")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=140)
    library = liberty.Library.load(arguments.liberty) if arguments.liberty else liberty.osu018()
    known = dict.fromkeys([*(pair[0].name for pair in PAIRS), *SIDES])
    only = arguments.only or list(known)
    for name in only:
        if name not in known:
            parser.error(f"--only must be of {', '.join(known)}, not {name!r}")
    record: dict[str, Any] = {
        "library": library.name,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}",
    }
    path = ROOT / "build" / f"bench.{library.name}.json"
    steps = Steps(Console(stderr=True))

    def keep(part: str, rows: list[dict[str, Any]]) -> None:
        """Add a part to what is written already."""
        record[part] = rows
        earlier = json.loads(path.read_text()) if path.exists() else {}
        cache.write(path, json.dumps({**earlier, **record}, indent=2) + "\n")

    if "quality" in arguments.parts:
        pairs = [pair for pair in PAIRS if pair[0].name in only]
        with steps, jobs.session():
            quality = measure_synthesis(pairs, library, steps)
        show(console, f"Area, period, power: {library.name}", quality, QOR)
        record["versions"] = quality[0]["versions"]
        keep("quality", quality)
        console.print(record["versions"])
        if arguments.docs:
            name = "osu018" if arguments.liberty is None else "sky130"
            write_table(f"figures {name}", markdown(quality, QOR))
    if "sizes" in arguments.parts:
        names = [name for name in SIDES if name in only]
        with steps, jobs.session():
            sizes = measure_sizes(
                names, arguments.sizes, library, steps, lambda rows: keep("sizes", rows)
            )
        show(console, "Cost against size", sizes, SIZE_COLUMNS)
        if arguments.docs:
            write_table("sizes", markdown(sizes, SIZE_COLUMNS))
    if "simulation" in arguments.parts:
        with steps:
            simulation = measure_simulation(steps)
        keep("simulation", simulation)
        show(console, "64 x 64 x 256", simulation, dict.fromkeys(simulation[0], "{}"))


if __name__ == "__main__":
    main()
