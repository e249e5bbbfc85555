"""Binarised networks on an engine whose codes are bipolar: -1 and 1 in one bit each."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.comparing import multiplier
from verif.networks.graphs import Builder

ENGINE = "bitserial_core(m=2,n=4,k=8,a_width={},b_width={},bipolar=true)"
BINARY = Target(Design("coprocessor", {"engine": ENGINE.format(1, 1)}))
WIDER = Target(Design("coprocessor", {"engine": ENGINE.format(3, 2)}))


def signs(builder: Builder, x: str, least: Any, kind: Any, output: str) -> str:
    """Add what BipolarQuant of QONNX is at scale 1: 1 of what is not less, else -1, as int8."""
    builder.node("GreaterOrEqual", [x, builder.constant(least, kind)], f"{output}/is")
    ends = [builder.constant(end, np.int8) for end in (1, -1)]
    return builder.node("Where", [f"{output}/is", *ends], output)


def perceptron(rng: np.random.Generator, widths: tuple[int, ...]) -> Builder:
    """Make layers of binary weights, whose sums are compared with thresholds."""
    builder = Builder(rng)
    number = signs(builder, "x", 0, np.float32, "a0")
    for layer, (k, n) in enumerate(itertools.pairwise(widths)):
        weights = builder.constant(rng.choice([-1, 1], (k, n)), np.int8)
        last = layer == len(widths) - 2
        sums = builder.node("MatMulInteger", [number, weights], "y" if last else f"s{layer}")
        if not last:
            least = rng.integers(-4, 5, n)
            number = signs(builder, sums, least, np.int32, f"a{layer + 1}")
    return builder


def equal(network: Lowered, x: np.ndarray, target: Target) -> None:
    """Compare with onnxruntime, bit for bit."""
    assert network.products
    expected = Comparison(network).run({"x": x}, multiplier(False, target))
    found = evaluate(network, {"x": x}, multiplier(False, target))
    np.testing.assert_array_equal(found["y"], expected["y"])
    assert found["y"].any()


def test_binary_perceptron() -> None:
    rng = np.random.default_rng(1)
    builder = perceptron(rng, (65, 33, 24, 10))
    network = lower(Graph(builder.model((8, 65), np.float32, np.int32)), BINARY)
    assert len(network.products) == 3
    x = rng.standard_normal((8, 65)).astype(np.float32)
    x[0, :5] = 0
    equal(network, x, BINARY)


def test_binary_convolution() -> None:
    rng = np.random.default_rng(2)
    builder = Builder(rng)
    number = signs(builder, "x", 0, np.float32, "a")
    weights = builder.constant(rng.choice([-1, 1], (6, 4, 3, 3)), np.int8)
    builder.node("ConvInteger", [number, weights], "y", strides=[1, 2])
    network = lower(Graph(builder.model((2, 4, 7, 9), np.float32, np.int32)), BINARY)
    equal(network, rng.standard_normal((2, 4, 7, 9)).astype(np.float32), BINARY)


def test_groups_of_a_binary_convolution_are_products_of_their_own() -> None:
    rng = np.random.default_rng(3)
    builder = Builder(rng)
    number = signs(builder, "x", 0, np.float32, "a")
    weights = builder.constant(rng.choice([-1, 1], (6, 2, 3, 3)), np.int8)
    builder.node("ConvInteger", [number, weights], "y", group=2)
    network = lower(Graph(builder.model((2, 4, 7, 9), np.float32, np.int32)), BINARY)
    equal(network, rng.standard_normal((2, 4, 7, 9)).astype(np.float32), BINARY)


def test_odd_codes_of_several_bits_and_zero_points() -> None:
    rng = np.random.default_rng(4)
    builder = Builder(rng)
    weights = builder.constant(rng.choice([-3, -1, 1, 3], (19, 5)), np.int8)
    builder.node("MatMulInteger", ["x", weights, builder.constant(4, np.uint8)], "y")
    network = lower(Graph(builder.model((8, 19), np.uint8, np.int32)), WIDER)
    x = 2 * rng.integers(0, 6, (8, 19)) + 1
    equal(network, x.astype(np.uint8), WIDER)
    with pytest.raises(ValueError, match=r"A must be odd, -7\.\.7, where the engine is .* not 9"):
        equal(network, np.full((8, 19), 13, np.uint8), WIDER)


@pytest.mark.parametrize("weight", [0, 3])
def test_weights_without_a_bipolar_code_are_refused(weight: int) -> None:
    builder = Builder(np.random.default_rng(5))
    number = signs(builder, "x", 0, np.float32, "a")
    weights = np.ones((8, 3))
    weights[2, 1] = weight
    builder.node("MatMulInteger", [number, builder.constant(weights, np.int8)], "y")
    graph = Graph(builder.model((4, 8), np.float32, np.int32))
    with pytest.raises(ValueError, match=f"B must be -1 or 1 .*bipolar, not {weight}"):
        lower(graph, BINARY)


def test_padding_of_a_binary_convolution_is_refused() -> None:
    rng = np.random.default_rng(6)
    builder = Builder(rng)
    number = signs(builder, "x", 0, np.float32, "a")
    weights = builder.constant(rng.choice([-1, 1], (3, 2, 3, 3)), np.int8)
    builder.node("ConvInteger", [number, weights], "y", pads=[1, 1, 1, 1])
    network = lower(Graph(builder.model((1, 2, 5, 5), np.float32, np.int32)), BINARY)
    x = rng.standard_normal((1, 2, 5, 5)).astype(np.float32)
    with pytest.raises(ValueError, match="A must be -1 or 1 where the engine is bipolar, not 0"):
        evaluate(network, {"x": x}, multiplier(False, BINARY))


QONNX = "qonnx.custom_op.general"


def bipolar_quant(values: np.ndarray, scale: float) -> np.ndarray:
    """Quantise as QONNX defines it, apart from what reads its operator."""
    return np.where(values >= 0, np.float32(scale), np.float32(-scale))


def qonnx_perceptron(rng: np.random.Generator, scales: tuple[Any, Any]) -> tuple[Builder, Any]:
    """Make two layers of float weights that are quantised in the graph; also return a reference."""
    builder = Builder(rng)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((31, 12), (12, 5))]
    shift = rng.standard_normal(12).astype(np.float32)
    number = "x"
    for layer, matrix in enumerate(weights):
        pair: list[str] = []
        for name, scale in zip((number, builder.constant(matrix)), scales, strict=True):
            made = f"q{layer}{len(pair)}"
            inputs = [name, builder.constant(scale)]
            pair.append(builder.node("BipolarQuant", inputs, made, domain=QONNX))
        y = builder.node("MatMul", pair, "y" if layer else "s")
        number = y if layer else builder.node("Add", [y, builder.constant(shift)], "moved")

    def reference(x: np.ndarray) -> np.ndarray:
        for layer, matrix in enumerate(weights):
            x = bipolar_quant(x, np.max(scales[0])) @ bipolar_quant(matrix, np.max(scales[1]))
            x = x if layer else x + shift
        return x

    return builder, reference


@pytest.mark.parametrize("scales", [(1.0, 1.0), (0.5, [[0.25]])])
def test_binary_quantisers_of_qonnx(scales: tuple[Any, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    builder, reference = qonnx_perceptron(rng, scales)
    path = tmp_path / "qonnx.onnx"
    onnx.save(builder.model((8, 31), np.float32, np.float32), path)
    network = lower(load(path), BINARY)
    assert len(network.products) == 2
    x = rng.standard_normal((8, 31)).astype(np.float32)
    x[0, :7] = 0
    equal(network, x, BINARY)
    found = evaluate(network, {"x": x}, multiplier(False, BINARY))["y"]
    # Powers of two: the sums of floats are exact.
    np.testing.assert_array_equal(found, reference(x))


def test_binary_convolutions_of_qonnx(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    builder = Builder(rng)
    kernel = rng.standard_normal((6, 3, 2, 2)).astype(np.float32)
    one = builder.constant(1.0)
    a = builder.node("BipolarQuant", ["x", one], "a", domain=QONNX)
    b = builder.node("BipolarQuant", [builder.constant(kernel), one], "b", domain=QONNX)
    builder.node("Conv", [a, b], "s", strides=[2, 1])
    # Floats that are no product of signs: the quantised A is there, too.
    builder.node("ReduceSum", [a, builder.constant([1, 2, 3], np.int64)], "r")
    builder.node("Add", ["s", "r"], "y")
    path = tmp_path / "qonnx.onnx"
    onnx.save(builder.model((2, 3, 5, 6), np.float32, np.float32), path)
    network = lower(load(path), BINARY, fallback=True)
    assert len(network.products) == 1
    equal(network, rng.standard_normal((2, 3, 5, 6)).astype(np.float32), BINARY)
