"""Weights of few bits, in blocks, and small floats, as onnxruntime's quantisers write them."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.comparing import TARGET, compare, lowered, multiplier
from verif.networks.graphs import Builder
from verif.support.command import Run
from verif.support.schemas import check

F32, I8, U8 = np.float32, np.int8, np.uint8
FLOATS = Target(Design("coprocessor", {"engine": "npe(m=2,n=3)"}))
ULPS = 16
"""Most that sums of floats in another order differ here, in units of the largest."""


def two_products(depth: int = 96) -> ModelProto:
    b = Builder(np.random.default_rng(1), opset=21)
    b.node("MatMul", ["x", b.constant(b.rng.normal(size=(depth, 32)))], "h")
    b.node("Relu", ["h"], "r")
    b.node("MatMul", ["r", b.constant(b.rng.normal(size=(32, 16)))], "y")
    return b.model(("n", depth), F32, F32, ("n", 16))


def inputs(count: int = 5, depth: int = 96) -> np.ndarray:
    found: np.ndarray = np.random.default_rng(2).normal(size=(count, depth)).astype(F32)
    return found


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """Gives a few batches to calibrate with."""

    def __init__(self) -> None:
        self.batches: Iterator[Any] = iter([{"x": inputs(8)} for _ in range(4)])

    def get_next(self) -> Any:
        return next(self.batches, None)


def static(folder: Path, **options: Any) -> ModelProto:
    """Quantise by calibration."""
    onnx.save(two_products(), folder / "f.onnx")
    path = folder / "m.onnx"
    quantize_static(folder / "f.onnx", path, Reader(), quant_format=QuantFormat.QDQ, **options)
    return onnx.load(path)


def in_blocks(level: int | None, block: int = 32, **options: Any) -> ModelProto:
    """Quantise weights alone."""
    logging.getLogger("onnxruntime.quantization.matmul_nbits_quantizer").disabled = True
    work = MatMulNBitsQuantizer(two_products(), block_size=block, accuracy_level=level, **options)
    work.process()
    return work.model.model


def same(network: Lowered, x: np.ndarray, ulps: int = ULPS) -> Comparison:
    """Every product is onnxruntime's but for the order of its sums."""
    comparison = Comparison(network)
    comparison.run({"x": x}, multiplier(True))
    assert comparison.differences
    assert all(one.most <= ulps for one in comparison.differences.values())
    return comparison


