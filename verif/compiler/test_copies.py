"""Codes that are joined, cut, repeated or padded are put together by jobs, not by a processor."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.networks.graphs import Builder
from verif.soc.driver.conftest import library as library

TARGET = Target(Design.parse("coprocessor", {
    "engine": "systolic_os(m=8,n=8)", "vector": "vector_unit(lanes=4,length=64,width=16)",
    "taps": "3", "requantisers": "4", "windows": "true", "table": "true",
}))  # fmt: skip
STEP = 0.05
_PRODUCTS = ("QLinearConv", "Conv", "MatMul")


class Maps(Builder):
    """A builder of networks whose maps all have one step, so that onnxruntime's codes are ours."""

    def first(self, channels: int, y: str) -> str:
        """Multiply the input by weights."""
        step, zero = self.constant(STEP), self.constant(120, np.uint8)
        codes = self.judged_weights((channels, 6, 1, 1))
        given = ["x", step, zero, codes, self.constant(0.02), self.constant(0, np.int8)]
        self.node("QLinearConv", [*given, step, zero], f"{y}_q")
        return self.node("DequantizeLinear", [f"{y}_q", step, zero], y)

    def again(self, x: str, step: float = STEP) -> str:
        """Round to codes, and take them as floats again."""
        given = [self.constant(step), self.constant(120, np.uint8)]
        self.node("QuantizeLinear", [x, *given], f"{x}_c")
        return self.node("DequantizeLinear", [f"{x}_c", *given], f"{x}_f")

    def last(self, x: str, channels: int, shape: list[int], kernel: int = 3) -> onnx.ModelProto:
        """Multiply windows of a map, which all have to be where the loader looks for them."""
        none = self.constant(0, np.int8)
        weights = self.judged_weights((4, channels, kernel, kernel))
        codes = self.node("DequantizeLinear", [weights, self.constant(0.01), none], "w")
        self.node("Conv", [self.again(x), codes], "o", pads=[kernel // 2] * 4)
        given = [self.constant(0.3), self.constant(128, np.uint8)]
        self.node("QuantizeLinear", ["o", *given], "y")
        return self.model(shape, np.uint8, np.uint8)


def joined(builder: Maps, axis: int, shape: list[int], steps: float) -> onnx.ModelProto:
    """Join three maps, the last one of its own step, along an axis."""
    channels = (5, 8, 4) if axis == 1 else (7, 7, 7)
    names = [builder.first(count, f"m{at}") for at, count in enumerate(channels)]
    builder.node("Relu", names[2:], "m3")
    names[2] = builder.again("m3", steps)
    builder.node("Concat", names, "j", axis=axis)
    return builder.last("j", sum(channels) if axis == 1 else 7, shape)


def resized(builder: Maps, down: int, across: int, shape: list[int]) -> onnx.ModelProto:
    """Repeat rows and pixels, and join them to others."""
    x = builder.first(6, "m")
    scales = builder.constant([1, 1, down, across])
    builder.node(
        "Resize",
        [x, "", scales],
        "r",
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )
    return builder.last(builder.node("Concat", ["r", "r"], "j", axis=1), 12, shape)


def padded(builder: Maps, fill: float, pads: list[int], shape: list[int]) -> onnx.ModelProto:
    """Put numbers around a map."""
    x = builder.first(6, "m")
    wide = [0, 0, *pads[:2], 0, 0, *pads[2:]]
    builder.node("Pad", [x, builder.constant(wide, np.int64), builder.constant(fill)], "p")
    return builder.last("p", 6, shape)


def sliced(builder: Maps, shape: list[int]) -> onnx.ModelProto:
    """Take some channels of some rows and pixels, a table of them, and join both."""
    x = builder.first(12, "m")
    cut = [builder.constant(one, np.int64) for one in ([1, 0, 4], [5, 3, 11], [2, 3, 1], [1, 1, 1])]
    part = builder.node("Slice", [x, *cut], "s")
    leaky = builder.again(builder.node("LeakyRelu", [builder.again(part)], "l", alpha=0.2))
    return builder.last(builder.node("Concat", [leaky, "s_f"], "j", axis=1), 14, shape)


def flattened(builder: Maps, shape: list[int]) -> onnx.ModelProto:
    """Multiply all codes of a map by a matrix, channels first."""
    x = builder.again(builder.node("Flatten", [builder.first(16, "m")], "f"))
    none = builder.constant(0, np.int8)
    weights = builder.judged_weights((16 * shape[2] * shape[3], 40))
    codes = builder.node("DequantizeLinear", [weights, builder.constant(0.0004), none], "w")
    builder.node("MatMul", [x, codes], "o")
    builder.node(
        "QuantizeLinear", ["o", builder.constant(0.02), builder.constant(128, np.uint8)], "y"
    )
    return builder.model(shape, np.uint8, np.uint8)


def compiled(model: onnx.ModelProto, shape: list[int]) -> Program:
    lowered = lower(Graph(model), TARGET, until=PASSES[-1].name)
    return compile_network(lowered, TARGET, {"x": np.zeros(shape, np.uint8)})


def check(model: onnx.ModelProto, shape: list[int], library: Any) -> Program:
    """No moves but the last one; the evaluator's codes, and onnxruntime's within a code."""
    program = compiled(model, shape)
    *steps, _ = program.steps
    assert not any(isinstance(step, Move) for step in steps)
    assert len(program.layers) == sum(node.op_type in _PRODUCTS for node in model.graph.node)
    x = {"x": np.random.default_rng(6).integers(0, 256, shape).astype(np.uint8)}
    runners.check(program, x)
    memory = program.memory.copy()
    made = network.run(program, x, memory, by_golden(program, memory))["y"]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    off = np.abs(made.astype(int) - session.run(None, x)[0])
    assert off.max() <= 1
    assert np.count_nonzero(off) <= off.size // 10
    assert np.unique(made).size > 20
    expected = runners.memory_of(program, runners.on_driver, x)
    np.testing.assert_array_equal(runners.memory_of(program, runners.on_c(library), x), expected)
    return program


def sums_of(program: Program) -> int:
    """Count jobs that copy codes, or give them another step."""
    starts = [step for step in program.steps if isinstance(step, Start)]
    return sum(job.vector == "map_add" for step in starts for job in step.jobs)


@pytest.mark.parametrize(("axis", "step", "copies"), [(1, STEP, 3), (2, 0.07, 6), (3, 0.07, 12)])
def test_parts_of_a_concat(axis: int, step: float, copies: int, library: Any) -> None:
    """A job a part, or one a sample or a column of pixels; another step is the product's."""
    shape = [1 if axis == 1 else 2, 6, 5, 4]
    program = check(
        joined(Maps(np.random.default_rng(axis), 17), axis, shape, step), shape, library
    )
    assert sums_of(program) == copies


@pytest.mark.parametrize(("down", "across", "copies"), [(2, 2, 20), (1, 3, 5), (4, 1, 22)])
def test_resize(down: int, across: int, copies: int, library: Any) -> None:
    """Rows are repeated, and pixels, of a map that two jobs join.

    Pixels by as many jobs as they are repeated, of all rows and samples; rows by as many for each
    of the 8 rows of both samples, or of the 5 pixels of a row.
    """
    shape = [2, 6, 4, 5]
    model = resized(Maps(np.random.default_rng(down), 17), down, across, shape)
    assert sums_of(check(model, shape, library)) == copies


@pytest.mark.parametrize(("pads", "copies"), [([1, 1, 1, 1], 8), ([0, 2, 3, 0], 7)])
@pytest.mark.parametrize("fill", [0.0, 2.0])
def test_pad(fill: float, pads: list[int], copies: int, library: Any) -> None:
    """Numbers around a map, be they 0 or not, are jobs."""
    shape = [1, 6, 5, 4]
    program = check(padded(Maps(np.random.default_rng(1), 17), fill, pads, shape), shape, library)
    assert sums_of(program) == copies


@pytest.mark.parametrize("batch", [1, 3])
def test_slices_are_addresses(batch: int, library: Any) -> None:
    """What is cut out of a map is looked up where it lies: a table and a map of two are jobs."""
    shape = [batch, 6, 6, 5]
    check(sliced(Maps(np.random.default_rng(2), 17), shape), shape, library)


@pytest.mark.parametrize("batch", [1, 3])
def test_rows_of_weights_follow_a_map(batch: int, library: Any) -> None:
    """What is in another order in memory is multiplied there, and not copied."""
    shape = [batch, 6, 2, 2]
    program = check(flattened(Maps(np.random.default_rng(4), 17), shape), shape, library)
    assert sums_of(program) == 0
