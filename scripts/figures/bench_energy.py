"""Measure where the energy of arrays and elements goes, and the least at their twins' clock.

    .venv/bin/python scripts/figures/bench_energy.py --liberty sky130_fd_sc_hd__tt_025C_1v80.lib.gz
    .venv/bin/python scripts/figures/bench_energy.py --liberty ... --docs   also rewrites its tables

Written to build/energy.LIBRARY.json. What was done is cached by content: a run that was stopped
goes on where it was.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave import cache, jobs
from carrysave.asic import recipes
from carrysave.asic.design_job import design_job
from carrysave.asic.liberty.cells import Library
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.figures import silicon
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

ROOT = Path(__file__).resolve().parents[2]

LEAST = [
    (Design("opt1", {"upper": "counter"}), 2.658),
    (Design("opt1", {"upper": "counter"}), 2.499),
    (Design("systolic_os", {"upper": "counter"}), 2.597),
]
"""A design and a period to meet, ns, on sky130: that of ``mac`` with Booth's recoding, that of
``mac`` as it is today, and that of the array of these."""

_PARTS = {
    "flip-flops": "flip_flops",
    "clock pins": "clock_pins",
    "clock gates": "clock_gates",
    "logic": "logic",
    "glitches": "glitches",
}
_OF_MAC = ("um2 a MAC", "flip-flops, um2")
SPENT = {
    "module": "{}",
    "ns": "{:.3f}",
    **dict.fromkeys(_OF_MAC, "{:,.0f}"),
    "pJ": "{:.2f}",
    **dict.fromkeys(_PARTS, "{:.2f}"),
    "transitions that are glitches": "{:.0%}",
}
QUIET = {
    "module": "{}",
    "period, ns": "{:.3f}",
    "recipe": "{}",
    "ns": "{:.3f}",
    "um2": "{:,.0f}",
    "pJ": "{:.2f}",
    **dict.fromkeys(_PARTS, "{:.2f}"),
}


def row(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a result: energies in pJ of a multiply-accumulate."""
    macs = facts["power_mw"] * facts["period_ns"] / facts["pj_per_mac"]  # in a cycle
    areas = facts["area_um2"] / macs, facts["area_sequential_um2"] / macs
    return {
        "module": facts["module"],
        "ns": facts["period_ns"],
        "um2": facts["area_um2"],
        **dict(zip(_OF_MAC, areas, strict=True)),
        "pJ": facts["pj_per_mac"],
        **{name: facts["energy_parts"][key] / macs for name, key in _PARTS.items()},
        "transitions that are glitches": facts["glitches"],
        "recipe": facts["recipe"],
        "versions": facts["versions"],
    }


def measure(
    wanted: Sequence[jobs.Job],
    periods: Sequence[float],
    keep: Callable[[list[dict[str, Any]]], None],
) -> list[dict[str, Any]]:
    """Run syntheses, each for a period or for none (0); `keep` all rows after each.

    Raises
    ------
    SystemExit
        If a design does not meet its period.
    """
    rows: list[dict[str, Any]] = []
    for period, outcome in zip(periods, jobs.run(wanted, ordered=True), strict=True):
        measured = row(outcome.get())
        if 0 < period < measured["ns"]:
            sys.exit(
                f"{measured['module']} must meet {period} ns; its best is {measured['ns']:.3f}"
            )
        rows.append({**measured, "period, ns": period})
        keep(rows)
    return rows


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--liberty", type=Path, required=True, help="cell library")
    parser.add_argument("--jobs", type=int, help="how many at a time; a core each if absent")
    parser.add_argument("--docs", action="store_true", help="rewrite the tables of docs/figures")
    arguments = parser.parse_args()
    library = Library.load(arguments.liberty)
    console = Console() if sys.stdout.isatty() else Console(width=180)
    steps = Steps(Console(stderr=True))
    path = ROOT / "build" / f"energy.{library.name}.json"
    record: dict[str, Any] = {"library": library.name}

    def keeper(part: str) -> Callable[[list[dict[str, Any]]], None]:
        def keep(rows: list[dict[str, Any]]) -> None:
            record[part] = rows
            cache.write(path, json.dumps(record, indent=2) + "\n")

        return keep

    designs = silicon.designs()
    dense = [design_job(one, library, stored_recipes=[recipes.PROJECT]) for one in designs]
    quiet = [
        design_job(design, library, objective="energy", period_ns=period)
        for design, period in LEAST
    ]
    with steps, jobs.session(jobs.Options(jobs=arguments.jobs, progress=steps.jobs)):
        spent = measure(dense, [0.0] * len(dense), keeper("spent"))
        least = measure(quiet, [period for _, period in LEAST], keeper("least"))
    for title, name, rows, columns in (
        ("Where energy goes, pJ of a MAC", "energy sky130", spent, SPENT),
        ("Least energy for a period, pJ of a MAC", "least energy sky130", least, QUIET),
    ):
        show(console, title, rows, columns)
        if arguments.docs:
            write_table(name, markdown(rows, columns))


if __name__ == "__main__":
    main()
