"""Products of networks against onnxruntime: every operator, shape and way of quantising."""

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.gate import GATE, GateProduct
from carrysave.compiler.lowered.mean import MEAN, MeanProduct
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from hw.catalog import Design
from verif.networks.comparing import TARGET, compare, draw, lowered, multiplier
from verif.networks.graphs import Builder

SEEDS = range(3)

I8, U8 = np.int8, np.uint8
CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "plain": {"kernel": (3, 3)},
    "padded": {"kernel": (3, 3), "pads": [1, 0, 2, 1]},
    "strided": {"kernel": (3, 2), "strides": [2, 3]},
    "dilated": {"kernel": (2, 3), "dilations": [2, 1], "pads": [1, 1, 1, 1]},
    "same_upper": {"kernel": (4, 3), "strides": [2, 1], "auto_pad": "SAME_UPPER"},
    "same_lower": {"kernel": (4, 3), "strides": [2, 1], "auto_pad": "SAME_LOWER"},
    "valid": {"kernel": (2, 2), "auto_pad": "VALID"},
    "groups": {"kernel": (3, 3), "group": 2, "pads": [1, 1, 1, 1]},
    "depthwise": {"kernel": (3, 3), "group": 6, "pads": [1, 1, 1, 1]},
    "one_axis": {"kernel": (5,), "pads": [2, 2]},
    "pointwise": {"kernel": (1, 1)},
}


