"""Measure what a search of recipes gains over the fixed list, for ten designs.

.venv/bin/python scripts/figures/bench_recipes.py [--trials N] [--liberty FILE] [--json] [--docs]

Both end alike, with full adders of the library and resized cells; designs are flat.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave import jobs
from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

DESIGNS = (
    Design("mac", {"encoding": "booth"}),
    Design("opt1", {"encoding": "booth"}),
    Design("opt1"),
    Design("opt2", {"encoding": "booth"}),
    Design("opt4c"),
    Design("laconic"),
    Design("lmul"),
    Design("adder_tree", {"n": 1, "k": 8, "pipeline": 2}),
    Design("digit_column", {"m": 1, "n": 4}),
    Design("requantiser", {"n": 1}),
)
COLUMNS = {
    "design": "{}",
    "points of the list": "{:,}",
    "recipes": "{:,}",
    "failed": "{}",
    "best of the list": "{}",
    "um2 x ns": "{:,.0f}",
    "best found": "{}",
    "gain, %": "{:.1f}",
}


def measure(design: Design, target: Any, trials: int, steps: Steps) -> dict[str, Any]:
    """Return what a search gains for a design."""
    result = synthesis.synthesise_design(
        design,
        target,
        sweep=True,
        activity="none",
        hierarchy="flat",
        search_recipes=trials,
        progress=steps.note,
    )
    search = result["recipe_search"]
    before, after = search["before"], search["after"]
    return {
        "design": design.module,
        "points of the list": len(result["sweep"]) - search["trials"],
        "recipes": search["trials"],
        "failed": search["failed"],
        "best of the list": before["recipe"],
        "um2 x ns": before["area_um2"] * before["period_ns"],
        "best found": after["recipe"],
        "gain, %": 100 * search["gain"],
    }


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100, help="recipes of each design")
    parser.add_argument("--liberty", type=Path, help="cell library; osu018 if there is none")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    library = cells.Library.load(arguments.liberty) if arguments.liberty else cells.osu018()
    with Steps(Console(stderr=True)) as steps, jobs.session():
        steps.plan(len(DESIGNS))
        rows = []
        for design in DESIGNS:
            steps.step(design.module)
            rows.append(measure(design, library, arguments.trials, steps))
    if arguments.docs:
        write_table("recipes", markdown(rows, COLUMNS))
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    console = Console() if sys.stdout.isatty() else Console(width=180)
    show(console, f"Recipes searched, {library.name}", rows, COLUMNS)


if __name__ == "__main__":
    main()
