"""Channels that are scaled and shifted, and means of windows: convolutions of single channels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, numpy_helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.affine import affine
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.programs import design
from verif.networks.comparing import multiplier
from verif.networks.graphs import Builder

MAPS = Target(design("maps"))
U8, I8 = np.uint8, np.int8


class _Lines(Builder):
    """A builder of networks with a product, and operators with constants behind it."""

    def coded(self, name: str, step: float, kind: Any = U8, zero: int = 100) -> str:
        given = [self.constant(step), self.constant(zero, kind)]
        self.node("QuantizeLinear", [name, *given], f"{name}_q")
        return self.node("DequantizeLinear", [f"{name}_q", *given], f"{name}_d")

    def row(self, count: int, low: float, high: float, *around: int) -> str:
        """Add numbers of channels, with as many axes of one behind them."""
        values = self.rng.uniform(low, high, count) * self.rng.choice([-1, 1], count)
        return self.constant(values.reshape(count, *around))

    def ended(self, shape: Sequence[int], last: str, step: float, kind: Any = U8) -> ModelProto:
        zero = self.constant(np.iinfo(kind).max // 2 + 1, kind)
        self.node("QuantizeLinear", [last, self.constant(step), zero], "y")
        return self.model(shape, U8, kind, [*shape])


def lines(shape: tuple[int, ...], axis: int, seed: int, kind: Any = U8) -> ModelProto:
    """Return a network that scales, shifts and limits channels along an axis."""
    b = _Lines(np.random.default_rng(seed), 17)
    count, around = shape[axis], [1] * (len(shape) - 1 - axis)
    b.node("DequantizeLinear", ["x", b.constant(0.02), b.constant(120, U8)], "f")
    # Its constants are codes, as the static quantiser leaves them.
    codes = b.constant(b.rng.integers(140, 256, (count, *around)), U8)
    given = [codes, b.constant(0.01), b.constant(100, U8)]
    b.node("Mul", [b.node("DequantizeLinear", given, "c"), "f"], "m")
    b.node("Sub" if seed % 2 else "Add", ["m", b.row(count, 0, 2, *around)], "a")
    b.node("Div", ["a", b.constant(0.5)], "d")
    b.node("Relu", ["d"], "r")
    low = 0 if kind == U8 else -50
    last = b.coded("r", 0.02, kind, low)
    b.node("Sub", [b.row(count, 0, 1, *around), last], "s")
    return b.ended(shape, "s", 0.03, kind)


def judged(model: ModelProto, x: np.ndarray) -> np.ndarray:
    """Return the codes of onnxruntime, operator by operator as the file has them."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    (y,) = session.run(None, {"x": x})
    return np.asarray(y)


def drawn(shape: Sequence[int], seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(U8)


def alike(model: ModelProto, x: np.ndarray, target: Target, names: list[str]) -> np.ndarray:
    """Check that products are these, without floats; return how far codes are from onnxruntime's.

    All runners agree.
    """
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    assert [one.name for one in lowered.products] == names
    program = compile_network(lowered, target, {"x": x})
    assert not [step for step in program.steps if isinstance(step, Floats)]
    runners.check(program, {"x": x})
    y = evaluate(lowered, {"x": x}, multiplier(True, target))["y"]
    assert y.dtype == judged(model, x).dtype
    return np.abs(y.astype(int) - judged(model, x).astype(int))


@pytest.mark.parametrize("kind", [U8, I8])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((40, 9), 1), ((2, 9, 20), 1), ((2, 20, 9), 2), ((1, 9, 6, 7), 1), ((1, 6, 7, 9), 3),
     ((2, 3, 9, 8), 2)],
)  # fmt: skip
def test_channels_along_each_axis(shape: tuple[int, ...], axis: int, kind: Any) -> None:
    """No number in floats is left; codes are onnxruntime's, or rarely the next ones."""
    model = lines(shape, axis, len(shape) + axis, kind)
    apart = alike(model, drawn(shape), MAPS, ["Mul_m", "Sub_s"])
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= 0.01 * apart.size