def convolution(builder: Builder, how: dict[str, Any], kinds: tuple[Any, Any]) -> Any:
    """Make a QLinearConv of 6 channels, scales by column; returns the shape of its input."""
    how = dict(how)
    kernel, group = how.pop("kernel"), how.get("group", 1)
    kind, weights = kinds
    inputs = [
        "x",
        builder.scale(),
        builder.zero(kind),
        builder.codes((6, 6 // group, *kernel), weights),
        builder.scale(6),
        builder.constant(np.zeros(6), weights) if weights is I8 else builder.zero(weights),
        builder.constant(0.9),
        builder.zero(kind),
        builder.constant(builder.rng.integers(-5000, 5000, 6), np.int32),
    ]
    builder.node("QLinearConv", inputs, "y", **how)
    return (2, 6, *(9, 8)[: len(kernel)])


@pytest.mark.sample(6)
@pytest.mark.parametrize("kinds", [(U8, I8), (I8, I8), (U8, U8)], ids=["u8s8", "s8s8", "u8u8"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str, kinds: tuple[Any, Any]) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        builder = Builder(rng)
        shape = convolution(builder, CONVOLUTIONS[name], kinds)
        compare(lowered(builder, shape, kinds[0], kinds[0]), draw(rng, shape, kinds[0]))


@pytest.mark.parametrize("columns", [1, 7], ids=["tensor", "column"])
@pytest.mark.parametrize("kinds", [(U8, I8), (I8, I8), (U8, U8)], ids=["u8s8", "s8s8", "u8u8"])
def test_matrix_products(kinds: tuple[Any, Any], columns: int) -> None:
    kind, weights = kinds
    count = (7,) if columns > 1 else ()
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        builder = Builder(rng)
        zero = builder.constant(np.zeros(count), weights)
        if weights is U8:
            zero = builder.zero(weights, *count)
        left = ["x", builder.scale(), builder.zero(kind)]
        right = [builder.codes((30, 7), weights), builder.scale(*count), zero]
        inputs = [*left, *right, builder.constant(0.5), builder.zero(kind)]
        builder.node("QLinearMatMul", inputs, "y")
        x = draw(rng, (3, 5, 30), kind)
        compare(lowered(builder, x.shape, kind, kind), x)


@pytest.mark.parametrize("kind", [U8, I8])
def test_products_of_two_activations(kind: Any) -> None:
    """As in attention: x times itself, turned, for each item of a batch."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        builder = Builder(rng)
        builder.node("Transpose", ["x"], "turned", perm=[0, 1, 3, 2])
        inputs = [
            "x",
            builder.scale(),
            builder.zero(kind),
            "turned",
            builder.scale(),
            builder.zero(kind),
            builder.constant(0.4),
            builder.zero(kind),
        ]
        builder.node("QLinearMatMul", inputs, "y")
        x = draw(rng, (2, 3, 5, 11), kind)
        compare(lowered(builder, x.shape, kind, kind), x)


@pytest.mark.parametrize("zeros", [True, False])
def test_sums(zeros: bool) -> None:
    rng = np.random.default_rng(1)
    builder = Builder(rng)
    points = [builder.zero(U8), builder.constant(3, I8)] if zeros else []
    builder.node("MatMulInteger", ["x", builder.codes((20, 6), I8), *points], "y")
    x = draw(rng, (4, 20), U8)
    compare(lowered(builder, x.shape, U8, np.int32), x)
    builder = Builder(rng)
    kernel = builder.codes((5, 2, 3, 3), U8)
    points = [builder.zero(U8), builder.zero(U8)] if zeros else []
    builder.node("ConvInteger", ["x", kernel, *points], "y", pads=[1, 1, 1, 1])
    x = draw(rng, (2, 2, 5, 6), U8)
    compare(lowered(builder, x.shape, U8, np.int32), x)


@pytest.mark.parametrize(
    "engine",
    [
        "systolic_os(m=2,n=2,a_width=9,b_width=9)",
        "systolic_os(m=2,n=2,b_width=6)",
        "lut_core(m=2,n=8,b_width=4,folded=false)",
    ],
)
def test_weights_as_they_are_on_engines_of_other_widths(engine: str) -> None:
    """Codes of all values without a zero point, split into terms where the engine is narrower."""
    rng = np.random.default_rng(9)
    builder = Builder(rng)
    weights = np.arange(-128, 128).reshape(16, 16)
    builder.node("MatMulInteger", ["x", builder.constant(weights, np.int8)], "y")
    target = Target(Design("coprocessor", {"engine": engine}))
    network = lower(Graph(builder.model((5, 16), np.int8, np.int32)), target)
    x = draw(rng, (5, 16), np.int8)
    for in_hardware in (False, True):
        compiled = network.products[0].compile(target, x, None, in_hardware)
        found = golden.product(target.spec, compiled)
        np.testing.assert_array_equal(found, x.astype(np.int64) @ weights)


@pytest.mark.parametrize("turned", [0, 1])
def test_gemm_of_onnxruntime(turned: int) -> None:
    rng = np.random.default_rng(2)
    builder = Builder(rng)
    shape = (9, 12) if turned else (12, 9)
    inputs = [
        "x",
        builder.scale(),
        builder.zero(U8),
        builder.codes(shape, I8),
        builder.scale(),
        builder.constant(0, I8),
        builder.constant(rng.integers(-900, 900, 9), np.int32),
        builder.constant(0.3),
        builder.zero(U8),
    ]
    builder.node("QGemm", inputs, "y", domain="com.microsoft", transB=turned, alpha=0.75)
    x = draw(rng, (6, 12), U8)
    compare(lowered(builder, x.shape, U8, U8), x)


@pytest.mark.sample(4)
@pytest.mark.parametrize("limit", ["none", "relu", "clip"])
@pytest.mark.parametrize("operator", ["Gemm", "Conv", "MatMul"])
def test_floats_between_quantisers(operator: str, limit: str) -> None:
    """A float operator whose inputs and output are codes is a product of codes."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        builder = Builder(rng, opset=13)
        scale, step, zero = builder.scale(), builder.scale(), builder.zero(U8)
        builder.node("QuantizeLinear", ["x", scale, zero], "q")
        builder.node("DequantizeLinear", ["q", scale, zero], "left")
        shape = (5, 3, 2, 2) if operator == "Conv" else (12, 5)
        weights = builder.codes(shape, I8)
        builder.node("DequantizeLinear", [weights, step, builder.constant(0, I8)], "right")
        inputs = ["left", "right"]
        if operator != "MatMul":
            both = builder.constant(_value(builder, scale) * _value(builder, step))
            codes = builder.constant(rng.integers(-2000, 2000, 5), np.int32)
            builder.node("DequantizeLinear", [codes, both, builder.constant(0, np.int32)], "bias")
            inputs.append("bias")
        now = builder.node(operator, inputs, "product")
        if limit == "relu":
            now = builder.node("Relu", [now], "limited")
        if limit == "clip":
            ends = [builder.constant(-0.3), builder.constant(0.6)]
            now = builder.node("Clip", [now, *ends], "limited")
        out = [builder.constant(0.02), builder.zero(U8)]
        builder.node("QuantizeLinear", [now, *out], "codes")
        builder.node("DequantizeLinear", ["codes", *out], "y")
        x = rng.normal(0, 0.5, (3, 3, 4, 4) if operator == "Conv" else (7, 12))
        network = lowered(builder, x.shape, np.float32, np.float32)
        assert [product.operator for product in network.products] == [operator]
        assert set(network.host) == {"QuantizeLinear", "DequantizeLinear"}
        compare(network, x.astype(np.float32))


def _value(builder: Builder, name: str) -> np.ndarray:
    graph = Graph(builder.model((1,), np.float32, np.float32))
    return graph.constants[name]


def test_float_result_of_codes() -> None:
    """Without a quantiser behind it, a product makes sums, of which the host makes floats."""
    rng = np.random.default_rng(3)
    builder = Builder(rng)
    scale, step, zero = builder.scale(), builder.scale(4), builder.zero(U8)
    builder.node("QuantizeLinear", ["x", scale, zero], "q")
    builder.node("DequantizeLinear", ["q", scale, zero], "left")
    weights = builder.codes((4, 2, 3), I8)
    zeros = builder.constant(np.zeros(4), I8)
    builder.node("DequantizeLinear", [weights, step, zeros], "right", axis=0)
    builder.node("Conv", ["left", "right", builder.constant(rng.normal(0, 1, 4))], "floats")
    builder.node("Tanh", ["floats"], "y")
    x = rng.normal(0, 0.5, (2, 2, 9)).astype(np.float32)
    network = lowered(builder, x.shape, np.float32, np.float32)
    assert len(network.products) == 1
    comparison = Comparison(network)
    expected = comparison.run({"x": x}, multiplier(True))["y"]
    found = evaluate(network, {"x": x}, multiplier(True))["y"]
    # Sums are exact here, and rounded one by one there: a few units in the last place.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_operators_of_onnxruntime_on_codes() -> None:
    """Between products: within a step, as its own kernels are."""
    rng = np.random.default_rng(4)
    builder = Builder(rng)
    scale, zero = builder.scale(), builder.zero(U8)
    same, late = [scale, zero], [builder.constant(0.05), zero]
    part = [builder.constant(1 / 256), builder.constant(0, U8)]
    right = [builder.codes((3, 3, 1, 1), I8), builder.scale(), builder.constant(0, I8)]
    own = {"domain": "com.microsoft"}
    builder.node("QLinearConv", ["x", *same, *right, *late], "c")
    builder.node("QLinearAdd", ["c", *late, "x", *same, *late], "sum", **own)
    builder.node("QLinearSigmoid", ["sum", *late, *part], "gate", **own)
    builder.node("QLinearMul", ["sum", *late, "gate", *part, *late], "y", **own)
    x = draw(rng, (2, 3, 6, 5), U8)
    network = lowered(builder, x.shape, U8, U8)
    comparison = Comparison(network)
    comparison.run({"x": x}, multiplier(False))
    kinds = {kind for kind, product in comparison.differences if not product}
    assert kinds == {"Add", "Sigmoid", "Mul"}
    assert max(one.most for one in comparison.differences.values()) <= 1


def test_pools_and_others_of_onnxruntime_on_codes() -> None:
    """Behind a product: within a step, as its own kernels are."""
    rng = np.random.default_rng(5)
    builder = Builder(rng)
    scale, zero = builder.scale(), builder.zero(U8)
    same, late = [scale, zero], [builder.constant(0.05), zero]
    part = [builder.constant(1 / 256), builder.constant(0, U8)]
    right = [builder.codes((3, 3, 1, 1), I8), builder.scale(), builder.constant(0, I8)]
    own = {"domain": "com.microsoft"}
    builder.node("QLinearConv", ["x", *same, *right, *late], "c")
    builder.node("QLinearLeakyRelu", ["c", *late, *late], "leaky", alpha=0.1, **own)
    builder.node("QLinearConcat", [*late, "leaky", *late, "x", *same], "both", axis=1, **own)
    builder.node("QLinearAveragePool", ["both", *late, *late], "pool", kernel_shape=[2, 2], **own)
    builder.node("QLinearGlobalAveragePool", ["pool", *late, *late], "mean", **own)
    builder.node("QLinearSoftmax", ["mean", *late, *part], "y", axis=1, opset=13, **own)
    x = draw(rng, (2, 3, 6, 5), U8)
    comparison = Comparison(lowered(builder, x.shape, U8, U8))
    comparison.run({"x": x}, multiplier(False))
    kinds = {kind for kind, product in comparison.differences if not product}
    assert kinds == {"LeakyRelu", "Concat", "Softmax"}
    assert {("GlobalAveragePool", True), ("Conv", True)} <= comparison.differences.keys()
    assert max(one.most for one in comparison.differences.values()) <= 1


def mean(builder: Builder, kind: Any, zero: int | None = None, behind: str = "") -> None:
    """Make means of channels between quantisers."""
    last = builder.zero(kind) if zero is None else builder.constant(zero, kind)
    builder.node("DequantizeLinear", ["x", builder.scale(), builder.zero(kind)], "float")
    made = builder.node("GlobalAveragePool", ["float"], "mean")
    if behind:
        made = builder.node(behind, [made], "behind")
    builder.node("QuantizeLinear", [made, builder.constant(0.004), last], "y")


@pytest.mark.parametrize("kind", [U8, I8])
@pytest.mark.parametrize("sizes", [(6, 7), (1, 1), (9,), (2, 3, 4), (40, 30)])
def test_means_of_channels_are_products(sizes: tuple[int, ...], kind: Any) -> None:
    """With a row of ones; in hardware, with one work for all channels of all samples."""
    for seed, behind in enumerate(("", "Relu")):
        rng = np.random.default_rng(seed)
        builder = Builder(rng)
        mean(builder, kind, behind=behind)
        shape = (3, 5, *sizes)
        network = lowered(builder, shape, kind, kind)
        assert set(network.host) <= {"QuantizeLinear", "DequantizeLinear"}
        (product,) = network.products
        x = draw(rng, shape, kind)
        comparison = Comparison(network)
        comparison.run({"x": x}, multiplier(True))
        assert comparison.differences[MEAN, True].most <= 1
        assert comparison.differences[MEAN, True].codes == 15
        compiled = product.compile(TARGET, x, None, True)
        (work,) = compiled.works
        assert work.requantisation is not None
        assert compiled.macs == x.size
        # Exactly, by whole numbers: the sum, times the scale of a code by their count.
        assert isinstance(product, MeanProduct)
        assert product.scale is not None
        sums = (x.astype(np.int64) - product.a_zero).sum(axis=tuple(range(2, x.ndim)))
        scale = Fraction(float(product.scale[0] / np.float32(np.prod(sizes))))
        wanted = [
            min(
                max(floor(int(one) * scale + Fraction(1, 2)) + product.y_zero, product.low),
                product.high,
            )
            for one in sums.flat
        ]
        made = golden.product(TARGET.spec, compiled)
        assert made.shape == (3, 5, *[1] * len(sizes))
        assert made.reshape(-1).tolist() == wanted


def test_means_of_more_codes_than_the_engine_takes_are_cut() -> None:
    """And their sums added: the same codes as of onnxruntime's rounding."""
    rng = np.random.default_rng(1)
    builder = Builder(rng)
    mean(builder, U8)
    graph = Graph(builder.model((2, 3, 7, 9), U8, U8))
    x = draw(rng, (2, 3, 7, 9), U8)
    target = Target(Design("coprocessor", {"engine": "systolic_os(m=4,n=4,k_max=20)"}))
    (cut,), (whole,) = (lower(graph, one).products for one in (target, TARGET))
    compiled = cut.compile(target, x, None, True)
    assert [len(work.b) for work in compiled.works] == [20, 20, 20, 3]
    assert compiled.macs == x.size
    made = golden.product(target.spec, compiled)
    on_host = golden.product(TARGET.spec, whole.compile(TARGET, x, None, False))
    assert made.shape == (2, 3, 1, 1)
    np.testing.assert_array_equal(made, on_host)


def test_other_means_stay_on_the_host() -> None:
    """Of codes of 16 bits, of which the engine has none, and those that two read."""
    rng = np.random.default_rng(1)
    wide, twice = Builder(rng), Builder(rng)
    mean(wide, np.uint16)
    mean(twice, U8)
    twice.node("QuantizeLinear", ["mean", twice.scale(), twice.zero(U8)], "other")
    for builder, kind in ((wide, np.uint16), (twice, U8)):
        right = [builder.codes((4, 4, 1, 1), I8), builder.scale(), builder.constant(0, I8)]
        late = [builder.scale(), builder.zero(U8)]
        builder.node("QLinearConv", ["u", *late, *right, *late], "v")
        proto = builder.model((2, 4, 3, 3), kind, U8)
        proto.graph.input.append(
            helper.make_tensor_value_info("u", TensorProto.UINT8, [2, 4, 3, 3])
        )
        proto.graph.output.append(
            helper.make_tensor_value_info("v", TensorProto.UINT8, [2, 4, 3, 3])
        )
        if builder is twice:
            proto.graph.output.append(
                helper.make_tensor_value_info("other", TensorProto.UINT8, [2, 4, 1, 1])
            )
        network = lower(Graph(proto), TARGET)
        assert [product.operator for product in network.products] == ["QLinearConv"]
        assert network.host[MEAN] == 1


def test_groups_that_are_deep_stand_alone() -> None:
    """Where bundled groups were deeper than the engine, they are not bundled."""
    rng = np.random.default_rng(6)
    builder = Builder(rng)
    convolution(builder, CONVOLUTIONS["depthwise"], (U8, I8))
    # One output alone, so that no patch has more.
    graph = Graph(builder.model((2, 6, 1, 1), U8, U8))
    x = draw(rng, (2, 6, 1, 1), U8)
    counts = {}
    for k_max in (9, 27, 64):
        target = Target(Design("coprocessor", {"engine": f"systolic_os(m=4,n=4,k_max={k_max})"}))
        (product,) = lower(graph, target).products
        works = product.compile(target, x, None, True).works
        assert max(work.b.shape[0] for work in works) <= k_max
        counts[k_max] = len(works)
    assert counts == {9: 6, 27: 2, 64: 2}


@pytest.mark.parametrize(("k_max", "fits"), [(29, False), (59, False), (60, True)])
def test_depth_is_refused_before_anything_runs(k_max: int, fits: bool) -> None:
    """Weights of 9 bits, less their zero point, come as two terms: twice as deep."""
    builder = Builder(np.random.default_rng(7))
    right = [builder.constant(np.full((30, 7), 200), U8), builder.scale(), builder.constant(0, U8)]
    left = ["x", builder.scale(), builder.zero(U8)]
    builder.node("QLinearMatMul", [*left, *right, builder.constant(0.5), builder.zero(U8)], "y")
    graph = Graph(builder.model((5, 30), U8, U8))
    target = Target(Design("coprocessor", {"engine": f"systolic_os(m=2,n=2,k_max={k_max})"}))
    if fits:
        assert lower(graph, target).products
    else:
        with pytest.raises(ValueError, match=f"K must be 1..{k_max}.*not 60"):
            lower(graph, target)


def test_sums_that_do_not_fit_are_refused() -> None:
    big = np.full((1, 2), (1 << 31) - 1)
    work = Work(a=np.ones((1, 1), np.int64), b=np.ones((1, 2), np.int64), bias=big[0])
    with pytest.raises(ValueError, match=r"sums must be of \d+ bits, not 2147483648"):
        golden.run(TARGET.spec, [work])


def test_differences_are_counted_where_they_arise() -> None:
    """A product that is wrong by two steps is blamed, and what follows it is not."""
    rng = np.random.default_rng(5)
    builder = Builder(rng)
    scale, zero = builder.scale(), builder.zero(U8)
    for source, result in (("x", "middle"), ("middle", "y")):
        builder.node("QLinearMatMul", [source, scale, zero, builder.codes((8, 8), I8),
                                       builder.scale(), builder.constant(0, I8),
                                       builder.constant(0.3), zero], result)  # fmt: skip
    x = draw(rng, (4, 8), U8)
    network = lowered(builder, x.shape, U8, U8)

    def wrong(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        y = multiplier(False)(product, a, b)
        return y ^ 2 if product.y == "middle" else y

    comparison = Comparison(network)
    comparison.run({"x": x}, wrong)
    first, second = (comparison.products[product.name] for product in network.products)
    assert (first.differ, first.most) == (32, 2)
    assert second.differ == 0
    (cause,) = comparison.causes()
    assert (cause["operator"], cause["differ"], cause["most"]) == ("QLinearMatMul", 32, 2)


def test_peak_of_engines_that_take_planes() -> None:
    engines = {
        "systolic_os(m=2,n=3)": 6,
        "lut_core(m=2,n=8,b_width=4,folded=false)": 64,
        "bitserial_core(m=2,n=4,k=8,b_width=2)": 32,
        "npe(m=2,n=3)": 6,
    }
    for engine, peak in engines.items():
        assert Target(Design("coprocessor", {"engine": engine})).peak(None) == peak


def gate(builder: Builder, kind: Any, zero: int, shape: tuple[int, ...], behind: str = "") -> Any:
    """Multiply channels by numbers of others between quantisers; return the first."""
    for name, own in (("x", builder.zero(kind)), ("g", builder.constant(zero, kind))):
        builder.node("DequantizeLinear", [name, builder.scale(), own], f"{name}/float")
    made = builder.node("Mul", ["g/float", "x/float"], "gated")
    if behind:
        made = builder.node(behind, [made], "behind")
    builder.node("QuantizeLinear", [made, builder.constant(0.9), builder.zero(kind)], "y")
    proto = builder.model(shape, kind, kind)
    proto.graph.input.append(
        helper.make_tensor_value_info(
            "g", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), ["batch", *shape[1:2], 1, 1]
        )
    )
    return proto


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", [U8, I8])
@pytest.mark.parametrize("zero", [-128, -3, 0, 77, 127])
def test_gates_of_channels_are_products(zero: int, kind: Any) -> None:
    """With diagonal matrices; gates of all codes, less whatever zero point, are exact."""
    zero += 128 if kind is U8 else 0
    for seed, (batch, channels, gates) in enumerate(((2, 9, 2), (3, 4, 1), (1, 17, 2))):
        rng = np.random.default_rng(seed)
        shape = (batch, channels, 5, 6)
        proto = gate(Builder(rng), kind, zero, shape, ["", "Relu"][seed % 2])
        network = lower(Graph(proto), TARGET)
        assert set(network.host) <= {"QuantizeLinear", "DequantizeLinear"}
        (product,) = network.products
        assert isinstance(product, GateProduct)
        x, g = draw(rng, shape, kind), draw(rng, (gates, channels, 1, 1), kind)
        ends = np.iinfo(kind)
        g.flat[: 2 * channels] = np.resize([ends.min, ends.max], 2 * channels)[: g.size]
        comparison = Comparison(network)
        comparison.run({"x": x, "g": g}, multiplier(True))
        assert comparison.differences[GATE, True].most <= 1
        compiled = product.compile(TARGET, x, g, True)
        rows = [len(work.a) for work in compiled.works if work.a is not None]
        assert sum(rows) == max(batch, gates) * channels
        assert all(work.requantisation is not None for work in compiled.works)
        assert compiled.macs == max(batch, gates) * x[0].size
        # Exactly, by whole numbers.
        assert product.scale is not None
        sums = (x.astype(np.int64) - product.a_zero) * (g.astype(np.int64) - zero)
        scale = Fraction(float(product.scale[0]))
        wanted = [
            min(
                max(floor(int(one) * scale + Fraction(1, 2)) + product.y_zero, product.low),
                product.high,
            )
            for one in sums.flat
        ]
        made = golden.product(TARGET.spec, compiled)
        assert made.shape == sums.shape
        assert made.reshape(-1).tolist() == wanted
        on_host = product.compile(TARGET, x, g, False)
        assert abs(golden.product(TARGET.spec, on_host).astype(np.int64) - made).max() <= 1


def test_gates_that_do_not_fit_are_refused_when_they_come() -> None:
    rng = np.random.default_rng(1)
    (product,) = lower(Graph(gate(Builder(rng), U8, 0, (2, 4, 5, 6))), TARGET).products
    x = draw(rng, (2, 4, 5, 6), U8)
    for shape in ((2, 3, 1, 1), (2, 4, 1, 6), (3, 4, 1, 1), (4, 1, 1)):
        with pytest.raises(ValueError, match=r"Mul .*: A and B must have channels, and B one numb"):
            product.compile(TARGET, x, np.zeros(shape, U8), True)


def test_other_products_of_elements_stay_on_the_host() -> None:
    """Of two of the same sizes, of sizes that are not known, and of codes of 16 bits."""
    for kind, sizes in ((U8, [2, 4, 5, 6]), (U8, ["a", "b", "c", "d"]), (np.uint16, [2, 4, 1, 1])):
        rng = np.random.default_rng(1)
        builder = Builder(rng)
        late = [builder.scale(), builder.zero(U8)]
        right = [builder.codes((4, 4, 1, 1), I8), builder.scale(), builder.constant(0, I8)]
        builder.node("QLinearConv", ["u", *late, *right, *late], "v")
        proto = gate(builder, kind, 0, (2, 4, 5, 6))
        proto.graph.input.pop()
        number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        proto.graph.input.append(helper.make_tensor_value_info("g", number, sizes))
        for name, part in (("u", proto.graph.input), ("v", proto.graph.output)):
            part.append(helper.make_tensor_value_info(name, TensorProto.UINT8, [2, 4, 3, 3]))
        network = lower(Graph(proto), TARGET)
        assert [product.operator for product in network.products] == ["QLinearConv"]
        assert network.host[GATE] == 1
