"""Measure the co-processor on ECP5, and what is around its engine, as `carrysave synth` does.

.venv/bin/python scripts/figures/bench_shell.py [--seeds N] [-p NAME=VALUE ..] [--docs]

The shell is the co-processor less its engine, each mapped as a whole; Fmax is that of both. With
-p, one co-processor; else those of docs/figures.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from carrysave import jobs
from carrysave.asic.synthesis import synthesise_design
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

TARGET = "ecp5"
ENGINE: dict[str, str] = {"m": "8", "n": "8", "target": TARGET}
SHELL: dict[str, str] = {"engine": "systolic_os", "data_width": "64", **ENGINE}
_SMALL = {"sum_copies": "2", "address_width": "32", "dimension_width": "16", "sums": "2048"}
_TURNS = {"requantisers": "2"}
_SUMS = {"bias": "false", "requantise": "false", "per_column": "false"}
_LEAST = dict.fromkeys(("ring", "accumulate", "blocks", "counters"), "false")
SHELLS: dict[str, dict[str, str]] = {
    "all there is": {},
    "all, `requantisers=2`": _TURNS,
    "all, `requantisers=2`, `sum_copies=2`": _TURNS | {"sum_copies": "2"},
    "all, small: and `address_width=32`, `dimension_width=16`, `sums=2048`": _TURNS | _SMALL,
    "all but `counters`, small": _TURNS | _SMALL | {"counters": "false"},
    "sums only": _SUMS,
    "sums only, small": _SUMS | _SMALL,
    "sums only, small; no `ring`, `accumulate`, `blocks`, `counters`": _SUMS | _SMALL | _LEAST,
}
PLACED = ("all there is", "all, small: and `address_width=32`, `dimension_width=16`, `sums=2048`")
"""Which are placed: each seed takes minutes."""
KINDS = {
    "LUTs": "luts",
    "of these LUT RAM": "lutrams",
    "FFs": "ffs",
    "DSPs": "dsps",
    "BRAMs": "brams",
}
LUTS_OF_A_RAM = 4
TITLE = "shell, 64-bit bus"
TABLE = (
    {TITLE: "{}"}
    | dict.fromkeys(KINDS, "{:,}")
    | {"LUTs with the engine": "{:,}", "MHz with it": "{:.0f}", "seeds": "{}"}
)


def main() -> None:
    """Synthesise, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=0, help="placer seeds; 0: not placed")
    parser.add_argument("-p", action="append", default=[], help="NAME=VALUE of the co-processor")
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    given = {name: value for name, _, value in (p.partition("=") for p in arguments.p)}
    if given and arguments.docs:
        parser.error("--docs writes the whole table: leave -p out")
    console = Console(width=140)
    rows = []
    with Steps(Console(stderr=True)) as steps, jobs.session():
        engine = measure(Design.parse("systolic_os", ENGINE), 0, steps.note)
        for name, parameters in ({"as given": given} if given else SHELLS).items():
            steps.step(f"{name}: {parameters}")
            seeds = arguments.seeds if given or name in PLACED else 0
            design = Design.parse("coprocessor", {**SHELL, **parameters})
            rows.append({TITLE: name} | row(measure(design, seeds, steps.note), engine))
    show(console, "The shell: a co-processor less its engine; Fmax is of both", rows, TABLE)
    if arguments.docs:
        write_table("shell", markdown(rows, TABLE))


def measure(design: Design, seeds: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Synthesise a design as the command does; not placed if there are no seeds."""
    how = {"seeds": seeds} if seeds else {"place": False}
    return dict(synthesise_design(design, TARGET, progress=progress, **how))


def row(whole: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table: the resources of a whole less those of its engine."""
    shell = {title: whole[name] - engine[name] for title, name in KINDS.items()}
    shell["of these LUT RAM"] *= LUTS_OF_A_RAM
    speeds = [seed["fmax_mhz"] for seed in whole["seeds"] if seed["fmax_mhz"] is not None]
    return {
        **shell,
        "LUTs with the engine": whole["luts"],
        "MHz with it": whole["fmax_mhz"],
        "seeds": ", ".join(f"{speed:.0f}" for speed in speeds),
    }


if __name__ == "__main__":
    main()
