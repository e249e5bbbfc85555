"""Measure groups of a product: cycles of one job with a count against the dense product.

.venv/bin/python scripts/figures/bench_groups.py

Each is a program that the driver runs on the simulated block, compared with golden byte by byte.
Weights are block-diagonal: a dense product has g times the products of its g groups.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.block import by_block
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stepwise import first_difference
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.system import counters_of
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

SIDE = 8
BURSTS = (16, 64)
"""Outstanding each way: by default, and as many as rows of one beat need to hide the latency."""
SIZES = ((256, 256, 256), (64, 128, 128))
"""M, K, N of dense products."""
COLUMNS = {
    "M x K x N": "{}",
    "groups": "{}",
    "of a group": "{}",
    "bursts": "{}",
    "cycles": "{:,}",
    "model": "{:,}",
    "of dense / groups": "{:.3f}",
}


def program_of(target: Target, size: tuple[int, int, int], groups: int) -> Program:
    """Return a product of weights in so many blocks: K of A and N of C are split."""
    (m, k, n), image, rng = size, Image(target), np.random.default_rng(1)
    a = image.aligned("a", rng.integers(-128, 128, (m, k)), 8)
    b = image.aligned("b", rng.integers(-128, 128, (k, n // groups)), 8)
    c = image.reserve("c", m, n, 8, stride=image.stride(8, n))
    deep, wide = k // groups, n // groups
    for at in range(groups):
        along = at * deep, (at + 1) * deep
        job = product(
            target,
            a.part(None, along),
            b.part(along),
            c.part(None, (at * wide, (at + 1) * wide)),
            how=Requantisation(multiplier=1, shift=9),
        )
        image.start("product", "product", job)
    return assembled(image, [image.steps])


def measure(target: Target, folder: Path, step: Any) -> list[dict[str, Any]]:
    """Run products on the simulated block."""
    rows: list[dict[str, Any]] = []
    for size in SIZES:
        dense = 0
        groups = 1
        while min(size[1:]) // groups >= SIDE:
            step(f"{' x '.join(map(str, size))} in {groups}")
            program = program_of(target, size, groups)
            memory, expected = program.memory.copy(), program.memory.copy()
            by_block(program, memory, folder)(program.sections[0])
            by_golden(program, expected)(program.sections[0])
            if wrong := first_difference(program, memory, expected):
                raise SystemExit(wrong)
            starts = [one for one in program.steps if isinstance(one, Start)]
            assert sum(len(one.groups) for one in starts) == 1
            cycles = counters_of(memory, [one.counters for one in starts])["cycles"]
            dense = dense or cycles
            m, k, n = size
            rows.append({
                "M x K x N": f"{m} x {k} x {n}",
                "groups": groups,
                "of a group": f"{m} x {k // groups} x {n // groups}",
                "cycles": cycles,
                "model": sum(one.cycles for one in starts),
                "of dense / groups": cycles * groups / dense,
            })
            groups *= 2
    return rows


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    engine = f"systolic_os(m={SIDE},n={SIDE})"
    console = Console() if sys.stdout.isatty() else Console(width=140)
    with Steps(Console(stderr=True)) as steps, tempfile.TemporaryDirectory() as folder:
        rows = []
        for bursts in BURSTS:
            design = Design.parse("coprocessor", {"engine": engine, "outstanding": str(bursts)})
            measured = measure(Target(design), Path(folder), steps.step)
            rows += [row | {"bursts": bursts} for row in measured]
    show(console, f"Groups of a product on {SIDE} x {SIDE}", rows, COLUMNS)
    if arguments.docs:
        write_table("groups", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()
