"""Weights as quantisers of others write them: what constants compute is a constant."""

from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto, helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.passes.fold import fold
from carrysave.compiler.passes.pipeline import lower
from verif.networks.comparing import TARGET, multiplier
from verif.networks.graphs import Builder

F32, I8, I64 = np.float32, np.int8, np.int64
K, N = 8, 6


def _rows(b: Builder, shape: tuple[int, int], axis: int) -> str:
    """Dequantise codes with a scale for each place of an axis."""
    steps = b.scale(shape[axis])
    zeros = b.constant(np.zeros(shape[axis]), I8)
    codes = b.constant(b.rng.integers(-127, 128, shape), I8)
    return b.node("DequantizeLinear", [codes, steps, zeros], "rows", axis=axis)


def _transposed(b: Builder) -> str:
    """As torch exports nn.Linear."""
    return b.node("Transpose", [_rows(b, (N, K), 0)], "w", perm=[1, 0])


def _identity(b: Builder) -> str:
    return b.node("Identity", [_rows(b, (K, N), 1)], "w")


def _reshaped(b: Builder) -> str:
    flat = b.node("DequantizeLinear", [b.codes((K * N,), I8), b.scale()], "flat")
    return b.node("Reshape", [flat, b.constant([K, N], I64)], "w")


def _unsqueezed(b: Builder) -> str:
    more = b.node("Unsqueeze", [_rows(b, (K, N), 1), b.constant([0], I64)], "more")
    return b.node("Squeeze", [more, b.constant([0], I64)], "w")


def _clipped_codes(b: Builder) -> str:
    """As Brevitas has narrow ranges: floats, quantised, limited, dequantised."""
    step, zero = b.scale(), b.constant(0, I8)
    codes = b.node("QuantizeLinear", [_floats(b, (K, N)), step, zero], "q")
    codes = b.node("Clip", [codes, b.constant(-127, I8), b.constant(127, I8)], "narrow")
    return b.node("DequantizeLinear", [codes, step, zero], "w")


def _clipped_floats(b: Builder) -> str:
    """Limit to floats of codes: by a scale of a power of two."""
    made = b.node("DequantizeLinear", [b.codes((K, N), I8), b.constant(1 / 64)], "wide")
    return b.node("Clip", [made, b.constant(-100 / 64), b.constant(90 / 64)], "w")


def _floats(b: Builder, shape: tuple[int, ...]) -> str:
    return b.constant(b.rng.normal(size=shape) * 0.5)


def _quantised(b: Builder) -> str:
    """As AIMET writes weights: floats between quantisers, by columns."""
    steps, zeros = b.scale(N), b.constant(np.zeros(N), I8)
    codes = b.node("QuantizeLinear", [_floats(b, (K, N)), steps, zeros], "q", axis=1)
    return b.node("DequantizeLinear", [codes, steps, zeros], "w", axis=1)


def _quantised_and_transposed(b: Builder) -> str:
    """As Model Optimizer does by rows, before it exports."""
    steps, zeros = b.scale(N), b.constant(np.zeros(N), I8)
    codes = b.node("QuantizeLinear", [_floats(b, (N, K)), steps, zeros], "q", axis=0)
    rows = b.node("DequantizeLinear", [codes, steps, zeros], "rows", axis=0)
    return b.node("Transpose", [rows], "w")


def _computed_scale(b: Builder) -> str:
    """Cast a scale of half precision, and a zero point."""
    step = b.node("Cast", [b.constant(0.01, np.float16)], "step", to=TensorProto.FLOAT)
    zero = b.node("Cast", [b.constant(0, np.int32)], "zero", to=TensorProto.INT8)
    return b.node("DequantizeLinear", [b.codes((K, N), I8), step, zero], "w")


def _of_constants(b: Builder) -> str:
    """Constants as nodes, of each kind that has no tensor, and of one value."""
    b.nodes.append(helper.make_node("Constant", [], ["step"], "step", value_float=0.01))
    b.nodes.append(helper.make_node("Constant", [], ["shape"], "shape", value_ints=[K, N]))
    ones = helper.make_tensor("one", TensorProto.INT8, [1], [3])
    codes = b.node("ConstantOfShape", ["shape"], "codes", value=ones)
    return b.node("DequantizeLinear", [codes, "step"], "w")


