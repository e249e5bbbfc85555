"""Precision of models with inputs that are constants."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from carrysave.precision.intervals import ratio
from verif.networks.graphs import Builder
from verif.networks.test_precision import SMALL
from verif.networks.test_precision import files as files
from verif.support.command import Run
from verif.support.schemas import check


def test_inputs_that_are_constants(run: Run, files: list[Any], tmp_path: Path) -> None:
    """A model with another input is one of one input, and its formats are written."""
    model = onnx.load(files[0])
    (first,) = (node for node in model.graph.node if "pixels" in node.input)
    first.input[0] = "scaled"
    model.graph.node.insert(0, onnx.helper.make_node("Mul", ["pixels", "gain"], ["scaled"]))
    model.graph.input.append(onnx.helper.make_tensor_value_info("gain", 1, [1]))
    onnx.save(model, tmp_path / "gain.onnx")
    np.save(tmp_path / "gain.npy", np.full(1, 0.5, np.float32))
    line = ["precision", tmp_path / "gain.onnx", *files[1:], *SMALL, "--budget", "cycles=80%"]
    chosen = ["--constant", f"gain={tmp_path / 'gain.npy'}", "-o", tmp_path / "out"]
    found = run(*line, *chosen, "--json")
    assert found.code == 0, found.err
    assert len(check("precision", found.out)["layers"]) == 2


def test_samples_along_another_axis(run: Run, files: list[Any], tmp_path: Path) -> None:
    """As those along the first one, but that it cannot learn from them."""
    model = onnx.load(files[0])
    node = onnx.helper.make_node("Transpose", ["columns"], ["pixels"], perm=[1, 0])
    model.graph.node.insert(0, node)
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("columns", 1, [64, "count"]))
    onnx.save(model, tmp_path / "turned.onnx")
    line = [*SMALL, "--budget", "bytes=80%", "--batch", 30, "-o", tmp_path / "out", "--json"]
    plain = run("precision", *files, *line)
    for path in (files[2], files[4]):
        np.save(path, np.load(path).T)
    turned = ["precision", tmp_path / "turned.onnx", *files[1:], *line, "--batch-axis", "count"]
    found = run(*turned)
    assert found.code == plain.code == 0, found.err
    ours, theirs = check("precision", found.out), check("precision", plain.out)
    for name in ("chosen", "uniform", "pareto", "judged", "calibration"):
        assert ours[name] == theirs[name], name
    assert ours["judged"] == 60
    found = run(*turned, "--fine-tune", 2)
    says = "--fine-tune must be 0 with --state, or samples that are not along the first axis"
    assert (found.code, says in found.err) == (2, True), found.err


def test_states(run: Run, tmp_path: Path) -> None:
    """Samples follow each other: the noise is that of what `run` makes, on states of its own."""
    rng, b = np.random.default_rng(3), Builder(np.random.default_rng(2), opset=17)
    b.node("Concat", ["x", "s"], "both", axis=1)
    b.node("MatMul", ["both", b.constant(rng.normal(0, 0.5, (14, 6)))], "m")
    b.node("Tanh", ["m"], "sn")
    b.node("MatMul", ["sn", b.constant(rng.normal(0, 1, (6, 4)))], "y")
    model = b.model((1, 8), np.float32, np.float32, [1, 4])
    model.graph.input.append(onnx.helper.make_tensor_value_info("s", 1, [1, 6]))
    model.graph.output.append(onnx.helper.make_tensor_value_info("sn", 1, [1, 6]))
    onnx.save(model, tmp_path / "m.onnx")
    x = rng.normal(0, 1, (20, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    line = ["--state", "sn=s", "-o", tmp_path / "out", "--json"]
    found = run("precision", tmp_path / "m.onnx", "--calibration", tmp_path / "x.npy", "--budget",
                "bytes=80%", *SMALL, *line)  # fmt: skip
    assert found.code == 0, found.err
    facts = check("precision", found.out)
    (written,) = (name for name in facts["files"] if name.endswith(".onnx"))
    found = run("run", written, "--input", tmp_path / "x.npy", *SMALL, "-p", "engine=npe",
                "--simulate", "none", "--requantise", "host", *line)  # fmt: skip
    assert found.code == 0, found.err
    (path,) = (one for one in check("run", found.out)["files"] if one.endswith("npz"))
    with np.load(path) as outputs:
        ours = {name: outputs[name].astype(np.float64) for name in ("y", "sn")}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    state, theirs = np.zeros((1, 6), np.float32), []
    for row in x:
        y, state = session.run(["y", "sn"], {"x": row[None], "s": state})
        theirs.append(y)
    apart = np.square(ours["y"] - np.concatenate(theirs)).sum(axis=1)
    power = np.square(np.concatenate(theirs).astype(np.float64)).sum(axis=1)
    low, high = ratio(apart, power)
    assert low > 0
    assert facts["chosen"]["noise_interval"] == pytest.approx([low, high], rel=1e-4)
