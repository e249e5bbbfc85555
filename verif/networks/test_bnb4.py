"""Weights of 4 bits that are codes of a table, as MatMulBnb4 of users' files has them.

The oracle is onnxruntime's own kernel, of floats: it rounds neither activations nor the table.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer

from carrysave.compiler.graph.bnb4_weights import KINDS, Bnb4Weights
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.passes.refusals import RefusedError
from carrysave.compiler.run.alone import of_work
from carrysave.compiler.target.target import Target
from golden.lut.expander import NF4
from hw.catalog import Design
from verif.networks.comparing import TARGET, multiplier
from verif.networks.graphs import Builder
from verif.support.command import Run
from verif.support.schemas import check

F32 = np.float32
FP4, IS_NF4 = 0, 1
OF_NF4 = Target(Design("coprocessor", {"engine": "systolic_os(m=4,n=4)", "codebook": "nf4"}))
OF_JOBS = Target(Design("coprocessor", {"engine": "systolic_os(m=4,n=4)", "codebook": "job16"}))


def two_products(kind: int = IS_NF4, block: int = 32) -> ModelProto:
    """Quantise as onnxruntime's tool does, after bitsandbytes."""
    b = Builder(np.random.default_rng(1), opset=21)
    b.node("MatMul", ["x", b.constant(b.rng.normal(size=(96, 32)))], "h")
    b.node("Relu", ["h"], "r")
    b.node("MatMul", ["r", b.constant(b.rng.normal(size=(32, 16)))], "y")
    work = MatMulBnb4Quantizer(b.model(("n", 96), F32, F32, ("n", 16)), kind, block)
    work.process()
    model: ModelProto = work.model.model
    return model


def inputs(count: int = 5, depth: int = 96) -> np.ndarray:
    found: np.ndarray = np.random.default_rng(2).normal(size=(count, depth)).astype(F32)
    return found


def one_product(packed: np.ndarray, most: np.ndarray, **numbers: Any) -> ModelProto:
    """Make a model of one product, of any K and N."""
    given = [
        helper.make_tensor("b", TensorProto.UINT8, packed.shape, packed.tobytes(), raw=True),
        helper.make_tensor("m", TensorProto.FLOAT, most.shape, most.astype(F32)),
    ]
    node = helper.make_node(
        "MatMulBnb4", ["x", "b", "m"], ["y"], name="it", domain="com.microsoft", **numbers
    )
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", numbers[size]])
        for name, size in (("x", "K"), ("y", "N"))
    )
    sets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "g", [x], [y], given)
    return helper.make_model(graph, opset_imports=sets, ir_version=9)


