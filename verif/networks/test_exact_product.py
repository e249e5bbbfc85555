"""Products in exact integers against ONNX's reference, and where onnxruntime saturates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from carrysave.compiler.graph.reference_runtime import Oracle
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.run import exact_product
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.run.exact_product import INTEGERS, exact, may_saturate, saturates
from verif.networks.comparing import compare, draw, lowered, multiplier
from verif.networks.graphs import Builder
from verif.networks.test_products import CONVOLUTIONS

I8, U8 = np.int8, np.uint8
SHAPE = (5, 30)
Make = Callable[[Builder], tuple[int, ...]]


def matrix(builder: Builder) -> tuple[int, ...]:
    """Scales are powers of two: the reference rounds by other steps."""
    inputs = [
        "x",
        builder.constant(0.5),
        builder.zero(U8),
        builder.codes((30, 7), I8),
        builder.constant(0.25),
        builder.constant(3, I8),
        builder.constant(512.0),
        builder.zero(U8),
    ]
    builder.node("QLinearMatMul", inputs, "y")
    return SHAPE


def sums(builder: Builder) -> tuple[int, ...]:
    inputs = ["x", builder.codes((30, 7), I8), builder.zero(U8), builder.constant(-5, I8)]
    builder.node("MatMulInteger", inputs, "y")
    return SHAPE


def of_two(builder: Builder) -> tuple[int, ...]:
    builder.node("Transpose", ["x"], "turned", perm=[0, 2, 1])
    builder.node("MatMulInteger", ["x", "turned", builder.zero(U8), builder.zero(U8)], "y")
    return (3, 4, 6)


def convolution(options: dict[str, Any]) -> Make:
    def make(builder: Builder) -> tuple[int, ...]:
        how = dict(options)
        kernel, group = how.pop("kernel"), how.get("group", 1)
        inputs = ["x", builder.codes((6, 6 // group, *kernel), I8), builder.zero(U8)]
        builder.node("ConvInteger", inputs, "y", **how)
        return (2, 6, *(9, 8)[: len(kernel)])

    return make


# The reference's ConvInteger has none of `auto_pad`; by hand they are pads, too.
MAKES: dict[str, tuple[Make, Any]] = {
    "QLinearMatMul": (matrix, U8),
    "MatMulInteger": (sums, np.int32),
    "of two": (of_two, np.int32),
    **{
        name: (convolution(how), np.int32)
        for name, how in CONVOLUTIONS.items()
        if "auto_pad" not in how
    },
}


@pytest.mark.parametrize("name", MAKES)
def test_is_that_of_the_reference(name: str) -> None:
    make, kind = MAKES[name]
    rng = np.random.default_rng(4)
    builder = Builder(rng)
    shape = make(builder)
    network = lowered(builder, shape, U8, kind)
    x = draw(rng, shape, U8)
    model = network.graph.proto
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
    (product,) = network.products
    late = product.bound(*(network.graph.constants[one] for one in product.late))
    b = None if late.weights is not None else np.swapaxes(x, 1, 2)
    found = exact(late, x, b)
    assert isinstance(wanted, np.ndarray)
    assert found is not None
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_kernels_of_this_processor() -> None:
    """Where they do not saturate, nothing is judged by anything but onnxruntime."""
    builder = Builder(np.random.default_rng(1))
    (product,) = lowered(builder, sums(builder), U8, np.int32).products
    wide, narrow = (np.full(SHAPE, value, U8) for value in (255, 127))
    assert may_saturate(product, wide, None) is saturates()
    assert not may_saturate(product, narrow, None)
    assert not may_saturate(product, wide, wide)


@pytest.mark.parametrize("saturating", [True, False])
def test_judges_where_onnxruntime_saturates(
    saturating: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With sums as a processor without VNNI makes them, in place of those of this one."""
    builder = Builder(np.random.default_rng(2))
    weights = builder.codes((30, 7), I8)
    builder.node("MatMulInteger", ["x", weights, builder.zero(U8)], "sums")
    builder.node("Identity", ["sums"], "y")
    network = lowered(builder, SHAPE, U8, np.int32)
    zero = int(network.graph.constants[builder_zero(network)])
    integers = network.graph.constants[weights].astype(np.int64)
    run = Oracle.run

    def wrong(oracle: Oracle, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        pairs = inputs["x"].reshape(-1, 15, 2).astype(np.int64)
        parts = np.einsum("rkp,kpn->rkn", pairs, integers.reshape(15, 2, -1))
        made = np.clip(parts, -(1 << 15), (1 << 15) - 1).sum(axis=1) - zero * integers.sum(axis=0)
        made = made.astype(np.int32)
        return dict.fromkeys(run(oracle, inputs), made)

    x = np.full(SHAPE, 255, U8)
    monkeypatch.setattr(Oracle, "run", wrong)
    monkeypatch.setattr(exact_product, "saturates", lambda: saturating)
    comparison = Comparison(network)
    found = comparison.run({"x": x}, multiplier(True))["y"]
    right = np.array_equal(found, (x.astype(np.int64) - zero) @ integers)
    (name,) = (product.name for product in network.products)
    if saturating:
        assert right
        assert comparison.judges == {name: comparison.judge} == {name: INTEGERS}
        assert not comparison.causes()
        assert comparison.products[name].codes == found.size
    else:
        assert not right
        assert comparison.judges == {}
        assert comparison.causes()

    def off(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        return multiplier(True)(product, a, b) + np.int32(1)

    comparison = Comparison(network)
    comparison.run({"x": x}, off)
    assert comparison.products[name].differ == found.size or not saturating


def builder_zero(network: Any) -> str:
    """Return the name of the zero point of A."""
    (node,) = (one for one in network.graph.nodes if one.op_type == "MatMulInteger")
    return str(node.input[2])


def test_scales_by_column_and_no_zero_point() -> None:
    """An option for exact sums once made this a model that onnxruntime refused."""
    rng = np.random.default_rng(3)
    builder = Builder(rng)
    step, zero = builder.constant(0.01), builder.constant(128, U8)
    builder.node("QuantizeLinear", ["x", step, zero], "codes")
    builder.node("DequantizeLinear", ["codes", step, zero], "a")
    columns = builder.constant(rng.uniform(0.001, 0.01, 6))
    builder.node("DequantizeLinear", [builder.codes((8, 6), I8), columns], "b", axis=1)
    builder.node("MatMul", ["a", "b"], "product")
    out = builder.constant(0.03)
    builder.node("QuantizeLinear", ["product", out, zero], "rounded")
    builder.node("DequantizeLinear", ["rounded", out, zero], "y")
    network = lowered(builder, (4, 8), np.float32, np.float32)
    compare(network, rng.normal(size=(4, 8)).astype(np.float32))
