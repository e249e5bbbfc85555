"""Windows side by side in a row of A: the same results, at the same places."""

from dataclasses import replace

import numpy as np
import onnx
import pytest

from carrysave.compiler.program import bundles
from carrysave.compiler.program.bundles import bundled, wider
from carrysave.compiler.program.windows import Map
from carrysave.driver.batch import Work
from carrysave.driver.window import Window
from golden.soc.memory_timing import MEMORIES
from golden.soc.window import window_rows
from verif.compiler import runners
from verif.compiler.test_windows import TARGET, compiled, jobs_of
from verif.networks.graphs import Builder

WINDOW = Window(
    height=6, width=9, across=8, channels=3, pixel=4, kernel=(3, 2), strides=(2, 1),
    dilations=(2, 1), first=(1, 1), fill=7,
)  # fmt: skip


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_row_has_the_codes_of_each_window(count: int, stride: int) -> None:
    window = replace(WINDOW, strides=(2, stride), width=9 * stride)
    made = wider(window, count)
    if count * stride > 15:  # a step has four bits
        assert made is None
        return
    assert made is not None
    image = np.random.default_rng(count).integers(0, 256, (window.height, window.row_bytes))
    each = window_rows(window, image, 24).reshape(24, 3, 2, 3)
    rows = window_rows(made, image, 24 // count).reshape(24 // count, 3, -1, 3)
    for number in range(24):
        row, place = divmod(number, count)
        codes = rows[row, :, place * stride : place * stride + 2]
        np.testing.assert_array_equal(codes, each[number])


@pytest.mark.parametrize(
    "window",
    [
        replace(WINDOW, across=7),
        replace(WINDOW, dilations=(1, 2)),
        replace(WINDOW, strides=(1, 8)),
        replace(WINDOW, kernel=(1, 256)),
    ],
)
def test_windows_that_cannot_be_side_by_side(window: Window) -> None:
    """Rows of windows that end within a row of A, taps apart, what a descriptor has no room for."""
    assert wider(window, 2) is None


def convolution(seed: int, down: int = 3) -> tuple[onnx.ModelProto, tuple[int, ...]]:
    """Return a convolution of few channels to whole beats, whose rows are of eight windows."""
    rng = np.random.default_rng(seed)
    axes, channels, wide = 1 + seed % 2, int(rng.integers(1, 4)), 16
    kernel, strides = rng.integers(2, 4, axes), rng.integers(1, 3, axes)
    pads = rng.integers(0, 2, (2, axes))
    # So many results across.
    space = strides * (np.array([down, 8])[-axes:] - 1) + kernel - pads.sum(0)
    shape = (int(rng.integers(1, 3)), channels, *space.tolist())
    builder = Builder(rng)
    builder.node(
        "QLinearConv",
        [
            "x", builder.scale(), builder.zero(np.uint8),
            builder.codes((wide, channels, *kernel.tolist()), np.int8),
            builder.scale(*[wide] * (seed % 3 > 0)), builder.constant(0, np.int8),
            builder.constant(0.05), builder.zero(np.uint8),
            builder.constant(rng.integers(-500, 500, wide), np.int32),
        ],
        "y", pads=pads.reshape(-1).tolist(), strides=strides.tolist(),
    )  # fmt: skip
    return builder.model(shape, np.uint8, np.uint8), shape


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", range(40))
def test_results_are_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "_BETTER", 1e9)
    model, shape = convolution(seed)
    x = {"x": np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)}
    monkeypatch.setattr(bundles, "_is_late", lambda *_: False)
    plain = compiled(model, shape)
    monkeypatch.setattr(bundles, "_is_late", lambda *_: True)
    program = compiled(model, shape)
    ours, theirs = (jobs_of(one) for one in (program, plain))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.n in (32, 64, 128)
        assert one.n * one.m == other.n * other.m
        assert one.window is not None
    assert [step.macs for step in program.steps if hasattr(step, "macs")] == [
        step.macs for step in plain.steps if hasattr(step, "macs")
    ]
    runners.check(program, x)
    runners.check(plain, x)


def test_only_what_waits_for_the_loader() -> None:
    """Not a convolution of many channels, which the array limits; nor on SDRAM."""
    model, shape = convolution(1, down=100)
    assert jobs_of(compiled(model, shape))[0].n > 16
    slow = replace(TARGET, timing=MEMORIES["sdram16"])
    assert jobs_of(compiled(model, shape, slow))[0].n == 16
    chosen = Map(window=replace(WINDOW, channels=64, pixel=64), address=0, distance=600, rows=24)
    work = Work(a=None, b=np.ones((384, 16), np.int64))
    assert bundled(work, chosen, TARGET) == (work, chosen, 1)
