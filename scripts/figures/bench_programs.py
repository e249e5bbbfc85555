"""Compiles networks to programs, and counts what is in them.

    .venv/bin/python scripts/figures/bench_programs.py            those whose packages are there
    .venv/bin/python scripts/figures/bench_programs.py --models FOLDER    and others, from files
    .venv/bin/python scripts/figures/bench_programs.py --docs     also rewrites the table of docs

Writes build/programs.json.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carrysave import cache
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.target.target import Target
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table
from verif.compiler.others import OTHERS, quantised
from verif.support.networks import MODELS, quantise

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "programs"
COLUMNS = {
    "network": "{}",
    "build": "{}",
    "host segments": "{}",
    "jobs": "{:,}",
    "MMACs": "{:.4g}",
    "cycles of jobs": "{:,}",
    "utilisation": "{:.1%}",
    "moved bytes": "{:,}",
    "numbers in floats": "{:,}",
    "bytes": "{:,}",
}
BUILDS: dict[str, dict[str, str]] = {
    "default": {},
    "windows": {
        "data_width": "64",
        "windows": "true",
        "taps": "5",
        "table": "true",
        "requantisers": "8",
        "outstanding": "32",
        "vector": "vector_unit(lanes=8,length=4096,width=16)",
    },
}
"""Parameters of the co-processor besides its array."""


def networks(models: Path | None) -> Iterator[tuple[str, Path, np.ndarray]]:
    """Yield the name of each network that is there, its file with codes, and an input."""
    for name, make in MODELS.items():
        task = make(FOLDER)
        yield name, quantise(task, FOLDER / "codes" / f"{name}.onnx"), task.inputs[:1]
    for name in OTHERS:
        try:
            yield name, *quantised(name, FOLDER / "codes", models)
        except FileNotFoundError:
            try:
                yield name, *quantised(name, FOLDER / "codes")
            except FileNotFoundError as error:
                print(f"{name}: {error}", file=sys.stderr)


def row(name: str, path: Path, x: np.ndarray, build: str) -> dict[str, Any]:
    """Compile a network for a build; return what is in the program."""
    parameters = {"engine": "systolic_os(m=8,n=8)"} | BUILDS[build]
    target = Target(Design.parse("coprocessor", parameters))
    graph = load(path)
    lowered = lower(graph, target, until=PASSES[-1].name)
    program = compile_network(lowered, target, {next(iter(graph.inputs)): x})
    known = facts(program, "", name)
    macs = sum(one["macs"] for one in known["nodes"])
    return {
        "network": name,
        "build": build,
        "host segments": known["host_segments"],
        "jobs": known["jobs"],
        "MMACs": macs / 1e6,
        "cycles of jobs": known["cycles"],
        "utilisation": macs / (target.peak(None) * known["cycles"]),
        "moved bytes": sum(one["moved_bytes"] for one in known["nodes"]),
        "numbers in floats": sum(one["numbers"] for one in known["nodes"]),
        "bytes": known["bytes"],
    }


def main() -> None:
    """Compile, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, help="folder with .onnx files of packages")
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    console = Console()
    rows = []
    with Steps(Console(stderr=True)) as steps:
        for name, path, x in networks(arguments.models):
            for build in BUILDS:
                steps.step(f"compile {name}, {build}")
                rows.append(row(name, path, x, build))
    show(console, "Programs for an 8 x 8 array, int8; one input", rows, COLUMNS)
    if arguments.docs:
        write_table("programs", markdown(rows, COLUMNS))
    cache.write(ROOT / "build" / "programs.json", json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