@pytest.mark.sample(5)
@pytest.mark.parametrize("block", [32, 128])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_blocks_at_level_4(bits: int, symmetric: bool, block: int) -> None:
    """Activations are rounded to int8 by blocks, and so multiplied on the block; 96 is not 128."""
    model = in_blocks(4, block, bits=bits, is_symmetric=symmetric)
    network = lower(Graph(model), TARGET)
    assert [product.operator for product in network.products] == ["MatMulNBits"] * 2
    assert dict(network.host) == {"Relu": 1}
    for rows in (1, 5):
        found = same(network, inputs(rows)).differences["MatMulNBits", True]
        assert found.codes == rows * 48
    (first, _) = network.products
    works = first.compile(TARGET, inputs(), None, True).works
    terms = 2 if (bits, symmetric) == (8, False) else 1
    assert [len(work.b) // terms for work in works] == {32: [32] * 3, 128: [96]}[block]


def by_hand(b: Builder, how: str) -> dict[str, Any]:
    """Make MatMulNBits of 80 x 12, in blocks of 32, whose zero points lie anywhere."""
    given = ["x", b.codes((12, 3, 16), U8), b.scale(36), b.codes((24,), U8)]
    numbers = {"K": 80, "N": 12, "bits": 4, "block_size": 32, "accuracy_level": 4}
    if how == "bias":
        given += ["", b.constant(b.rng.normal(size=12))]
    if how == "order":
        given += [b.constant(np.arange(80) // 32, np.int32)]
    if how == "float zeros":
        given[3] = b.constant(b.rng.uniform(0, 15, 36))
    if how == "NaN":
        given[2] = b.constant([np.nan] * 36)
    if how == "few":
        given[1] = b.codes((11, 3, 16), U8)
    if how == "bits":
        numbers["bits"] = 3
    if how == "block":
        numbers["block_size"] = 24
    if how in ("level", "float zeros"):
        numbers["accuracy_level"] = 0
    b.node("MatMulNBits", given, "y", domain="com.microsoft", **numbers)
    return numbers


@pytest.mark.parametrize("how", ["plain", "bias"])
def test_zero_points_anywhere(how: str) -> None:
    b = Builder(np.random.default_rng(3))
    by_hand(b, how)
    same(lowered(b, ("n", "m", 80), F32, F32), inputs(6, 80).reshape(2, 3, 80))


def test_rows_of_zeros() -> None:
    """A block of zeros has no scale, and a tiny one no factor."""
    b = Builder(np.random.default_rng(4))
    by_hand(b, "plain")
    x = inputs(4, 80)
    x[0], x[1, :32] = 0, 0
    same(lowered(b, ("n", 80), F32, F32), x)
    x[2] = 1e-44
    found = evaluate(lowered(b, ("n", 80), F32, F32), {"x": x}, multiplier(True))["y"]
    assert np.isfinite(found).all()


@pytest.mark.parametrize("how", ["level", "float zeros"])
def test_in_floats(how: str) -> None:
    """Without level 4 activations are floats: the host multiplies, and says why."""
    b = Builder(np.random.default_rng(5))
    by_hand(b, how)
    b.node("DynamicQuantizeLinear", ["y"], "q")
    b.nodes[-1].output.extend(["scale", "zero"])
    b.node("MatMulInteger", ["q", b.codes((12, 4), I8), "zero"], "s")
    b.node("Cast", ["s"], "z", to=1)
    model = b.model(("n", 80), F32, F32, ("n", 12))
    model.graph.output.append(helper.make_tensor_value_info("z", 1, ("n", 4)))
    network = lower(Graph(model), TARGET)
    assert network.floats == {"MatMulNBits": 1}
    assert "accuracy_level=4" in network.why_floats
    x = inputs(5, 80)
    found = evaluate(network, {"x": x}, multiplier(True))["y"]
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("level", "MatMulNBits has activations in floats, without accuracy_level=4"),
        ("order", "MatMulNBits 'MatMulNBits_y': g_idx is not supported"),
        ("NaN", "scales must be finite floats"),
        ("few", "B must have 576 values, not 528"),
        ("bits", "bits must be 2, 4 or 8, not 3"),
        ("block", "block_size must be a power of two, 16 or more, not 24"),
    ],
)
def test_refused(run: Run, tmp_path: Path, how: str, says: str) -> None:
    b = Builder(np.random.default_rng(6))
    by_hand(b, how)
    onnx.save(b.model(("n", 80), F32, F32, ("n", 12)), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", inputs(2, 80))
    found = run("run", "m.onnx", "--input", "x.npy", "--energy", "none", "--simulate", "none")
    assert found.code == 2
    assert says in found.err
    assert found.out == ""


@pytest.mark.prove
def test_on_the_simulated_block(run: Run, tmp_path: Path) -> None:
    """Its report says how the floats differ from onnxruntime's."""
    onnx.save(in_blocks(4, bits=4), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", inputs())
    found = run("run", "m.onnx", "--input", "x.npy", "-p", "engine=systolic_os(m=2,n=4)", "-p",
                "data_width=32", "--energy", "none", "--simulate", "all", "--json")  # fmt: skip
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["simulation_equal"] is True
    assert [row["operator"] for row in facts["layers"]] == ["MatMulNBits"] * 2
    (cause,) = facts["causes"]
    assert cause["operator"] == "MatMulNBits"
    assert 0 < cause["most"] <= ULPS
    assert json.loads(found.out)["outputs"][0]["most"] < 1e-3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["QInt4", "QUInt4"])
@pytest.mark.parametrize("columns", [False, True])
def test_weights_of_4_bits(tmp_path: Path, kind: str, columns: bool) -> None:
    model = static(tmp_path, weight_type=QuantType[kind], per_channel=columns)
    network = lower(Graph(model), TARGET)
    assert len(network.products) == 2
    compare(network, inputs())


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4])
def test_activations_of_4_bits(kind: int) -> None:
    """Codes that numpy does not have, in, between and out."""
    b = Builder(np.random.default_rng(7))
    b.constants.append(helper.make_tensor("zero", kind, [], [3]))
    for source, depth, width in (("x", 24, 8), ("d", 8, 5)):
        step, out = b.constant(0.4), source + "2"
        b.node("QuantizeLinear", [source, step, "zero"], f"{out}q")
        b.node("DequantizeLinear", [f"{out}q", step, "zero"], f"{out}d")
        b.node("DequantizeLinear", [b.codes((depth, width), I8), b.scale()], f"{out}w")
        b.node("MatMul", [f"{out}d", f"{out}w"], f"{out}y")
        b.node("QuantizeLinear", [f"{out}y", b.constant(2.0), "zero"], f"{out}c")
        last = "y" if source == "d" else "d"
        b.node("DequantizeLinear", [f"{out}c", b.constant(2.0), "zero"], last)
    network = lowered(b, ("n", 24), F32, F32)
    assert [product.y_type.name for product in network.products] == [
        TensorProto.DataType.Name(TensorProto.DataType.ValueType(kind)).lower()
    ] * 2
    compare(network, inputs(6, 24))


