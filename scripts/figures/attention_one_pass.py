"""Cycles of a head in one pass over its scores, and with a softmax of whole rows, simulated.

.venv/bin/python scripts/figures/attention_one_pass.py [--blocks] [--docs]

128 queries; keys and values of 64 codes of int8, scores of 15 bits in units of 2^-8, shares of 7
bits, all in memory; arrays of 8 x 8 and 16 x 16 with as many lanes, a bus of 128 bits. The jobs of
all ways are made alike: scores, shares, sums of 15 bits, and results of a byte. One pass is over
rows that are one block; with `--blocks` over blocks of 16 keys, whose sums are shifted by octaves.
Errors are root mean squares against float64, of the same scores, relative to that of the outputs.
`--modelled` has cycles of the model alone.
"""

import argparse
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.heads import Head, attend
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows, scaled, scaling
from carrysave.compiler.program.one_pass import ONE
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.block import by_block
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.job_cycles import ends_of, ring_job
from carrysave.driver.system import counters_of
from hw.catalog import Design
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import write_table

QUERIES, WIDTH, LENGTHS, SIDES = 128, 64, (128, 512, 2048), (8, 16)
DEVIATION, BITS, SCALE_WIDTH = 2.0, 15, 8
NAMES = {False: "one_pass_cycles", True: "one_pass_blocks"}
BLOCK, ONE_BLOCK, WHOLE = "blocks of 16", "one pass", "whole rows"
COLUMNS = {"array": "{}", "keys": "{:,}", "way": "{}", "cycles": "{:,}"}
COLUMNS |= {"a key": "{:.1f}", "of the array": "{:.1%}", "error": "{:.2%}"}


def target_of(side: int, keys: int, way: str) -> Target:
    """Return a co-processor whose unit has a way, with rows of one block, or blocks of 16."""
    block = 16 if way == BLOCK else max(keys, side)
    unit = f"vector_unit(operations=softmax,scale,exps,divide,lanes={side},length={keys},"
    unit += f"width={BITS},scale_width={SCALE_WIDTH},signed=true,block={block})"
    given = {"m": str(side), "n": str(side), "outstanding": "64", "code_bytes": "2"}
    given["shares"] = str(way == BLOCK).lower()
    return Target(Design.parse("coprocessor", given | {"vector": unit}))


def whole_rows(image: Image, head: Head) -> None:
    """Add the jobs of a head with a softmax, as those of a sentence have it."""
    target, (queries, keys) = image.target, (head.queries.rows, head.keys.columns)
    scores = image.reserve("scores", queries, keys, 16)
    shares = image.reserve("shares", queries, keys + 1, 8)
    mixed = image.reserve("mixed", queries, WIDTH, 16)
    image.start(
        "head", "product", product(target, head.queries, head.keys, scores, how=head.scoring)
    )
    image.start("head", "softmax", rows(target, "softmax", scores, shares))
    less = max(6 + (keys - 1).bit_length() + 7 - (BITS - 1), 0)
    values, share = head.values.part(None, (0, WIDTH)), shares.part(None, (0, keys))
    how = scaled(2.0**-less, (1 << BITS - 1) - 1)
    image.start("head", "product", product(target, share, values, mixed, how=how))
    exponents, context = shares.part(None, (keys, keys + 1)), head.context.part(None, (0, WIDTH))
    job = rows(
        target, "scale", mixed, context, b=exponents, how=scaling(2.0**less, 8, multiplier_bits=12)
    )
    image.start("head", "scale", job)


def measure(side: int, keys: int, way: str, *, simulate: bool = True) -> dict[str, Any]:
    """Simulate a head; SystemExit if anything is not what golden computes."""
    target = target_of(side, keys, way)
    rng, image = np.random.default_rng(1), Image(target)
    q, k = rng.integers(-128, 128, (QUERIES, WIDTH)), rng.integers(-128, 128, (WIDTH, keys))
    v = np.c_[rng.integers(-127, 128, (keys, WIDTH)), np.full(keys, ONE)]
    scale = DEVIATION * 2.0**SCALE_WIDTH / float((q @ k).std())
    head = Head(
        queries=image.place("queries", q, 8),
        keys=image.place("keys", k, 8),
        values=image.place("values", v, 8),
        context=image.reserve("context", QUERIES, WIDTH + 1, 8),
        scoring=scaled(scale, (1 << BITS - 1) - 1),
    )
    (whole_rows if way == WHOLE else partial(attend, node="head"))(image, head=head)
    program = assembled(image, [image.steps])
    memory, left = program.memory.copy(), program.memory.copy()
    by_golden(program, memory)(program.sections[0])
    if simulate:
        by_block(program, left, ROOT / "build" / "runs")(program.sections[0])
    else:
        left = memory
    for name, buffer in program.buffers.items():
        if not np.array_equal(buffer.read(left), buffer.read(memory)):
            raise SystemExit(f"{target.design.module}: {name} is wrong on the simulated block")
    steps = [step for step in program.sections[0].steps if isinstance(step, Start)]
    jobs = [ring_job(job, target) for step in steps for job in step.jobs]
    modelled = ends_of(jobs, target)[-1]
    cycles = modelled
    if simulate:
        cycles = counters_of(left, [step.counters for step in steps])["cycles"]
    name = next(name for name in program.buffers if name.endswith("scores"))
    scores = program.buffers[name].read(memory) / 2.0**SCALE_WIDTH
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    right = weights / weights.sum(axis=1, keepdims=True) @ v[:, :WIDTH]
    made = program.buffers["context"].read(memory)[:, :WIDTH]
    least = 2 * QUERIES * WIDTH * keys / side**2
    return {
        "array": f"{side} x {side}",
        "keys": keys,
        "way": way,
        "cycles": cycles,
        "model": modelled,
        "a key": cycles / keys,
        "of the array": least / cycles,
        "error": float(np.sqrt(((made - right) ** 2).mean() / (right**2).mean())),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    parser.add_argument("--keys", type=int, nargs="+", default=LENGTHS, help="lengths of rows")
    parser.add_argument("--sides", type=int, nargs="+", default=SIDES, help="rows of the array")
    parser.add_argument("--blocks", action="store_true", help="over blocks of 16 keys")
    parser.add_argument("--modelled", action="store_true", help="do not simulate")
    arguments = parser.parse_args()
    ways = (BLOCK,) if arguments.blocks else (WHOLE, ONE_BLOCK)
    kinds = [(s, n, way) for s in arguments.sides for n in arguments.keys for way in ways]
    made = [measure(*kind, simulate=not arguments.modelled) for kind in kinds]
    columns = COLUMNS | ({"model": "{:,}"} if arguments.blocks else {})
    show(Console(), f"A head of {QUERIES} queries x {WIDTH}", made, columns)
    if arguments.docs:
        write_table(NAMES[arguments.blocks], markdown(made, columns))


if __name__ == "__main__":
    main()
