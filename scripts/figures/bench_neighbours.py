"""Measure how many recipes a search needs that begins with those of other designs.

.venv/bin/python scripts/figures/bench_neighbours.py [--trials N] [--seeds N] [--json] [--docs]

Each of the designs of ``bench_recipes.py`` is held out: the search begins with what was best for
the three of the others that are most like it, and is over when it has what a search without them
has after all its recipes. osu018, flat; what is measured and stored lies in build/neighbours.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave import jobs
from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.figures.bench_recipes import DESIGNS
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

NEAREST = 3
COLUMNS = {
    "design": "{}",
    "begins with those of": "{}",
    "alone": "{:,.0f}",
    "with neighbours": "{:,.0f}",
    "reached": "{}",
    "gain alone, %": "{:.1f}",
    "gain with neighbours, %": "{:.1f}",
}
FOLDER = Path(__file__).parents[2] / "build" / "neighbours"
STORED, SHELF = FOLDER / "recipes", FOLDER / "shelf"


def searched(design: Design, seed: int, near: int, trials: int, steps: Steps) -> dict[str, Any]:
    """Return what a search of recipes says of itself, with these that are stored."""
    steps.step(f"{design.module}, seed {seed}, {near or 'no'} neighbours")
    result = synthesis.synthesise_design(
        design,
        cells.osu018(),
        search_recipes=trials,
        recipe_seed=seed,
        neighbours=near,
        activity="none",
        hierarchy="flat",
        progress=steps.note,
    )
    return result["recipe_search"]


def alone(design: Design, seeds: int, trials: int, steps: Steps) -> list[dict[str, Any]]:
    """Search without neighbours; what is stored goes to the design's place on the shelf."""
    shutil.rmtree(STORED, ignore_errors=True)
    done = [searched(design, seed, 0, trials, steps) for seed in range(seeds)]
    shutil.rmtree(SHELF / design.module, ignore_errors=True)
    shutil.move(STORED, SHELF / design.module)
    return done


def together(
    design: Design, others: list[Design], seeds: int, trials: int, steps: Steps
) -> list[dict[str, Any]]:
    """Search with what is stored for others, but for builds that are this design's, too."""
    same = {file.name for file in (SHELF / design.module).iterdir()}
    files = [
        file
        for other in others
        if other is not design
        for file in (SHELF / other.module).iterdir()
        if file.name not in same
    ]
    done = []
    for seed in range(seeds):
        shutil.rmtree(STORED, ignore_errors=True)
        STORED.mkdir()
        for file in files:
            shutil.copy(file, STORED)
        done.append(searched(design, seed, NEAREST, trials, steps))
    return done


def compared(
    design: Design, before: list[dict[str, Any]], after: list[dict[str, Any]], trials: int
) -> dict[str, Any]:
    """Return the row of a design: medians over the seeds."""
    counts = []
    for one, other in zip(before, after, strict=True):
        wanted = one["steps"][-1][1]
        counts.append(
            min((at for at, value in other["steps"] if value <= wanted), default=trials + 1)
        )
    return {
        "design": design.module,
        "begins with those of": ", ".join(
            each["design"]["design"] for each in after[0]["neighbours"]
        ),
        "alone": statistics.median(one["steps"][-1][0] for one in before),
        "with neighbours": statistics.median(counts),
        "reached": f"{sum(count <= trials for count in counts)} of {len(counts)}",
        "gain alone, %": 100 * statistics.median(one["gain"] for one in before),
        "gain with neighbours, %": 100 * statistics.median(one["gain"] for one in after),
    }


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="modules of designs; all if there are none")
    parser.add_argument("--trials", type=int, default=100, help="recipes of each search")
    parser.add_argument("--seeds", type=int, default=5, help="searches of each design")
    parser.add_argument("--jobs", type=int, help="how many at a time; a core each if absent")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    os.environ["CARRYSAVE_CACHE"] = str(FOLDER)
    names = arguments.names or [one.module for one in DESIGNS]
    designs = [one for one in DESIGNS if one.module in names]
    size = arguments.seeds, arguments.trials
    steps = Steps(Console(stderr=True))
    with steps, jobs.session(jobs.Options(jobs=arguments.jobs)):
        steps.plan(2 * len(designs) * arguments.seeds)
        before = [alone(design, *size, steps) for design in designs]
        rows = [
            compared(design, first, together(design, designs, *size, steps), arguments.trials)
            for design, first in zip(designs, before, strict=True)
        ]
    if arguments.docs:
        write_table("neighbours", markdown(rows, COLUMNS))
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    console = Console() if sys.stdout.isatty() else Console(width=180)
    show(console, f"{arguments.trials} recipes, {arguments.seeds} seeds", rows, COLUMNS)


if __name__ == "__main__":
    main()
