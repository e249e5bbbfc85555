"""Attention with its scores on chip, and in memory: cycles and bytes on the bus, simulated."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.encoder.attention import attention
from carrysave.compiler.encoder.codes import IntegerEncoder
from carrysave.compiler.encoder.command import PARAMETERS, unit_of
from carrysave.compiler.encoder.compile import compiled
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.front.encoder_weights import read_encoder
from carrysave.compiler.program.job_cycles import Spent, spent
from carrysave.compiler.program.jobs import Job
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.program.simulated_list import run_list
from carrysave.compiler.target.target import Target
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
    found = []
    for build in BUILDS:
        design = _design(*build)
        target = Target(design)
        cycles, moved, modelled = _simulated(design, *_head(encoder, target), folder, target)
        found.append(_row(f"a head, {LENGTH} x {WIDTH}", build, (cycles, moved), modelled))
    for build in WHOLE:
        found += _layer(encoder, sentence, build, None if quick else folder)
    return found


def _design(data_width: int, scratch: int) -> Design:
    """Return the co-processor, 8 x 8."""
    more = {"data_width": str(data_width)} | ({"scratch": str(scratch)} if scratch else {})
    return Design.parse("coprocessor", PARAMETERS | more)


def _head(encoder: IntegerEncoder, target: Target) -> tuple[list[Job], Memory]:
    """List the jobs of one head of random queries, keys and values."""
    memory = Memory(chip=target.spec.scratch)
    codes = np.random.default_rng(1).integers(-128, 128, (LENGTH, 3 * WIDTH))
    memory.place("qkv", codes, 8)
    context = memory.reserve("context", LENGTH, WIDTH, 8)
    one = replace(encoder, words=encoder.words[:, :WIDTH], heads=1)
    own = View(context.name, (0, LENGTH))
    return attention(memory, one, "0.", encoder.blocks[0], View("qkv"), own, target), memory


def _layer(
    encoder: IntegerEncoder, sentence: np.ndarray, build: tuple[int, int], folder: Path | None
) -> Iterator[dict[str, Any]]:
    """Measure the attention of a layer, and the whole layer with what the model says."""
    design = _design(*build)
    target = Target(design)
    listed = compiled(encoder, [sentence], target)
    some = [job for job in listed.jobs if job.layer in _ATTENTION]
    heads = f"attention of a layer, {encoder.heads} heads"
    others = attends = Spent()
    counted: tuple[int, int] | None = None
    for job in listed.jobs:
        if job is some[0] and folder is not None:
            *pair, _ = _simulated(design, some, listed.memory, folder, target)
            counted = pair[0], pair[1]
        job.run(listed.memory)
        own = spent(job, listed.memory, target)
        if job.layer in _ATTENTION:
            attends += own
        elif job.layer.startswith("0."):
            others += own
    whole = None if counted is None else (counted[0] + others.cycles, counted[1] + others.moved)
    yield _row(heads, build, counted, attends)
    yield _row("the layer", build, whole, attends + others)


def _row(
    what: str, build: tuple[int, int], counted: tuple[int, int] | None, modelled: Spent
) -> dict[str, Any]:
    """Return a row; `counted` are cycles, and bytes on the bus; None: it was not simulated."""
    cycles, moved = counted or (None, None)
    return {
        "what": what, "bus": build[0], "on chip": build[1], "jobs": modelled.jobs,
        "cycles": cycles, "by the model": modelled.cycles, "bytes on the bus": moved,
        "bytes by the model": modelled.moved,
    }  # fmt: skip


def _simulated(
    design: Design, jobs: Sequence[Job], memory: Memory, folder: Path, target: Target
) -> tuple[int, int, Spent]:
    """Run jobs on the block, and compare with golden.

    Returns
    -------
    Cycles, and bytes on the bus; and what the model says.
    """
    made, counters = run_list(design, jobs, memory, folder)
    modelled = Spent()
    for job in jobs:
        job.run(memory)
        modelled += spent(job, memory, target)
    for name, codes in made.items():
        if not np.array_equal(codes, memory.matrices[name]):
            raise SystemExit(f"{design.module}: {name} is wrong on the simulated block")
    beats = counters["read_beats"] + counters["write_beats"]
    return counters["cycles"], beats * target.spec.bytes, modelled
