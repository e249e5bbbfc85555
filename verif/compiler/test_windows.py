"""Convolutions as windows of maps: the same codes as by moves, few moves, words read back."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.text import text
from carrysave.compiler.program.words import group_of, group_words
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import finer_windows, planned
from carrysave.driver.job import Job
from carrysave.driver.window import Window
from golden.soc.window import walk_cycles, walk_parts, window_rows
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.test_program import WIDE
from verif.networks.graphs import Builder

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
        pads = rng.integers(0, 3, (2, axes))
        padded = pads.sum(0) + space
        kernel = np.minimum(rng.integers(1, 4, axes), padded)
        # A window is no larger than the padded map.
        dilations = np.where(2 * kernel - 1 <= padded, rng.integers(1, 3, axes), 1)
        strides = rng.integers(1, 3, axes)
        wide = groups * int(rng.integers(1, 4))
        builder.node(
            "QLinearConv",
            [
                name, builder.scale(), builder.zero(np.uint8),
                builder.codes((wide, channels // groups, *kernel.tolist()), np.int8),
                builder.scale(wide), builder.constant(np.zeros(wide), np.int8),
                # Codes are all over the bytes, not of a few steps.
                builder.constant(0.05), builder.zero(np.uint8),
                builder.constant(rng.integers(-500, 500, wide), np.int32),
            ],
            "xcy"[1 + number], group=groups, pads=pads.reshape(-1).tolist(),
            strides=strides.tolist(), dilations=dilations.tolist(),
        )  # fmt: skip
        name, channels = "c", wide
        space = tuple(((padded - dilations * (kernel - 1) - 1) // strides + 1).tolist())
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
            builder.constant(0, np.int8), builder.constant(0.05), builder.zero(np.uint8),
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


def test_windows_are_in_few_parts_where_the_walk_would_take_longest() -> None:
    """A convolution of 28 x 28 pixels, 16 to 16 channels, of which it is longer than the array."""
    window = Window(height=28, width=28, across=28, channels=16, pixel=16, kernel=(3, 3),
                    strides=(1, 1), dilations=(1, 1), first=(1, 1), fill=0)  # fmt: skip
    job = Job(a=0, b=1 << 14, c=1 << 15, m=784, n=16, k=144, lda=448, ldb=16, ldc=16,
              window=window, block_m=1, block_n=1, block_k=1)  # fmt: skip
    taps = planned(job, TARGET).block_k
    assert walk_cycles(window, 784, taps) < 98 * 2 * 144 < walk_cycles(window, 784, 1)


def test_channels_are_taken_for_pixels_where_a_tap_is_long() -> None:
    """A convolution along one axis whose taps leave room for two tiles by two; it is not slower."""
    window = Window(height=512, width=1, across=1, channels=256, pixel=256, kernel=(5, 1))
    job = Job(a=0, b=1 << 20, c=1 << 21, m=508, n=512, k=1280, lda=256, ldb=512, ldc=512,
              window=window, block_m=1, block_n=1, block_k=1)  # fmt: skip
    target = Target(Design.parse("coprocessor", {
        "engine": "systolic_os(m=8,n=8)", "windows": "true", "data_width": "64",
    }))  # fmt: skip
    made = planned(job, target)
    assert cycles_of(made, target) < 1.01 * 64 * 64 * 1280 < 5_300_000
    assert made.window is not None
    assert made.window != window
    # A part of K is walked while the one before is multiplied.
    walked = 8 * made.block_m * max(walk_parts(made.window, made.block_k))
    codes = made.block_k * made.window.channels
    assert walked + codes * made.block_n <= made.block_m * made.block_n * codes


@pytest.mark.parametrize("seed", range(20))
def test_finer_windows_are_the_same_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = seed % 3 == 0  # a pixel in a row of the map, which may have others beside it
    width = 1 if one else int(rng.integers(1, 9))
    channels = 8 * int(rng.integers(2, 7))
    window = Window(
        height=int(rng.integers(1, 9)), width=width, across=int(rng.integers(1, 4)),
        channels=channels, pixel=channels + (8 if one else 0),
        kernel=(int(rng.integers(1, 4)), 1 if seed % 2 else int(rng.integers(1, 4))),
        strides=(int(rng.integers(1, 4)), int(rng.integers(1, 4))),
        dilations=(int(rng.integers(1, 4)), 1 + seed % 2), first=(1, 2), fill=7,
    )  # fmt: skip
    image = rng.integers(0, 256, (window.height, window.row_bytes))
    finer = list(finer_windows(window, 8))
    assert finer
    for other in finer:
        assert other.codes == window.codes
        assert other.sized
        assert other.legal
        assert other.channels % 8 == 0
        assert other.row_bytes <= image.shape[1]
        np.testing.assert_equal(
            window_rows(other, image[:, : other.row_bytes], 9), window_rows(window, image, 9)
        )


@pytest.mark.parametrize(
    "beyond", [{"pixel": 24, "width": 2}, {"kernel": (1, 2), "dilations": (1, 2)}]
)
def test_pixels_apart_are_no_channels(beyond: dict[str, Any]) -> None:
    window = Window(height=4, width=4, across=1, channels=16, pixel=16, kernel=(1, 1))
    assert list(finer_windows(window, 8))
    assert not list(finer_windows(replace(window, **beyond), 8))