def drawn(depth: int, columns: int, block: int, kind: int) -> tuple[Any, ...]:
    """Draw any bytes and magnitudes."""
    rng, count = np.random.default_rng(depth), depth * columns
    packed = rng.integers(0, 256, -(-count // 2), dtype=np.uint8)
    most = rng.uniform(0.5, 2, -(-count // block)).astype(F32)
    return packed, most, {"K": depth, "N": columns, "block_size": block, "quant_type": kind}


def of_onnxruntime(model: ModelProto, x: np.ndarray) -> np.ndarray:
    (y,) = session(model.SerializeToString()).run(["y"], {"x": x})
    found: np.ndarray = y
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_onnxruntimes(kind: int) -> None:
    """Read back through its kernel, the high half of a byte first."""
    packed = np.array([16 * code | code + 1 for code in range(0, 16, 2)], np.uint8)
    numbers = {"K": 16, "N": 1, "block_size": 16, "quant_type": kind}
    model = one_product(packed, np.ones(1), **numbers)
    found = of_onnxruntime(model, np.eye(16, dtype=F32))[:, 0]
    assert np.array_equal(found, np.array(KINDS[kind], F32))
    if kind == IS_NF4:
        assert np.rint(127 * found).astype(int).tolist() == list(NF4)


@pytest.mark.parametrize(
    ("depth", "columns", "block", "run"),
    [(64, 3, 32, 32), (48, 5, 32, 16), (16, 7, 64, 16), (20, 6, 16, 4), (33, 3, 16, 1)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_onnxruntimes(
    depth: int, columns: int, block: int, run: int, kind: int
) -> None:
    """Blocks are of the flat order, so that one may end in a column and go on in the next."""
    packed, most, numbers = drawn(depth, columns, block, kind)
    weights = Bnb4Weights.read(packed, most, numbers)
    found = of_onnxruntime(one_product(packed, most, **numbers), np.eye(depth, dtype=F32))
    assert np.array_equal(weights.floats, found)
    assert weights.block == run
    rounded = weights.values * np.repeat(weights.scales, run, axis=0)
    assert np.abs(rounded - found).max() <= 0.5001 / 127 * most.max()


@pytest.mark.parametrize("target", [TARGET, OF_NF4, OF_JOBS], ids=["int8", "nf4", "job16"])
def test_products_of_a_users_file(target: Target) -> None:
    """On the block, with one code in 4 bits where it has a table; near onnxruntime's floats."""
    model = two_products()
    network = lower(Graph(model), target)
    assert [product.operator for product in network.products] == ["MatMulBnb4"] * 2
    assert not network.refused
    x = inputs()
    found = evaluate(network, {"x": x}, multiplier(True, target))["y"]
    expected = of_onnxruntime(model, x)
    assert np.abs(found - expected).max() <= 0.02 * np.abs(expected).max()
    (first, _) = network.products
    (work, *_) = first.compile(target, x, None, True).works
    assert target.mode.tabled(work.b).b_stored.bits == (8 if target is TARGET else 4)


def test_table_that_the_engine_does_not_have() -> None:
    """FP4 is no NF4, which is refused by name; a table of the job has any numbers."""
    model = two_products(FP4)
    with pytest.raises(RefusedError, match=r"numbers must be of -127, -88, .*, not "):
        lower(Graph(model), OF_NF4)
    assert len(lower(Graph(model), OF_JOBS).products) == 2


def test_short_runs_are_of_the_host() -> None:
    """Beside another product; the host multiplies by the floats of the table."""
    b = Builder(np.random.default_rng(5))
    packed, most, numbers = drawn(20, 6, 16, IS_NF4)
    given = ["x", b.constant(packed, np.uint8), b.constant(most)]
    b.node("MatMulBnb4", given, "y", domain="com.microsoft", **numbers)
    b.node("DynamicQuantizeLinear", ["y"], "q")
    b.nodes[-1].output.extend(["scale", "zero"])
    b.node("MatMulInteger", ["q", b.codes((6, 4), np.int8), "zero"], "s")
    b.node("Cast", ["s"], "z", to=1)
    model = b.model(("n", 20), F32, F32, ("n", 6))
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ("n", 4)))
    network = lower(Graph(model), TARGET)
    assert network.floats == {"MatMulBnb4": 1}
    assert "fewer than 16 codes along K" in network.why_floats
    x = inputs(3, 20)
    found = evaluate(network, {"x": x}, multiplier(True))["y"]
    assert np.allclose(found, of_onnxruntime(model, x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"quant_type": 2}, r"quant_type must be 0 \(FP4\) or 1 \(NF4\), not 2"),
        ({"block_size": 24}, "block_size must be a power of two, 16 or more, not 24"),
        ({"transB": 0}, "transB must be 1, not 0"),
        ({"K": 63}, "B must have 95 values, not 96"),
        ({"N": 0}, "K and N must be 1 or more, not 64 and 0"),
    ],
)
def test_refused(change: dict[str, int], says: str) -> None:
    packed, most, numbers = drawn(64, 3, 32, IS_NF4)
    with pytest.raises(Unsupported, match=says):
        Bnb4Weights.read(packed, most, numbers | change)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_magnitudes_that_are_none(bad: float) -> None:
    packed, most, numbers = drawn(64, 3, 32, IS_NF4)
    with pytest.raises(Unsupported, match="absmax must be of finite floats"):
        Bnb4Weights.read(packed, np.full_like(most, bad), numbers)


def test_job_of_a_table_has_it() -> None:
    """Alone, and of some of its columns: of all of them there is one table, of 16 bytes."""
    first = lower(Graph(two_products()), OF_JOBS).products[0]
    (work, *_) = first.compile(OF_JOBS, inputs(), None, True).works
    one = of_work("h", work, OF_JOBS)
    assert one.rows["b_scales"].shape == (1, 16)
    for part in (one, one.some_columns(8, 16, OF_JOBS)):
        sums = part.golden(OF_JOBS).reshape(len(inputs()), -1).view("<i4")
        assert work.a is not None
        due = work.a.astype(np.int64) @ work.b.astype(np.int64)
        due = due + (0 if work.bias is None else work.bias)
        assert np.array_equal(sums, due if part is one else due[:, 8:24])


@pytest.mark.prove
@pytest.mark.parametrize("codebook", ["nf4", "job16"])
def test_on_the_simulated_block(run: Run, tmp_path: Path, codebook: str) -> None:
    onnx.save(two_products(), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", inputs())
    found = run(
        "run",
        "m.onnx",
        "--input",
        "x.npy",
        "-p",
        "engine=systolic_os(m=2,n=4)",
        "-p",
        "data_width=32",
        "-p",
        f"codebook={codebook}",
        "--energy",
        "none",
        "--simulate",
        "all",
        "--json",
    )
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["simulation_equal"] is True
    assert [row["operator"] for row in facts["layers"]] == ["MatMulBnb4"] * 2
