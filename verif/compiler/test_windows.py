"""Convolutions as windows of maps: the same codes as by moves, few moves, words read back."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.cost import cycles_of
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.text import text
from carrysave.compiler.program.words import group_of, group_words
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from carrysave.driver.window import Window
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.test_program import WIDE
from verif.networks.graphs import Builder
from verif.soc.driver.conftest import library as library

TARGET = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=8,n=8)", "windows": "true"}))


def convolution(seed: int) -> tuple[onnx.ModelProto, tuple[int, ...]]:
    """Return two convolutions, one after the other, of a random geometry, and the shape of x."""
    rng = np.random.default_rng(seed)
    axes = 1 + seed % 2
    groups = int(rng.choice([1, 1, 2, 5]))
    channels = groups * int(rng.integers(1, 5))
    space = tuple(rng.integers(5, 12, axes).tolist())
    shape = (int(rng.integers(1, 3)), channels, *space)
    builder = Builder(rng)
    name = "x"
    for number in range(2):
        kernel = tuple(int(rng.integers(1, 4)) for _ in range(axes))
        wide = groups * int(rng.integers(1, 4))
        builder.node(
            "QLinearConv",
            [
                name, builder.scale(), builder.zero(np.uint8),
                builder.codes((wide, channels // groups, *kernel), np.int8), builder.scale(wide),
                builder.constant(np.zeros(wide), np.int8), builder.constant(3.0),
                builder.zero(np.uint8),
                builder.constant(rng.integers(-500, 500, wide), np.int32),
            ],
            "xcy"[1 + number], group=groups, pads=rng.integers(0, 3, 2 * axes).tolist(),
            strides=rng.integers(1, 3, axes).tolist(), dilations=rng.integers(1, 3, axes).tolist(),
        )  # fmt: skip
        name, channels = "c", wide
    return builder.model(shape, np.uint8, np.uint8), shape


def compiled(model: onnx.ModelProto, shape: tuple[int, ...], target: Target = TARGET) -> Program:
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    return compile_network(lowered, target, {"x": np.zeros(shape, np.uint8)})


def _zeros(program: Program) -> Any:
    memory = program.memory.copy()
    return memory, by_golden(program, memory)


def jobs_of(program: Program) -> list[Job]:
    return [job for step in program.steps if isinstance(step, Start) for job in step.jobs]


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(60))
def test_the_same_codes_without_moves(seed: int) -> None:
    model, shape = convolution(seed)
    program = compiled(model, shape)
    x = {"x": np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)}
    runners.check(program, x)
    *_, last = program.steps
    # What the firmware looks at is a row.
    assert not any(isinstance(step, Move) and step is not last for step in program.steps)
    assert any(job.window for job in jobs_of(program))
    plain = compiled(model, shape, WIDE)
    memories = [one.memory.copy() for one in (program, plain)]
    made, expected = (
        network.run(one, x, memory, by_golden(one, memory))
        for one, memory in zip((program, plain), memories, strict=True)
    )
    np.testing.assert_equal(made, expected)


def test_runners_leave_the_same_bytes(library: Any) -> None:
    model, shape = convolution(5)
    program = compiled(model, shape)
    x = {"x": np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)}
    expected = runners.memory_of(program, _zeros, x)
    for on in (runners.on_driver, runners.on_c(library)):
        np.testing.assert_array_equal(runners.memory_of(program, on, x), expected)


def test_words_are_read_back() -> None:
    window = Window(
        height=1 << 16, width=3, across=1 << 16, channels=65535, pixel=(1 << 32) - 1,
        kernel=(256, 7), strides=(15, 1), dilations=(2, 9), first=(255, 4), fill=200,
    )  # fmt: skip
    job = Job(
        a=0, b=64, c=128, m=7, n=3, k=9, lda=5, ldb=3, ldc=8, window=window, block_m=1, block_n=1,
        block_k=2,
    )  # fmt: skip
    group = JobGroup(job=job, count=3, a=16)
    assert group_of(np.array(group_words(group), "<u4").view("<i4").tolist()) == group


def test_text_says_windows() -> None:
    model, shape = convolution(5)
    assert " of 5x10x8+8 kernel " in text(compiled(model, shape))


def test_a_kernel_that_does_not_fit_is_moved() -> None:
    """Steps of more pixels than the descriptor has bits for."""
    builder = Builder(np.random.default_rng(1))
    codes = builder.codes((4, 2, 2, 2), np.int8)
    builder.node(
        "QLinearConv",
        [
            "x", builder.scale(), builder.zero(np.uint8), codes, builder.scale(),
            builder.constant(0, np.int8), builder.constant(3.0), builder.zero(np.uint8),
        ],
        "y", strides=[17, 1],
    )  # fmt: skip
    program = compiled(builder.model((1, 2, 40, 5), np.uint8, np.uint8), (1, 2, 40, 5))
    assert not any(job.window for job in jobs_of(program))
    runners.check(program, {"x": np.zeros((1, 2, 40, 5), np.uint8)})


def test_blocks_of_whole_taps() -> None:
    """Depths are of whole taps, as many as the stores hold; and all are legal."""
    model, shape = convolution(7)
    for job in jobs_of(compiled(model, shape)):
        assert job.window is not None
        assert 1 <= job.block_k <= job.window.taps
        assert cycles_of(job, TARGET) > cycles_of(replace(job, m=1), TARGET)
