"""Networks by ``import carrysave``: the command's facts, as a typed result, and its outputs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import carrysave
from carrysave.api import network as network_
from carrysave.errors import ArgumentError
from hw.emit.user_files import FileError
from verif.networks.graphs import Builder
from verif.support.command import Run
from verif.support.schemas import check

DESIGN = carrysave.Design("coprocessor", engine="systolic_os(m=2,n=4)", data_width=32)
X = np.random.default_rng(2).integers(-128, 128, (3, 4)).astype(np.int8)


def network() -> tuple[Any, np.ndarray]:
    """Return a product of int8 matrices, and what comes of X."""
    net = Builder(np.random.default_rng(1))
    weights = net.rng.integers(-128, 128, (4, 3)).astype(np.int8)
    net.node("MatMulInteger", ["x", net.constant(weights, np.int8)], "y")
    due = X.astype(np.int64) @ weights
    return net.model(("count", 4), np.int8, np.int32, ("count", "sums")), due


@pytest.mark.prove
def test_a_run_is_that_of_the_command(run: Run, tmp_path: Path) -> None:
    model, due = network()
    labels = due.argmax(axis=1)
    found = carrysave.run(
        model, X, DESIGN, labels=labels, simulate="all", energy="none", folder=tmp_path
    )
    assert np.array_equal(found.outputs["y"], due)
    assert (found.ok, found.wrong, found.macs, found.energy_uj) == (True, [], 36, None)
    (output,) = found.compared
    assert (output["equal"], output["accuracy"]) == (True, 1.0)
    (row,) = found.records()
    assert [row[key] for key in ("operator", "m", "k", "n", "products")] == [
        "MatMulInteger",
        3,
        4,
        3,
        1,
    ]
    assert row["cycles"] == found.cycles > 36 / 8
    assert "y: of 3 inputs, equal to onnxruntime's bit for bit" in str(found)
    assert found._repr_html_().count("<img") == 1

    files = found.save(tmp_path / "saved")
    assert check("run", tmp_path / "saved" / "run.json") == json.loads(found.to_json())
    assert {file.name for file in files} == {"outputs.npz", "layers.md", "layers.svg", "run.json"}

    onnx.save(model, tmp_path / "model.onnx")
    np.savez(tmp_path / "x.npz", x=X)
    np.save(tmp_path / "labels.npy", labels)
    plain = carrysave.run(
        tmp_path / "model.onnx",
        tmp_path / "x.npz",
        DESIGN,
        labels=tmp_path / "labels.npy",
        simulate="none",
        energy="none",
    )
    said = run("run", "model.onnx", "--input", "x.npz", "--labels", "labels.npy", "--simulate",
               "none", "--energy", "none", "-p", "engine=systolic_os(m=2,n=4)", "-p",
               "data_width=32", "--json")  # fmt: skip
    told, here = json.loads(said.out), json.loads(plain.to_json())
    assert {key for key in told if told[key] != here[key]} <= {"command", "seconds", "files"}
    assert np.array_equal(plain.outputs["y"], due)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"simulate": "some"}, "simulate must be one of all, sample, none, not 'some'"),
        ({"requantise": "here"}, "requantise must be one of hardware, host, not 'here'"),
        ({"batch": 0}, "batch must be 1 or more, not 0"),
        ({"port": "/dev/null"}, "port and baud need board"),
        ({"board": "ulx3s_85f", "port": "p", "design": DESIGN}, "port takes no design: it is"),
        ({"design": carrysave.Design("mac")}, "design must be a co-processor, not mac"),
        ({"labels": [1, 2]}, "labels must be 3 integers, one for each input"),
        ({"x": {"z": X}}, "inputs must be x, not z"),
        ({"x": X[:0]}, "x must hold as many inputs, one or more, in each array"),
        ({"energy": "ecp5"}, "energy must be osu018, sky130, gf180"),
    ],
)
def test_what_cannot_run(options: dict[str, Any], says: str, tmp_path: Path) -> None:
    model, _ = network()
    plain = {"design": DESIGN, "simulate": "none", "energy": "none", "folder": tmp_path / "out"}
    with pytest.raises(ValueError, match=f"^{says}") as error:
        carrysave.run(model, **{"x": X, **plain, **options})
    assert isinstance(error.value, ArgumentError) != ("x" in options and len(options["x"]) > 0)
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_text("no model")
    with pytest.raises(FileError, match="no valid ONNX model"):
        carrysave.run(tmp_path / "model.onnx", X, folder=tmp_path / "out")


def test_cells_for_energy_are_named_by_text_or_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or loaded by a function; a library is taken as it is, and all of them late."""
    monkeypatch.setattr(network_, "cells_for_energy", lambda name: f"loaded {name}")
    assert network_._library(None)() == "loaded None"
    assert network_._library("my.lib")() == "loaded my.lib"
    assert network_._library(Path("own") / "my.lib")() == "loaded own/my.lib"
    library = object()
    assert network_._library(library)() is library  # type: ignore[arg-type]
    assert network_._library(lambda: "none")() == "none"
