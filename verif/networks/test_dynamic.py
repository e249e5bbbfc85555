"""Products whose zero points are known when they run, as onnxruntime's dynamic quantiser writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.comparing import TARGET, compare, draw, lowered, multiplier
from verif.networks.graphs import Builder
from verif.support.command import Run

I8, U8 = np.int8, np.uint8
WEIGHTS = {"s8": QuantType.QInt8, "u8": QuantType.QUInt8}


def attention(rng: np.random.Generator) -> ModelProto:
    """Two products with weights, and two of activations."""
    b = Builder(rng, opset=17)
    b.node("MatMul", ["x", b.constant(rng.normal(size=(16, 24)))], "h")
    b.node("Add", ["h", b.constant(rng.normal(size=24))], "i")
    b.node("Relu", ["i"], "r")
    b.node("MatMul", ["r", b.constant(rng.normal(size=(24, 8)))], "k")
    b.node("Transpose", ["k"], "t", perm=[0, 2, 1])
    b.node("MatMul", ["k", "t"], "s")
    b.node("Softmax", ["s"], "p")
    b.node("MatMul", ["p", "k"], "y")
    return b.model(("n", "length", 16), np.float32, np.float32, ("n", "length", 8))


def convolutions(rng: np.random.Generator) -> ModelProto:
    """Plain, and in groups, padded."""
    b = Builder(rng, opset=17)
    plain = ["x", b.constant(rng.normal(size=(6, 2, 3, 3))), b.constant(rng.normal(size=6))]
    b.node("Conv", plain, "c", pads=[1, 0, 2, 1])
    b.node("Conv", ["c", b.constant(rng.normal(size=(6, 1, 2, 2)))], "y", group=6)
    return b.model(("n", 2, 7, 6), np.float32, np.float32, ("n", 6, "h", "w"))


def quantised(model: ModelProto, folder: Path, **options: Any) -> ModelProto:
    """Return it as onnxruntime's dynamic quantiser does."""
    onnx.save(model, folder / "floats.onnx")
    chosen = {"extra_options": {"MatMulConstBOnly": False}, **options}
    operators = ["MatMul", "Conv"]
    quantize_dynamic(folder / "floats.onnx", folder / "m.onnx", operators, **chosen)
    return onnx.load(folder / "m.onnx")