def _joined(b: Builder) -> str:
    """Codes in two parts, made one, and turned as codes."""
    parts = [b.codes((2, K), I8), b.codes((N - 2, K), I8)]
    codes = b.node("Transpose", [b.node("Concat", parts, "parts", axis=0)], "codes")
    return b.node("DequantizeLinear", [codes, b.scale()], "w")


WEIGHTS: list[Callable[[Builder], str]] = [
    _transposed,
    _identity,
    _reshaped,
    _unsqueezed,
    _clipped_codes,
    _clipped_floats,
    _quantised,
    _quantised_and_transposed,
    _computed_scale,
    _of_constants,
    _joined,
]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("limited", [False, True])
def test_weights(weights: Callable[[Builder], str], limited: bool) -> None:
    """One product on the block, and onnxruntime's codes; also where codes of A are limited."""
    b = Builder(np.random.default_rng(1))
    step, zero = b.constant(0.02), b.constant(3, I8)
    codes = b.node("QuantizeLinear", ["x", step, zero], "aq")
    if limited:
        codes = b.node("Clip", [codes, b.constant(-127, I8), b.constant(127, I8)], "al")
    a = b.node("DequantizeLinear", [codes, step, zero], "a")
    bias = b.node("Reshape", [_floats(b, (1, N)), b.constant([N], I64)], "bias")
    sums = b.node("MatMul", [a, weights(b)], "s")
    sums = b.node("Add", [sums, bias], "t")
    b.node("QuantizeLinear", [sums, b.constant(0.1), b.constant(0, I8)], "y")
    model = b.model(("n", K), F32, I8)
    network = lower(Graph(model), TARGET)
    (product,) = network.products
    assert product.weights is not None
    assert product.weights.shape == (K, N)
    x = np.random.default_rng(2).normal(size=(5, K)).astype(F32)
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    found = evaluate(network, {"x": x}, multiplier(False))["y"]
    np.testing.assert_array_equal(found, expected)
    print(f"forms of weights: {len(WEIGHTS)}")


def test_blocks_are_turned() -> None:
    """Codes of 4 bits with a scale for each block stay codes."""
    b = Builder(np.random.default_rng(3))
    codes = b.constant(b.rng.integers(-8, 8, (N, 16)), I8)
    narrow = b.node("Cast", [codes], "narrow", to=TensorProto.INT4)
    rows = b.node("DequantizeLinear", [narrow, b.scale(N, 4)], "rows", axis=1, block_size=4)
    b.node("MatMul", ["x", b.node("Transpose", [rows], "w")], "y")
    graph = fold(Graph(b.model((2, 16), F32, F32)))
    assert [node.op_type for node in graph.nodes] == ["DequantizeLinear", "MatMul"]
    values = {one.name: one for one in graph.nodes[0].attribute}
    assert (values["axis"].i, values["block_size"].i) == (0, 4)
    x = b.rng.normal(size=(2, 16)).astype(F32)
    ours, theirs = (
        session(one.SerializeToString()).run(["y"], {"x": x})
        for one in (graph.proto, b.model((2, 16), F32, F32))
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)


def test_floats_that_are_of_no_codes() -> None:
    """Ends between codes: they become floats, and no product of codes is made of them."""
    b = Builder(np.random.default_rng(4))
    wide = b.node("DequantizeLinear", [b.codes((K, N), I8), b.constant(1 / 64)], "wide")
    w = b.node("Clip", [wide, b.constant(-0.99), b.constant(0.99)], "w")
    b.node("MatMul", ["x", w], "y")
    graph = fold(Graph(b.model((2, K), F32, F32)))
    assert [node.op_type for node in graph.nodes] == ["MatMul"]
    assert abs(graph.constants["w"]).max() == F32(0.99)


def test_draws_and_outputs_stay() -> None:
    b = Builder(np.random.default_rng(5))
    b.nodes.append(helper.make_node("RandomNormal", [], ["r"], "r", shape=[2, 2]))
    b.node("Mul", ["r", b.constant(2)], "twice")
    b.node("Add", ["x", "twice"], "y")
    graph = Graph(b.model((2, 2), F32, F32))
    assert fold(graph) is graph
