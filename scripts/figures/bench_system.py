"""Measure products on the simulated system, and compare the model of its cycles with them.

.venv/bin/python scripts/figures/bench_system.py

28 shapes, each in the planner's blocks and in those that the model prefers, on a 4 x 4 engine.
Writes verif/compiler/measured.json, to which golden.soc.memory_timing.LitedramTiming is fitted, and
prints how far the model is apart. Operands are whatever is in memory: no cycle depends on them.
"""

import argparse
import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from carrysave import cache
from carrysave.compiler.program.assemble import assemble
from carrysave.compiler.program.cut import Part, Sources
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import COUNTERS, Image
from carrysave.compiler.program.products import placed
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from carrysave.driver.job import Job
from carrysave.driver.system import Plan, Tensor
from carrysave.system.boards import design_of, system_board_of
from carrysave.system.generate import System, write
from carrysave.system.simulate import simulate
from golden.soc.blocking import plan

ROOT = Path(__file__).resolve().parents[2]
SHAPES = (
    (1, 64, 32), (1, 32, 10), (1, 64, 10), (1, 256, 16), (1, 128, 64), (1, 16, 4), (2, 32, 16),
    (4, 64, 16), (8, 64, 8), (16, 72, 16), (16, 16, 16), (64, 9, 8), (64, 9, 4), (64, 16, 16),
    (32, 32, 32), (64, 64, 16), (128, 9, 8), (196, 25, 6), (49, 72, 16), (100, 27, 12),
    (16, 144, 32), (3, 500, 10), (13, 29, 11), (64, 1, 8), (1, 1, 1), (4, 4, 4), (64, 72, 8),
    (8, 8, 64),
)  # fmt: skip
ENGINE = "systolic_os(m=4,n=4,target=ecp5)"
APART = 20
"""From a section to the word that has its starts run each by itself."""
DEFAULTS = {one.name: one.default for one in fields(Job)}


def add(image: Image, shape: tuple[int, int, int], chosen: bool) -> tuple[Job, int]:
    """Add a product to a program; return its job, and the address of its counters."""
    m, k, n = shape
    how = Requantisation(multiplier=np.full(n, 1 << 20), shift=np.full(n, 30), zero_point=0)
    work = Work(
        a=np.zeros((m, k)),
        b=np.zeros((k, n), np.int64),
        bias=np.zeros(n, np.int64),
        requantisation=how,
    )
    stride = image.stride(8, k)
    a = image.room(m * stride) + stride * np.arange(m)[:, None] + np.arange(k)
    sources = Sources(parts=[Part(work=work, a=a)], shaped=np.stack, macs=m * k * n)
    ((group,), _) = placed(image, sources, ("", ""))
    job = group.job
    if not chosen:
        blocks = plan(image.target.info.stores, m, n, k, 8)
        job = replace(
            job, block_m=blocks.m, block_n=blocks.n, block_k=blocks.k, by_columns=blocks.by_columns
        )
    counters = image.room(COUNTERS)
    image.steps.append(
        Start(
            node="", operator="", groups=(JobGroup(job=job),), cycles=0, macs=0, counters=counters
        )
    )
    return job, counters


def main() -> None:
    """Measure, write, print."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    board, chosen = system_board_of("ulx3s_85f")
    memory = chosen.sdram.timing
    target = Target(design_of(board, {"engine": ENGINE}), timing=memory)
    image = Image(target)
    assert memory.sdram is not None
    added = [
        add(image, shape, chosen_blocks) for shape in SHAPES for chosen_blocks in (True, False)
    ]
    ring = image.room(0)
    (section,), _ = assemble(image, [image.steps], (ring, 0, 1))
    here = Tensor(np.zeros(1, np.int64), np.dtype(np.int8), 0)
    layers = [(here, [counters]) for _, counters in added]
    folder = ROOT / "build" / "bench_system"
    system = System(
        board=board,
        chosen=chosen,
        design=target.design,
        clock_hz=1e6 * chosen.clock_mhz,
        simulated=True,
    )
    written = write(system, folder, print)
    # Operands need not be there.
    parts = {at: image.parts[at] for at in (section.start, *(one.at for one in section.rings))}
    bare = Plan(parts, section.start, {}, layers, apart=section.start + APART)
    (outcome,) = simulate(written, bare, [({}, {})], folder / "runs", apart=True).outcomes
    measured = []
    apart = []
    for (job, _), counters in zip(added, outcome.counters, strict=True):
        values = {name: value for name, value in vars(job).items() if value != DEFAULTS.get(name)}
        values.pop("requantisation")
        measured.append({"job": values, "cycles": counters["cycles"]})
        apart.append(cycles_of(job, target) / counters["cycles"] - 1)
        blocks = job.block_m, job.block_n, job.block_k
        print(
            f"{job.m} x {job.k} x {job.n}, blocks {blocks}: {counters['cycles']} cycles,"
            f" {apart[-1]:+.1%} by model"
        )
    lines = ",\n".join(f"  {json.dumps(one)}" for one in measured)
    path = cache.write(ROOT / "verif" / "compiler" / "measured.json", f"[\n{lines}\n]\n")
    print(f"{np.mean(np.abs(apart)):.1%} apart in the mean, {np.max(np.abs(apart)):.1%} at most")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
