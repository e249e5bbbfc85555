"""Attention with its scores on chip, and in memory: cycles and bytes on the bus, simulated."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.encoder.attention import Attention
from carrysave.compiler.encoder.codes import IntegerEncoder
from carrysave.compiler.encoder.compile import compiled
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.encoder.request import PARAMETERS, unit_of
from carrysave.compiler.front.encoder_weights import read_encoder
from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.cost import Spent, spent
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.block import by_block
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.driver.system import counters_of
from hw.catalog import Design

__all__ = ["LENGTH", "measure_on_chip"]

LENGTH, WIDTH = 128, 64
"""Tokens, and values of a query of the head alone."""
BUILDS = ((128, 0), (128, 16384), (128, 65536), (32, 0), (32, 65536))
"""Bits of a beat, and bytes on chip."""
WHOLE = ((128, 0), (128, 65536))
"""The same, of those on which a layer's attention is simulated, too."""
_ATTENTION = ("0.scores", "0.shares", "0.context")


def measure_on_chip(
    model: Path, tokens: Sequence[int], folder: Path, *, quick: bool = False
) -> list[dict[str, Any]]:
    """Simulate a head alone, and all heads of a layer, and add what the layer's other jobs take.

    Parameters
    ----------
    model : folder of all-MiniLM-L6-v2.
    tokens : numbers of a sentence's; the first :data:`LENGTH` are taken.
    folder : each simulation gets a folder of its own there.
    quick : of layers the model alone.

    Returns
    -------
    Rows of a table. Cycles and bytes on the bus, descriptors of jobs included, are counted by the
    hardware; those of a layer are its attention's and, of all its other jobs, the model's.

    Raises
    ------
    SystemExit
        Something is not what golden computes.
    """
    sentence = np.asarray(tokens[:LENGTH])
    if len(sentence) < LENGTH:
        raise SystemExit(f"a sentence must have {LENGTH} tokens, not {len(sentence)}")
    floats = read_encoder(model)
    unit = unit_of(Target(_design(*BUILDS[0])))
    whole = quantise(floats, ranges(floats, [sentence]), unit)
    encoder = replace(whole, blocks=whole.blocks[:1])
    rows = []
    for build in BUILDS:
        target = Target(_design(*build))
        cycles, moved, modelled = _simulated(_head(encoder, target), folder)
        rows.append(_row(f"a head, {LENGTH} x {WIDTH}", build, (cycles, moved), modelled))
    for build in WHOLE:
        rows += _layer(encoder, sentence, build, None if quick else folder)
    return rows


def _design(data_width: int, scratch: int) -> Design:
    """Return the co-processor, 8 x 8."""
    more = {"data_width": str(data_width)} | ({"scratch": str(scratch)} if scratch else {})
    return Design.parse("coprocessor", PARAMETERS | more)


def _head(encoder: IntegerEncoder, target: Target) -> Program:
    """Return a program of one head of random queries, keys and values; its second section."""
    image = Image(target)
    codes = np.random.default_rng(1).integers(-128, 128, (LENGTH, 3 * WIDTH))
    qkv = image.place("qkv", codes, 8)
    context = image.reserve("context", LENGTH, WIDTH, 8)
    one = replace(encoder, words=encoder.words[:, :WIDTH], heads=1)
    Attention(image, one, "0.", encoder.blocks[0], qkv, context).add()
    return assembled(image, [(), image.steps])


def _layer(
    encoder: IntegerEncoder, sentence: np.ndarray, build: tuple[int, int], folder: Path | None
) -> Iterator[dict[str, Any]]:
    """Measure the attention of a layer, and the whole layer with what the model says."""
    whole = compiled(encoder, [sentence], Target(_design(*build)))
    steps = [step for step in whole.steps if isinstance(step, Start)]
    numbers = [number for number, step in enumerate(steps) if step.node in _ATTENTION]
    first, last = numbers[0], numbers[-1] + 1
    heads = f"attention of a layer, {encoder.heads} heads"
    program = assembled(whole.image, [steps[:first], steps[first:last]])
    counted: tuple[int, int] | None = None
    attends = _modelled(steps[first:last], program)
    if folder is not None:
        *pair, _ = _simulated(program, folder)
        counted = pair[0], pair[1]
    layer = [step for step in steps[:first] + steps[last:] if step.node.startswith("0.")]
    others = _modelled(layer, program)
    made = None if counted is None else (counted[0] + others.cycles, counted[1] + others.moved)
    yield _row(heads, build, counted, attends)
    yield _row("the layer", build, made, attends + others)


def _modelled(steps: Sequence[Start], program: Program) -> Spent:
    return sum((spent(job, program.target) for step in steps for job in step.jobs), Spent())


def _row(
    what: str, build: tuple[int, int], counted: tuple[int, int] | None, modelled: Spent
) -> dict[str, Any]:
    """Return a row; `counted` are cycles, and bytes on the bus; None: it was not simulated."""
    cycles, moved = counted or (None, None)
    return {
        "what": what,
        "bus": build[0],
        "on chip": build[1],
        "jobs": modelled.jobs,
        "cycles": cycles,
        "by the model": modelled.cycles,
        "bytes on the bus": moved,
        "bytes by the model": modelled.moved,
    }


def _simulated(program: Program, folder: Path) -> tuple[int, int, Spent]:
    """Run the second section on the block, and compare with golden.

    Returns
    -------
    Cycles, and bytes on the bus; and what the model says.
    """
    memory = program.memory.copy()
    run = by_golden(program, memory)
    run(program.sections[0])
    left = memory.copy()
    run(program.sections[1])
    by_block(program, left, folder)(program.sections[1])
    steps = [step for step in program.sections[1].steps if isinstance(step, Start)]
    for name, buffer in program.buffers.items():
        if not buffer.on_chip and not np.array_equal(buffer.read(left), buffer.read(memory)):
            raise SystemExit(
                f"{program.target.design.module}: {name} is wrong on the simulated block"
            )
    counters = counters_of(left, [step.counters for step in steps])
    beats = counters["read_beats"] + counters["write_beats"]
    moved = beats * program.target.spec.bytes
    return counters["cycles"], moved, _modelled(steps, program)