def test_all_codes_of_a_channel() -> None:
    """Of each channel all 256 codes; those that differ are halfway between two codes."""
    shape = (1, 64, 256)
    b = _Lines(np.random.default_rng(5), 17)
    b.node("DequantizeLinear", ["x", b.constant(0.02), b.constant(120, U8)], "f")
    scale, shift = b.row(64, 0.2, 1.5), b.row(64, 0, 2)
    mean, variance = b.row(64, 0, 1), b.constant(b.rng.uniform(0.5, 2, 64))
    b.node("BatchNormalization", ["f", scale, shift, mean, variance], "n", epsilon=0.01)
    model = b.ended(shape, "n", 0.03)
    x = np.broadcast_to(np.arange(256, dtype=U8), shape)
    apart = alike(model, x, MAPS, ["BatchNormalization_n"])
    assert apart.max() <= 1
    rows = [numpy_helper.to_array(one) for one in model.graph.initializer]
    a = rows[2] / np.sqrt(rows[5] + 0.01)
    exact = (a[:, None] * (0.02 * (x[0] - 120.0)) + (rows[3] - rows[4] * a)[:, None]) / 0.03
    off = np.abs(exact - np.floor(exact) - 0.5)[apart[0] > 0]
    assert 0 < off.size <= 0.005 * apart.size
    assert off.max() <= 1 / 128


POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 2]},
    {"kernel_shape": [3, 3], "pads": [1, 1, 0, 1], "count_include_pad": 1, "strides": [1, 2]},
    {"kernel_shape": [6, 7], "auto_pad": "VALID"},
]


def pooled(**attributes: Any) -> ModelProto:
    b = _Lines(np.random.default_rng(2), 17)
    b.node("DequantizeLinear", ["x", b.constant(0.02), b.constant(120, U8)], "f")
    b.node("AveragePool", ["f"], "p", **attributes)
    b.node("QuantizeLinear", ["p", b.constant(0.011), b.constant(128, U8)], "y")
    return b.model((1, 5, 6, 7), U8, U8, [1, 5, "h", "w"])


@pytest.mark.parametrize("values", POOLS)
def test_windows_of_as_many_numbers(values: dict[str, Any]) -> None:
    apart = alike(pooled(**values), drawn((1, 5, 6, 7)), MAPS, ["AveragePool_p"])
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= 0.02 * apart.size


