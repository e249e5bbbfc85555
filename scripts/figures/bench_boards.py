"""Build the default co-processor of every board that open tools build for.

.venv/bin/python scripts/figures/bench_boards.py [--only BOARD ..] [--seeds N] [--docs]

Prints size, clock and GOPS of each, and says which cannot be built. What is built is kept: a run
that was ended goes on where it was. Rows of boards that are not asked for, or that failed, stay;
each says of which revision it is, and of how many runs the best. The clocks of
carrysave/boards/board.py, which are asked for first, are of this table.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from carrysave.boards.board import BOARDS
from carrysave.boards.build import TooLargeError, build
from carrysave.boards.clock_search import SEEDS
from carrysave.fpga.place import FpgaError
from carrysave.jobs.provenance import revision
from carrysave.progress import Steps
from hw.emit.yosys import YosysError
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

COLUMNS = {
    "board": "{}",
    "FPGA": "{}",
    "engine": "{}",
    "LUTs": "{}",
    "DSPs": "{}",
    "RAMs": "{}",
    "Fmax, MHz": "{:.1f}",
    "clock, MHz": "{:.1f}",
    "GOPS": "{:.2f}",
    "baud": "{:,}",
    "runs": "{}",
    "revision": "{}",
}


def main() -> None:
    """Build, print."""
    known = [name for name, board in BOARDS.items() if board.part is not None]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=known, default=known, help="these boards")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs of each, as build has")
    parser.add_argument("--docs", action="store_true", help="rewrite these rows of docs/figures")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=150)
    rows, failed = [], []
    with Steps(Console(stderr=True)) as steps:
        steps.plan(len(arguments.only))
        for name in arguments.only:
            steps.step(name)
            try:
                rows.append(measure(name, arguments.seeds, steps))
            except (TooLargeError, FpgaError, YosysError) as error:
                failed.append(f"{name}: {error}")
                console.print(failed[-1], highlight=False)
    show(console, "Default builds of boards", rows, COLUMNS)
    missed = [row["board"] for row in rows if not row["ok"]]
    if arguments.docs:
        write_table("boards", markdown(rows, COLUMNS), part=len(rows) < len(known))
    sys.exit(bool(failed or missed))


def measure(name: str, seeds: int, steps: Steps) -> dict[str, Any]:
    """Build the default of a board, from so many seeds."""
    board = BOARDS[name]
    with TemporaryDirectory() as folder:
        design, report = build(board, {}, Path(folder), steps.note, seeds=seeds)
    inside = design.spec.inside
    commit, changed, _ = revision().partition("+")
    used = {part: f"{report[part]:,} of {limit:,}" for part, limit in report["capacity"].items()}
    return {
        "board": name,
        "FPGA": report["part"],
        "engine": f"{inside.m} x {inside.n}",
        "LUTs": used["luts"],
        "DSPs": used.get("dsps", used.get("places")),
        "RAMs": used["brams"],
        "Fmax, MHz": report["fmax_mhz"],
        "clock, MHz": report["clock_mhz"],
        "GOPS": report["gops"],
        "baud": report["baud"],
        "runs": len(report["runs"]),
        "revision": f"{commit[:8]}{changed and '+'}",
        "ok": report["ok"],
    }


if __name__ == "__main__":
    main()
