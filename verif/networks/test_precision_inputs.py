"""Precision of models with inputs that are constants."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

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
    found = run(*line, *chosen, "--state", "logits=pixels")
    says = "--batch-axis and --state must be left out: samples come first"
    assert (found.code, says in found.err) == (2, True), found.err
