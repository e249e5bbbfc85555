"""Counts the bytes on the bus of MobileNetV1, with what is on chip chosen by a rule, and by an ILP.

    .venv/bin/python scripts/figures/bench_schedule.py           prints the table
    .venv/bin/python scripts/figures/bench_schedule.py --docs    also rewrites that of docs

Bytes and cycles are the cost model's, of an 8 x 8 array on a bus of 64 bits. MobileNetV1 has random
codes, as no package has the network; what a layer takes does not depend on them. A program's bytes
in memory are replayed by the checker of the tests.
"""

import argparse
import time
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.schedule import SCHEDULES, Schedule
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.traffic import traffic_of
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from scripts.figures.bench_depthwise import BUILDS, mobilenet
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table
from verif.compiler.replay import replay

SIZES = (16384, 32768, 65536, 131072, 262144)
COLUMNS = {
    "on chip": "{:,}",
    "compulsory bytes": "{:,}",
    "greedy": "{:,}",
    "ilp": "{:,}",
    "excess, greedy": "{:,}",
    "excess, ilp": "{:,}",
    "ratio": "{:.2f}",
    "cycles, greedy": "{:,}",
    "cycles, ilp": "{:,}",
    "solver, s": "{:.2f}",
    "more to compile, s": "{:.1f}",
}


def row(size: int) -> dict[str, Any]:
    """Compile with both schedules; return what these take."""
    model = mobilenet()
    design = {"engine": "systolic_os(m=8,n=8)", "data_width": "64", "scratch": str(size)}
    target = Target(Design.parse("coprocessor", design | BUILDS["3 for each of 3 rows"]))
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    made: dict[str, Any] = {"on chip": size}
    seconds = []
    for way in SCHEDULES:
        began = time.monotonic()
        given = {"x": np.zeros((1, 3, 128, 128), np.uint8)}
        program = compile_network(lowered, target, given, schedule=Schedule(way=way))
        seconds.append(time.monotonic() - began)
        traffic = traffic_of(program)
        assert traffic is not None
        replay(program, model)
        made |= {"compulsory bytes": traffic.compulsory, way: traffic.bytes}
        made[f"excess, {way}"] = traffic.excess
        cycles = (step.cycles for step in program.steps if isinstance(step, Start))
        made[f"cycles, {way}"] = sum(cycles)
        if program.solved is not None:
            made["solver, s"] = program.solved.seconds
    made["ratio"] = made["excess, ilp"] / made["excess, greedy"]
    return made | {"more to compile, s": seconds[1] - seconds[0]}


def main() -> None:
    """Compile, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    rows = [row(size) for size in SIZES]
    show(Console(), "MobileNetV1-0.25, 128 x 128, 8 x 8, int8; one input", rows, COLUMNS)
    if arguments.docs:
        write_table("schedule", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()