@pytest.mark.parametrize("given", ["codes", "floats"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_dequantised_blocks(symmetric: bool, given: str) -> None:
    """Weights in blocks times codes are multiplied block by block; times floats, on the host."""
    model = in_blocks(None, bits=4, is_symmetric=symmetric, quant_format=QuantFormat.QDQ)
    if given == "codes":
        b = Builder(np.random.default_rng(8))
        scale, zero = b.constant(0.03), b.constant(100, U8)
        b.node("QuantizeLinear", ["x", scale, zero], "xq")
        b.node("DequantizeLinear", ["xq", scale, zero], "xd")
        for one in b.constants:
            one.name = f"own_{one.name}"
            model.graph.initializer.append(one)
        for number, node in enumerate(b.nodes):
            for at in (1, 2):
                node.input[at] = f"own_{node.input[at]}"
            model.graph.node.insert(number, node)
        next(n for n in model.graph.node if n.op_type == "MatMul").input[0] = "xd"
        network = lower(Graph(model), TARGET)
        assert [product.operator for product in network.products] == ["MatMul"]
        assert network.floats == {"MatMul": 1}
        same(network, inputs())
        return
    with pytest.raises(ValueError, match="its weights are dequantised"):
        lower(Graph(model), TARGET)
    x = inputs()
    whole = Lowered(Graph(model), model)
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    found = evaluate(whole, {"x": x}, multiplier(True))["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def _small_floats(folder: Path) -> ModelProto:
    kind = QuantType.QFLOAT8E4M3FN
    return static(
        folder,
        weight_type=kind,
        activation_type=kind,
        calibrate_method=CalibrationMethod.Distribution,
    )


@pytest.mark.filterwarnings("ignore")
def test_small_floats(tmp_path: Path) -> None:
    """On an engine with E4M3 as they are; every code is onnxruntime's."""
    network = lower(Graph(_small_floats(tmp_path)), FLOATS)
    assert [product.formats for product in network.products] == ["e4m3 x e4m3"] * 2

    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        return golden.product(FLOATS.spec, product.compile(FLOATS, a, b, True))

    comparison = Comparison(network)
    expected = comparison.run({"x": inputs()}, multiply)["y"]
    assert sum(one.codes for one in comparison.differences.values()) == 5 * (96 + 32 + 16)
    # Sums are exact here, and rounded one by one there: one code may be the next one.
    assert sum(one.differ for one in comparison.differences.values()) <= 1
    found = evaluate(network, {"x": inputs()}, multiply)["y"]
    assert np.mean(found == expected) > 0.95


@pytest.mark.filterwarnings("ignore")
def test_small_floats_on_integers(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="or of small floats"):
        lower(Graph(_small_floats(tmp_path)), TARGET)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", ["INT4", "UINT4", "UINT8", "INT16"])
def test_quantisers_in_blocks(kind: str, axis: int) -> None:
    """Of activations, along any axis, the last block being short: on the host."""
    b = Builder(np.random.default_rng(9), opset=21)
    number = TensorProto.DataType.Value(kind)
    shape = [6, 8]
    shape[axis] = 3 if axis == 0 else 4
    count = int(np.prod(shape))
    steps = b.constant(b.rng.uniform(0.05, 0.3, shape))
    b.constants.append(helper.make_tensor("zero", number, shape, b.rng.integers(0, 8, count)))
    how = {"axis": axis, "block_size": 2}
    b.node("QuantizeLinear", ["x", steps, "zero"], "q", **how)
    b.node("DequantizeLinear", ["q", steps, "zero"], "y", **how)
    model = b.model((6, 8), F32, F32, (6, 8))
    x = inputs(6, 8)
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    found = evaluate(Lowered(Graph(model), model), {"x": x}, multiplier(True))["y"]
    np.testing.assert_array_equal(found, expected)


def test_blocks_that_do_not_fit() -> None:
    b = Builder(np.random.default_rng(10), opset=21)
    zero = b.constant(np.zeros((6, 3)), U8)
    b.node("QuantizeLinear", ["x", b.scale(6, 3), zero], "y", axis=1, block_size=2)
    model = b.model((6, 8), F32, U8)
    with pytest.raises(ValueError, match=r"blocks of 2 need scales of \(6, 4\), not \(6, 3\)"):
        evaluate(Lowered(Graph(model), model), {"x": inputs(6, 8)}, multiplier(True))
