"""Weights in blocks, and of several matrices, as groups: against numpy's axes and onnxruntime."""

import numpy as np
import onnx
import pytest

from carrysave.compiler.lowered.rights import outer_of
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from verif.compiler import runners
from verif.compiler.test_groups import by_onnxruntime, codes, groups_of, made, programs_of
from verif.networks.graphs import Builder, judged


def blocks(count: int, deep: int, wide: int, kernel: int = 0) -> tuple[onnx.ModelProto, Program]:
    """Return a product of weights that are zeros beside blocks; of a kernel, if it has a size."""
    builder = Builder(np.random.default_rng(count))
    apart = np.zeros((count, deep, count, wide), np.int64)
    for at in range(count):
        apart[at, :, at] = judged(builder.rng.integers(-128, 128, (deep, wide)))
    weights: np.ndarray = apart.reshape(count * deep, count * wide)
    shape: tuple[int, ...] = 20, count * deep
    kind, more = "QLinearMatMul", {}
    if kernel:
        weights = np.repeat(weights.T, kernel * kernel, 1).reshape(*weights.T.shape, kernel, kernel)
        kind, shape, more = "QLinearConv", (1, count * deep, 4, 4), {"pads": [1, 1, 1, 1]}
    given = [builder.constant(weights, np.int8), builder.scale(), builder.constant(0, np.int8)]
    step, zero = builder.constant(0.5), builder.constant(100, np.uint8)
    builder.node(kind, ["x", builder.scale(), zero, *given, step, zero], "y", **more)
    return programs_of(builder, shape)


def pairs(count: int, rows: int = 12) -> tuple[onnx.ModelProto, Program]:
    """Return pairs of narrow products of one matrix, as adapters of low rank are, and their sum."""
    builder = Builder(np.random.default_rng(count))
    zero, none = builder.constant(128, np.uint8), builder.constant(0, np.int8)
    down, up = (builder.judged_weights(size) for size in ((count, 32, 8), (count, 8, 24)))
    step = builder.scale()
    builder.node("QLinearMatMul", ["x", step, zero, down, step, none, step, zero], "h")
    builder.node("QLinearMatMul", ["h", step, zero, up, step, none, step, zero], "y")
    return programs_of(builder, (rows, 32))


@pytest.mark.parametrize(
    ("sizes", "jobs"),
    [
        ((4, 16, 8), [(4, 20, 16, 8)]),
        ((12, 8, 24), [(12, 20, 8, 24)]),
        # Columns of four fill a tile.
        ((8, 3, 2), [(2, 20, 12, 8)]),
        ((3, 4, 8, 3), [(3, 16, 36, 8)]),
    ],
)
def test_blocks_are_groups(sizes: tuple[int, ...], jobs: list[tuple[int, ...]]) -> None:
    """Of weights, and of a kernel whose groups nobody named."""
    model, program = blocks(*sizes)
    assert groups_of(program) == jobs
    x = codes(program.takes["x"][1])
    runners.check(program, {"x": x})
    apart = np.abs(made(program, x).astype(int) - by_onnxruntime(model, x))
    assert apart.max() <= 1
    assert apart.mean() < 0.01


@pytest.mark.parametrize("count", [3, 9])
def test_narrow_pairs_are_two_jobs(count: int) -> None:
    """The first one's groups all take the same rows, where they are."""
    model, program = pairs(count)
    assert groups_of(program) == [(count, 12, 32, 8), (count, 12, 8, 24)]
    down, up = (one for step in program.steps if isinstance(step, Start) for one in step.groups)
    assert (down.a, up.a) == (0, down.c)
    x = codes((12, 32))
    runners.check(program, {"x": x})
    apart = np.abs(made(program, x).astype(int) - by_onnxruntime(model, x))
    assert apart.max() <= 1
    assert apart.mean() < 0.01


@pytest.mark.parametrize("outer", [(3,), (2, 1), (1,), (2, 3)])
@pytest.mark.parametrize("shape", [(16,), (5, 16), (3, 5, 16), (2, 3, 5, 16)])
def test_weights_of_several_matrices(outer: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Outer axes are those of numpy, for any number of them."""
    builder = Builder(np.random.default_rng(1))
    zero, step = builder.constant(128, np.uint8), builder.scale()
    weights = [builder.judged_weights((*outer, 16, 6)), step, builder.constant(0, np.int8)]
    builder.node("QLinearMatMul", ["x", step, zero, *weights, step, zero], "y")
    model, program = programs_of(builder, shape)
    x = codes(shape)
    runners.check(program, {"x": x})
    y, expected = made(program, x), by_onnxruntime(model, x)
    assert y.shape == expected.shape == (x @ np.zeros((*outer, 16, 6))).shape
    assert np.abs(y.astype(int) - expected).max() <= 1


def test_outer_axes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="A and B must fit each other, not"):
        outer_of((2, 5, 16), (3,))