def same(network: Lowered, x: np.ndarray) -> Comparison:
    """Every code, scale and sum is onnxruntime's."""
    comparison = Comparison(network)
    expected = comparison.run({"x": x}, multiplier(True))["y"]
    assert not comparison.causes()
    found = evaluate(network, {"x": x}, multiplier(True))["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    return comparison


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("columns", [False, True], ids=["tensor", "column"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("make", [attention, convolutions])
def test_as_quantised(make: Any, weights: str, columns: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    model = quantised(make(rng), tmp_path, per_channel=columns, weight_type=WEIGHTS[weights])
    network = lower(Graph(model), TARGET)
    kinds = {"MatMulInteger"} if make is attention else {"ConvInteger"}
    assert {product.operator for product in network.products} == kinds
    shape = (3, 7, 16) if make is attention else (3, 2, 7, 6)
    found = same(network, rng.normal(1, 2, shape).astype(np.float32)).differences
    # Codes of every quantiser were compared, and sums of every product.
    assert {product for _, product in found} == {False, True}
    assert set(network.host) >= {"DynamicQuantizeLinear", "Cast", "Mul"}


@pytest.mark.parametrize("values", ["zeros", "one side", "tiny"])
def test_ranges(values: str) -> None:
    """Of zeros alone; of positive numbers; of subnormal ones."""
    b = Builder(np.random.default_rng(2))
    b.node("DynamicQuantizeLinear", ["x"], "q")
    b.nodes[-1].output.extend(["scale", "zero"])
    b.node("MatMulInteger", ["q", b.codes((8, 3), I8), "zero", b.constant(5, I8)], "s")
    b.node("Cast", ["s"], "f", to=1)
    b.node("Mul", ["f", "scale"], "y")
    factor = {"zeros": 0, "one side": 1, "tiny": 1e-40}[values]
    x = np.arange(1, 33).reshape(4, 8) * factor
    network = lowered(b, x.shape, np.float32, np.float32)
    same(network, x.astype(np.float32))


@pytest.mark.sample(4)
@pytest.mark.parametrize("kinds", [(U8, U8), (U8, I8), (I8, I8)])
@pytest.mark.parametrize("size", ["number", "one", "column"])
def test_zero_points_that_are_computed(kinds: tuple[Any, Any], size: str) -> None:
    """Of constant weights, and of weights that are computed, for one column each."""
    for computed in (False, True):
        rng = np.random.default_rng(3)
        b = Builder(rng)
        columns = {"number": (), "one": (1,), "column": (7,)}[size]
        points: list[str] = []
        for kind, shape in zip(kinds, ((), columns), strict=True):
            given = b.zero(np.int64, *shape)
            tensor = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
            small = np.random.default_rng(4).integers(0, 128, shape)
            b.constants[-1].CopyFrom(numpy_helper.from_array(small, given))
            points.append(b.node("Cast", [given], f"zero{len(points)}", to=tensor))
        right = b.codes((20, 7), kinds[1])
        right = b.node("Identity", [right], "right") if computed else right
        b.node("MatMulInteger", ["x", right, *points], "y")
        x = draw(rng, (4, 20), kinds[0])
        compare(lowered(b, x.shape, kinds[0], np.int32), x)


def test_groups_with_zero_points_that_are_computed() -> None:
    rng = np.random.default_rng(5)
    b = Builder(rng)
    zero = b.node("Cast", [b.constant(77, np.int64)], "zero", to=2)
    b.node("ConvInteger", ["x", b.codes((6, 2, 3, 3), U8), "", zero], "y", group=2)
    x = draw(rng, (2, 4, 6, 6), U8)
    compare(lowered(b, x.shape, U8, np.int32), x)


def test_activations_take_no_second_pass() -> None:
    """Zero points that make codes of B wider than the engine's cost no depth."""
    rng = np.random.default_rng(6)
    b = Builder(rng)
    b.node("Transpose", ["x"], "t", perm=[0, 2, 1])
    b.node("MatMulInteger", ["x", "t", b.constant(3, U8), b.constant(9, U8)], "y")
    x = draw(rng, (2, 5, 11), U8)
    (product,) = lowered(b, x.shape, U8, np.int32).products
    turned = x.transpose(0, 2, 1)
    works = product.compile(TARGET, x, turned, True).works
    assert [work.b.shape for work in works] == [(11, 5)] * 2
    expected = (x.astype(int) - 3) @ (turned.astype(int) - 9)
    np.testing.assert_array_equal(multiplier(True)(product, x, turned), expected)
    # Weights of 4 bits hold no code of 8: they come as terms.
    target = Target(Design("coprocessor", {"engine": "lut_core(m=2,n=8,b_width=4,folded=false)"}))
    deep = product.compile(target, x, turned, True).works
    assert all(work.b.shape[0] > 11 for work in deep)


@pytest.mark.parametrize(
    ("zero", "says"),
    [
        ((4,), "MatMulInteger 'MatMulInteger_y': A must have one zero point, not 4"),
        ((0,), "A must have one zero point, not 0"),
    ],
)
def test_refused_as_it_runs(run: Run, tmp_path: Path, zero: tuple[int], says: str) -> None:
    b = Builder(np.random.default_rng(7))
    row = b.node("Gather", ["x", b.constant(0, np.int64)], "row")
    point = b.node("Slice", [row, b.constant([0], np.int64), b.constant(zero, np.int64)], "zero")
    b.node("MatMulInteger", ["x", b.codes((8, 3), I8), point], "y")
    onnx.save(b.model(("n", 8), U8, np.int32, ("n", 3)), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros((4, 8), U8))
    found = run("run", "m.onnx", "--input", "x.npy", "--energy", "none", "--simulate", "none")
    assert found.code == 2
    assert says in found.err
    assert not (tmp_path / "build").exists()


@pytest.mark.prove
@pytest.mark.filterwarnings("ignore")
def test_on_the_simulated_block(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    quantised(attention(rng), tmp_path)
    np.save(tmp_path / "x.npy", rng.normal(size=(2, 5, 16)).astype(np.float32))
    found = run("run", "m.onnx", "--input", "x.npy", "-p", "engine=systolic_os(m=2,n=4)", "-p",
                "data_width=32", "--energy", "none", "--simulate", "all", "--json")  # fmt: skip
    assert found.code == 0, found.err
    facts = json.loads(found.out)
    assert facts["simulation_equal"] is True
    assert facts["causes"] == []
    assert [row["operator"] for row in facts["layers"]] == ["MatMulInteger"] * 4
