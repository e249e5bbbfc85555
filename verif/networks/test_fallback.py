"""``carrysave run --host-fallback``: one node that is not supported does not stop the others."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

from carrysave import errors
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.passes.pipeline import lower
from verif.networks.comparing import TARGET
from verif.networks.graphs import Builder
from verif.support.command import Run
from verif.support.schemas import check

F32, I8, U8 = np.float32, np.int8, np.uint8
PLAIN = ("--energy", "none", "--simulate", "none", "--json")


def product(b: Builder, source: str, result: str) -> None:
    """Quantise, multiply by 8 x 8, and dequantise."""
    zero = b.constant(100, U8)
    b.node("QuantizeLinear", [source, b.constant(0.05), zero], f"{result}q")
    # Weights so small that onnxruntime, the judge, saturates on no processor.
    small = b.constant(b.rng.integers(-60, 61, (8, 8)), I8)
    weights = [small, b.constant(0.01), b.constant(0, I8)]
    b.node(
        "QLinearMatMul",
        [f"{result}q", b.constant(0.05), zero, *weights, b.constant(0.1), zero],
        f"{result}c",
    )
    b.node("DequantizeLinear", [f"{result}c", b.constant(0.1), zero], result)


def _branch(operator: str, source: str, scale: str) -> onnx.GraphProto:
    nodes = [
        helper.make_node(operator, [source], ["inner"]),
        helper.make_node("Mul", ["inner", scale], ["branch"]),
    ]
    return helper.make_graph(
        nodes, operator, [], [helper.make_tensor_value_info("branch", 1, None)]
    )


def model(kind: str) -> ModelProto:
    """Two products, and between them what is not supported."""
    b = Builder(np.random.default_rng(1))
    product(b, "x", "a")
    if kind == "domain":
        b.node("BiasGelu", ["a", b.constant(b.rng.normal(size=8))], "b", domain="com.microsoft")
    elif kind == "subgraph":
        # A tensor of a product, and a constant, are taken from around it.
        b.node("ReduceSum", ["a"], "sum", keepdims=0)
        b.node("Greater", ["sum", b.constant(0)], "positive")
        scale = b.constant(0.5)
        b.node(
            "If",
            ["positive"],
            "b",
            then_branch=_branch("Sigmoid", "a", scale),
            else_branch=_branch("Tanh", "a", scale),
        )
    elif kind == "loop":
        b.node("Identity", [b.constant(3, np.int64)], "count")
        inner = [
            helper.make_node("Add", ["state", "a"], ["next"]),
            helper.make_node("Identity", ["on"], ["still"]),
        ]
        values = [
            helper.make_tensor_value_info("i", 7, []),
            helper.make_tensor_value_info("on", 9, []),
            helper.make_tensor_value_info("state", 1, None),
        ]
        ends = [
            helper.make_tensor_value_info("still", 9, []),
            helper.make_tensor_value_info("next", 1, None),
        ]
        body = helper.make_graph(inner, "body", values, ends)
        b.node("Loop", ["count", "", "a"], "b", body=body)
    elif kind == "product":
        # Of activations of 16 bits, which the engine does not take.
        zero = b.constant(0, np.uint16)
        b.node("QuantizeLinear", ["a", b.constant(0.001), zero], "wide")
        b.node("DequantizeLinear", ["wide", b.constant(0.001), zero], "ad")
        b.node("DequantizeLinear", [b.codes((8, 8), I8), b.constant(0.01)], "w")
        b.node("MatMul", ["ad", "w"], "b")
    product(b, "b", "y")
    return b.model(("n", 8), F32, F32, ("n", 8))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("domain", "BiasGelu 'BiasGelu_b': operators of domain 'com.microsoft' are not supported"),
        ("subgraph", "If 'If_b': subgraphs are not supported"),
        ("loop", "Loop 'Loop_b': subgraphs are not supported"),
        ("product", "MatMul 'MatMul_b': A has codes 0..65535; the engine takes -128..127"),
    ],
)
def test_runs_the_rest(run: Run, tmp_path: Path, kind: str, reason: str) -> None:
    made = model(kind)
    onnx.save(made, tmp_path / "m.onnx")
    x = np.random.default_rng(2).normal(size=(8, 8)).astype(F32)
    np.save(tmp_path / "x.npy", x)
    refused = run("run", "m.onnx", "--input", "x.npy", *PLAIN, "-o", "out")
    assert refused.code == 2
    assert reason.replace(": subgraphs", ", ").split(", ")[0] in refused.err
    assert not (tmp_path / "out").exists()
    found = run("run", "m.onnx", "--input", "x.npy", *PLAIN, "--host-fallback", "-o", "out")
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert [row["operator"] for row in facts["layers"]] == ["QLinearMatMul"] * 2
    notes = [note for note in facts["notes"] if note.endswith(reason)]
    assert len(notes) == 1
    assert notes[0].startswith("not on the block" if kind == "product" else "by onnxruntime")
    assert facts["outputs"][0]["equal"]
    (expected,) = session(made.SerializeToString()).run(["y"], {"x": x})
    np.testing.assert_array_equal(np.load(tmp_path / "out/run/m/outputs.npz")["y"], expected)


def test_what_only_the_run_shows(run: Run, tmp_path: Path) -> None:
    """A product whose K the engine does not take, which is known when it runs."""
    depth = 1 << 17
    b = Builder(np.random.default_rng(4), opset=17)
    product(b, "x", "a")
    step, zero = b.constant(0.05), b.constant(3, I8)
    shape = b.constant([1, depth], np.int64)
    wide = b.node("Expand", [b.node("ReduceMean", ["a"], "mean"), shape], "wide")
    b.node("QuantizeLinear", [wide, step, zero], "q")
    made = b.node("DequantizeLinear", ["q", step, zero], "d")
    codes = b.node("Transpose", ["q"], "tq")
    turned = b.node("DequantizeLinear", [codes, step, zero], "turned")
    b.node("MatMul", [made, turned], "square")
    b.node("QuantizeLinear", ["square", b.constant(100), zero], "sq")
    b.node("DequantizeLinear", ["sq", b.constant(100), zero], "s")
    b.node("Add", ["a", "s"], "y")
    onnx.save(b.model(("n", 8), F32, F32, ("n", 8)), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.random.default_rng(5).normal(size=(2, 8)).astype(F32))
    refused = run("run", "m.onnx", "--input", "x.npy", *PLAIN, "-o", "out")
    assert refused.code == 2
    assert "MatMul 'MatMul_square': K must be 1.." in refused.err
    assert not (tmp_path / "out").exists()
    found = run("run", "m.onnx", "--input", "x.npy", *PLAIN, "--host-fallback", "-o", "out")
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert [row["operator"] for row in facts["layers"]] == ["QLinearMatMul"]
    (note,) = [one for one in facts["notes"] if one.startswith("not on the block")]
    assert "MatMul 'MatMul_square': K must be 1.." in note
    assert facts["outputs"][0]["equal"]


def test_without_onnxruntime(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    onnx.save(model("domain"), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros((2, 8), F32))
    present = errors.installed
    monkeypatch.setattr(
        "carrysave.compiler.run.request.installed",
        lambda name: name != "onnxruntime" and present(name),
    )
    found = run("run", "m.onnx", "--input", "x.npy", *PLAIN, "--host-fallback")
    assert found.code == 2
    assert "--host-fallback needs onnxruntime; pip install" in found.err


def test_what_onnxruntime_cannot_run_either(run: Run, tmp_path: Path) -> None:
    made = model("domain")
    next(node for node in made.graph.node if node.op_type == "BiasGelu").op_type = "NoSuch"
    onnx.save(made, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros((2, 8), F32))
    found = run("run", "m.onnx", "--input", "x.npy", *PLAIN, "--host-fallback")
    assert found.code == 2
    assert "onnxruntime cannot run the model" in found.err
    assert found.out == ""


def test_nothing_left_for_the_block() -> None:
    b = Builder(np.random.default_rng(3))
    b.node("BiasGelu", ["x", b.constant(b.rng.normal(size=8))], "y", domain="com.microsoft")
    with pytest.raises(ValueError, match="no quantised product"):
        lower(Graph(b.model((2, 8), F32, F32)), TARGET, fallback=True)