@pytest.mark.parametrize(
    "values",
    [
        {"kernel_shape": [3, 3], "pads": [1, 1, 0, 1]},
        {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"},
        {"kernel_shape": [4, 4], "strides": [3, 3], "ceil_mode": 1},
    ],
)
def test_windows_that_count_other_numbers_stay(values: dict[str, Any]) -> None:
    graph = Graph(pooled(**values))
    lowered = Lowered(graph, graph.proto)
    assert affine(lowered, Setting(target=MAPS)) is lowered


def _odd(what: str) -> ModelProto:
    """Return a network with an operator that is no line of channels of codes of a byte."""
    b = _Lines(np.random.default_rng(1), 17)
    shape = {"more axes": (2, 5, 5), "one channel": (2, 1, 5)}.get(what, (2, 4, 5))
    b.node("DequantizeLinear", ["x", b.constant(0.02), b.constant(120, U8)], "f")
    four = [b.constant(b.rng.uniform(0.5, 2, 4)) for _ in range(4)]
    column = b.constant(b.rng.uniform(0.5, 2, (4, 1)))
    if what == "both axes":
        b.node("Mul", ["f", b.constant(b.rng.uniform(0.5, 2, (4, 5)))], "m")
    elif what == "one after the other":
        row = b.constant(b.rng.uniform(0.5, 2, 5))
        b.node("Mul", [b.node("Mul", ["f", column], "n"), row], "m")
    elif what == "divides a constant":
        b.node("Div", [column, b.node("Add", ["f", b.constant(9)], "g")], "m")
    elif what == "trains":
        b.node("BatchNormalization", ["f", *four], "m", training_mode=1)
        b.nodes[-1].output.extend(["mean", "variance"])
    elif what == "would train":
        b.node("BatchNormalization", ["f", *four], "m", training_mode=1)
    elif what == "its square":
        b.node("Mul", ["f", "f"], "m")
    elif what == "one channel":
        b.node("Mul", ["f", column], "m")
    elif what == "samples":
        b.node("Mul", ["f", b.constant(b.rng.uniform(0.5, 2, (2, 1, 1)))], "m")
    elif what == "more axes":
        b.node("Mul", ["f", b.constant(b.rng.uniform(0.5, 2, (1, 1, 5, 1)))], "m")
    elif what == "two readers":
        b.node("Mul", ["f", column], "n")
        b.node("Add", ["n", b.node("Neg", ["n"], "o")], "m")
    elif what == "nearly flat":
        b.node("Mul", ["f", b.constant(np.full((4, 1), 1e-9))], "n")
        b.node("Add", ["n", b.constant(b.rng.uniform(0.5, 2, (4, 1)))], "m")
    elif what == "too steep":
        b.node("Mul", ["f", b.constant(b.rng.uniform(2000, 3000, (4, 1)))], "n")
        b.node("Add", ["n", b.constant(b.rng.uniform(0.5, 2, (4, 1)))], "m")
    elif what == "not finite":
        b.node("Mul", ["f", b.constant([[1], [2], [np.inf], [3]])], "m")
    return b.ended(shape, "m", 0.03)


@pytest.mark.parametrize(
    "what",
    ["both axes", "one after the other", "divides a constant", "trains", "would train", "samples",
     "its square", "one channel", "more axes", "two readers", "nearly flat", "too steep",
     "not finite"],
)  # fmt: skip
def test_others_stay(what: str) -> None:
    graph = Graph(_odd(what))
    lowered = Lowered(graph, graph.proto)
    assert affine(lowered, Setting(target=MAPS)) is lowered


@pytest.mark.parametrize("kind", [np.int32, np.int16])
def test_wider_codes_stay(kind: Any) -> None:
    """They have no zero point, and so their type is known of the codes alone."""
    b = _Lines(np.random.default_rng(1), 21)
    b.node("DequantizeLinear", ["x", b.constant(0.02)], "f")
    b.node("Mul", ["f", b.constant(b.rng.uniform(0.5, 2, (4, 1)))], "m")
    b.node("QuantizeLinear", ["m", b.constant(0.02), b.constant(0, U8)], "y")
    graph = Graph(b.model((2, 4, 5), kind, U8, [2, 4, 5]))
    lowered = Lowered(graph, graph.proto)
    assert affine(lowered, Setting(target=MAPS)) is lowered


def test_zeros_and_far_shifts() -> None:
    """A channel of nothing but its shift, and one whose shift is far from its codes."""
    b, shape = _Lines(np.random.default_rng(1), 17), (1, 3, 8)
    b.node("DequantizeLinear", ["x", b.constant(0.02), b.constant(120, U8)], "f")
    b.node("Mul", ["f", b.constant([[0], [1], [-0.0]])], "m")
    b.node("Add", ["m", b.constant([[-1.3], [0], [0]])], "a")
    apart = alike(b.ended(shape, "a", 0.02), drawn(shape), MAPS, ["Mul_m"])
    assert not apart.any()


def test_what_the_block_cannot_multiply_stays() -> None:
    """A node that a run asks to go without the block, and an engine without such products."""
    graph = Graph(lines((2, 5, 7), 1, 1))
    lowered = Lowered(graph, graph.proto)
    without = {"Mul_m": "it must stay", "Sub_s": "it must stay"}
    assert affine(lowered, Setting(target=MAPS, without=without)) is lowered
    four = Target(Design.parse("coprocessor", {"engine": "systolic_os(a_width=4,b_width=4)"}))
    assert affine(lowered, Setting(target=four)) is lowered
    made = affine(lowered, Setting(target=MAPS, without={"Sub_s": "it must stay"}))
    assert [one.name for one in made.proto.graph.node if one.op_type == "Conv"] == ["Mul_m"]
