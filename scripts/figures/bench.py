"""Measure carrysave: area, period and power of the designs, simulation and generation speed.

    make bench                                  default library, osu018
    .venv/bin/python scripts/figures/bench.py --liberty sky130_fd_sc_hd__tt_025C_1v80.lib.gz
    .venv/bin/python scripts/figures/bench.py --docs                               also docs
    .venv/bin/python scripts/figures/bench.py --parts quality --quick --only opt1  one, no search
    .venv/bin/python scripts/figures/bench.py --parts sizes --recipe tree+balance,map0.9,fan16

Everything is written to build/bench.LIBRARY.json, rows as they come. What was done is cached by
content: a run that was stopped goes on where it was.
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

from carrysave import cache, jobs
from carrysave.asic import synthesis
from carrysave.asic.liberty import cells as liberty
from carrysave.progress import Steps
from carrysave.sim import runner
from hw.catalog import Design
from hw.emit.files import generate
from scripts.figures import silicon
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import write_table

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
MOST = {"systolic_ws": {"m": 63}}
"""Greatest parameters: a beat of 64 rows would have more bits than a module can have inputs."""
PARTS = ("quality", "sizes", "simulation", "wires")
"""Default: all but the last."""


def measure_sizes(
    names: Iterable[str],
    sizes: Iterable[int],
    library: liberty.Library,
    steps: Steps,
    keep: Callable[[list[dict[str, Any]]], None],
    recipe: str | None = None,
) -> list[dict[str, Any]]:
    """Generate, verify and synthesise engines of growing size, one point each.

    `keep` is called with all rows after each: the largest take long.
    """
    rows = []
    for name in names:
        for size in sizes:
            most = MOST.get(name, {})
            design = Design(name, {side: min(size, most.get(side, size)) for side in SIDES[name]})
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
                facts = synthesis.synthesise_design(design, library, activity="none", recipe=recipe)
                rows.append({
                    "design": design.module,
                    "macs": round(design.component().operations_per_cycle / 2, 1),
                    "generate_s": round(generated, 1),
                    "bytes": len(text),
                    "modules": len(re.findall(r"^module ", text, re.MULTILINE)),
                    "verified": verified,
                    "synthesise_s_or_cached": round(time.perf_counter() - start, 1),
                    **{key: round(facts[key], 3) for key in SIZE_FIGURES},
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


def parsed() -> argparse.Namespace:
    """Parse and check the command line; ``only`` and ``quick`` are names of designs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--liberty", type=Path, help="cell library; osu018 if absent")
    parser.add_argument(
        "--only", nargs="+", metavar="MODULE", help="the first of these pairs, or these engines"
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, metavar="SIDE", help="of the parts sizes and wires"
    )
    parser.add_argument("--recipe", help="of the part sizes, in place of the first mapping")
    parser.add_argument(
        "--quick", nargs="*", metavar="MODULE", help="one recipe, no search, for all or these pairs"
    )
    parser.add_argument("--jobs", type=int, help="how many at a time; a core each if absent")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS[:-1], help="what to measure"
    )
    parser.add_argument("--docs", action="store_true", help="rewrite the tables of docs/figures")
    arguments = parser.parse_args()
    known = dict.fromkeys([*(pair[0].module for pair in silicon.PAIRS), *SIDES])
    only = arguments.only or list(known)
    quick = list(known) if arguments.quick == [] else arguments.quick or []
    for option, names in (("only", only), ("quick", quick)):
        for name in names:
            if name not in known:
                parser.error(f"--{option} must be of {', '.join(known)}, not {name!r}")
    if arguments.docs and arguments.recipe:
        parser.error("--docs excludes --recipe: the tables are of the first mapping")
    if arguments.docs and "wires" in arguments.parts and not arguments.liberty:
        parser.error("--docs has the part wires for --liberty only")
    arguments.only, arguments.quick = only, quick
    return arguments


def main() -> None:
    """Measure, print, write."""
    arguments = parsed()
    only, quick = arguments.only, arguments.quick
    console = Console() if sys.stdout.isatty() else Console(width=140)
    library = liberty.Library.load(arguments.liberty) if arguments.liberty else liberty.osu018()
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

    name = "osu018" if arguments.liberty is None else "sky130"
    options = jobs.Options(jobs=arguments.jobs, progress=steps.jobs)
    pairs = [pair for pair in silicon.PAIRS if pair[0].module in only]
    if "quality" in arguments.parts and pairs:
        with steps, jobs.session(options):
            quality = silicon.measure_pairs(
                pairs, library, lambda rows: keep("quality", rows), quick=quick
            )
        show(console, f"Mapped and placed: {library.name}", quality, silicon.QUALITY)
        console.print(quality[0]["versions"])
        if arguments.docs:
            write_table(f"figures {name}", markdown(quality, silicon.QUALITY))
    if "wires" in arguments.parts:
        with steps, jobs.session(options):
            grown = silicon.measure_grown(
                arguments.sizes or silicon.SIDES, library, lambda rows: keep("wires", rows)
            )
        show(console, f"Arrays with wires: {library.name}", grown, silicon.GROWN)
        if arguments.docs:
            write_table(f"wires {name}", markdown(grown, silicon.GROWN))
    if "sizes" in arguments.parts:
        names = [name for name in SIDES if name in only]
        with steps, jobs.session():
            sizes = measure_sizes(
                names,
                arguments.sizes or SIZES,
                library,
                steps,
                lambda rows: keep("sizes", rows),
                arguments.recipe,
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
