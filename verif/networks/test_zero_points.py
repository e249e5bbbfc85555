"""Weights of few bits on engines whose blocks have zero points, as GPTQ, AWQ and QDQ write them."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxruntime.quantization import QuantFormat
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.engine_codes import engine_weights, terms_of
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run.alone import of_work
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.target.target import Target
from carrysave.driver import Number
from carrysave.driver.batch import Work
from carrysave.driver.batch import run as run_works
from carrysave.weights.zero_points import zero_points
from hw.catalog import Design
from verif.networks.comparing import TARGET, multiplier
from verif.networks.graphs import Builder
from verif.soc.driver.test_driver_scales import Rig
from verif.support.command import Run
from verif.support.schemas import check

F32, U8 = np.float32, np.uint8
ENGINE = "npe(m=2,n=4,formats=int8,int4,zeros=true,block=32,accumulator_width=32)"
ZEROS = Target(Design("coprocessor", {"engine": ENGINE}))
INT8 = Number.of(8, 8, True)
INT4 = Number.of(4, 4, True)


def inputs(count: int = 5, depth: int = 96) -> np.ndarray:
    found: np.ndarray = np.random.default_rng(2).normal(size=(count, depth)).astype(F32)
    return found


def of_few_bits(level: int | None, **options: Any) -> ModelProto:
    """Quantise two products in blocks of 32, with zero points."""
    b = Builder(np.random.default_rng(1), opset=21)
    b.node("MatMul", ["x", b.constant(b.rng.uniform(-0.2, 1, (96, 32)))], "h")
    b.node("Relu", ["h"], "r")
    b.node("MatMul", ["r", b.constant(b.rng.uniform(-1, 0.1, (32, 16)))], "y")
    logging.getLogger("onnxruntime.quantization.matmul_nbits_quantizer").disabled = True
    work = MatMulNBitsQuantizer(
        b.model(("n", 96), F32, F32, ("n", 16)),
        block_size=32,
        accuracy_level=level,
        is_symmetric=False,
        **options,
    )
    work.process()
    model: ModelProto = work.model.model
    return model


def works_of(model: ModelProto, target: Target) -> list[Work]:
    first = lower(Graph(model), target).products[0]
    return first.compile(target, inputs(), None, True).works


@pytest.mark.parametrize("number", [INT4, INT8])
@pytest.mark.parametrize("wide", [0, 1])
def test_zero_points_are_any_that_hold_weights(number: Number, wide: int) -> None:
    """Against a search of all, of blocks that end anywhere; one code too wide has none."""
    rng, span = np.random.default_rng(number.bits), number.high - number.low
    low = rng.integers(-span, 1, (3, 40))
    right = np.clip(low[np.arange(11) // 4] + rng.integers(0, span + 1, (11, 40)), -span, span)
    right[0], right[1] = low[0], low[0] + span + wide
    zeros = zero_points(right, number, 4)
    legal = np.arange(number.low, number.high + 1)
    for block in range(3):
        codes = right[4 * block : 4 * block + 4, :, None] + legal
        fits = ((codes >= number.low) & (codes <= number.high)).all(axis=0)
        if zeros is None:
            assert wide
            break
        nearest = np.where(fits, np.abs(legal), 999).argmin(axis=1)
        assert np.array_equal(zeros[block], legal[nearest])
        assert fits.any(axis=1).all()
    else:
        assert not wide


@pytest.mark.parametrize("bits", [4, 8])
def test_matmul_n_bits_is_one_term(bits: int) -> None:
    """Bit by bit what engines of int8 make of differences, of codes as the file has them."""
    model, x = of_few_bits(4, bits=bits), inputs()
    plain, made = works_of(model, TARGET), works_of(model, ZEROS)
    assert [len(work.b) for work in plain] == [32 * (1 + (bits == 8))] * 3
    assert [len(work.b) for work in made] == [32] * 3
    for work in made:
        assert work.mode == ZEROS.modes["int8", f"int{bits}"]
        assert work.b_zeros is not None
        assert work.b_zeros.any()
        rows = of_work("y", work, ZEROS).rows
        assert rows["b"].shape == (32, 32 * bits // 8)
        assert rows["b_scales"].shape == (1, 32)
    on_zeros = evaluate(lower(Graph(model), ZEROS), {"x": x}, multiplier(True, ZEROS))["y"]
    on_plain = evaluate(lower(Graph(model), TARGET), {"x": x}, multiplier(True))["y"]
    assert np.array_equal(on_zeros, on_plain)
    comparison = Comparison(lower(Graph(model), ZEROS))
    comparison.run({"x": x}, multiplier(True, ZEROS))
    assert all(one.most <= 16 for one in comparison.differences.values())


@pytest.mark.parametrize("how", ["QDQ", "QOperator"])
def test_activations_in_floats_are_rounded(how: str) -> None:
    """Blocks of uint4 with zero points as they are in files of weights alone: near onnxruntime."""
    model, x = of_few_bits(None, bits=4, quant_format=QuantFormat[how]), inputs()
    network = lower(Graph(model), ZEROS)
    assert not network.floats
    assert [one.operator for one in network.products] == [
        {"QDQ": "MatMul", "QOperator": "MatMulNBits"}[how]
    ] * 2
    assert "rounds activations to int8, which onnxruntime takes" in network.products[0].why
    found = evaluate(network, {"x": x}, multiplier(True, ZEROS))["y"]
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()
    assert not np.array_equal(found, expected)
    # The same products, of the same codes, but for the type that they have in the file.
    other = of_few_bits(4, bits=4)
    same = evaluate(lower(Graph(other), TARGET), {"x": x}, multiplier(True))["y"]
    assert np.array_equal(found, same)


@pytest.mark.parametrize("kind", ["UINT4", "UINT8"])
def test_columns_with_zero_points_are_onnxruntimes(kind: str) -> None:
    """Of QDQ, whose sums are requantised: one term where int8 alone needs two."""
    b = Builder(np.random.default_rng(3))
    number, top = TensorProto.DataType.Value(kind), 16 if kind == "UINT4" else 256
    for name, shape in (("w", (40, 7)), ("z", (7,))):
        values = b.rng.integers(0, top, shape)
        b.constants.append(helper.make_tensor(name, number, shape, values.ravel()))
    step, zero = b.constant(0.0625), b.constant(100, U8)
    b.node("QuantizeLinear", ["x", step, zero], "q")
    b.node("DequantizeLinear", ["q", step, zero], "d")
    b.node("DequantizeLinear", ["w", b.constant(np.full(7, 0.125)), "z"], "v", axis=1)
    b.node("MatMul", ["d", "v"], "p")
    out = b.constant(np.exp2(np.ceil(np.log2(top))) / 16)
    b.node("QuantizeLinear", ["p", out, zero], "r")
    b.node("DequantizeLinear", ["r", out, zero], "y")
    model, x = b.model((6, 40), F32, F32), inputs(6, 40)
    network = lower(Graph(model), ZEROS)
    (product,) = network.products
    assert product.weights is not None
    assert (terms_of(TARGET, product.weights), terms_of(ZEROS, product.weights)) == (
        1 if kind == "UINT4" else 2,
        1,
    )
    found = evaluate(network, {"x": x}, multiplier(True, ZEROS))["y"]
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    assert np.array_equal(found, expected)


def test_driver_runs_works_with_zero_points() -> None:
    """One by one, and those whose zero points are left out, which are 0."""
    rig, rng = Rig("python", None, ZEROS.spec), np.random.default_rng(5)
    a, right = rng.integers(-128, 128, (3, 40)), rng.integers(-255, 1, (40, 8))
    made = engine_weights(ZEROS, right)
    work = Work(a=a, b=made.codes, mode=made.mode, b_zeros=made.zeros)
    plain = Work(a=a, b=made.codes, mode=made.mode)
    results, _ = run_works(rig.device, [work, plain])
    assert np.array_equal(results[0], a @ right)
    assert np.array_equal(results[1], a @ made.codes.astype(int))


def test_weights_too_far_apart_are_terms() -> None:
    right = np.array([[-255], [0], [255]] * 11)
    made = engine_weights(ZEROS, right)
    assert made.zeros is None
    assert made.mode == ZEROS.mode
    assert len(made.codes) == terms_of(ZEROS, right) * 33
    assert np.array_equal(made.codes.reshape(-1, 33, 1).sum(axis=0, dtype=int), right)


@pytest.mark.prove
@pytest.mark.parametrize("how", ["QDQ", "QOperator"])
def test_on_the_simulated_block(run: Run, tmp_path: Path, how: str) -> None:
    model = of_few_bits(4 if how == "QOperator" else None, bits=4, quant_format=QuantFormat[how])
    onnx.save(model, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", inputs())
    flags = ("-p", f"engine={ENGINE}", "--simulate", "all", "--json")
    found = run("run", "m.onnx", "--input", "x.npy", *flags)
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["simulation_equal"] is True
    assert facts["outputs"][0]["most"] < 0.5


def test_programs_have_none(run: Run, tmp_path: Path) -> None:
    onnx.save(of_few_bits(4, bits=4), tmp_path / "m.onnx")
    found = run("compile", "m.onnx", "-p", f"engine={ENGINE}")
    assert found.code == 2
    assert "run takes engines with zeros=true product by product" in found.err
    scaled = ("engine=npe(scale=e8m0,result=fp32)", "bias=false", "requantise=false")
    found = run("compile", "m.onnx", *(word for one in scaled for word in ("-p", one)))
    assert "engine must be one with matrices in memory, without scales" in found.err
