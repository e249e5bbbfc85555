"""``carrysave compile``: what is written runs; what a user gives is checked."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.program.write import FORMAT
from carrysave.compiler.run.golden import execute
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler.test_program import mixed
from verif.support.command import Run
from verif.support.schemas import check
from verif.system.networks import SHAPE, convolutions

ENGINE = "engine=systolic_os(m=4,n=4)"
VECTOR = "vector=vector_unit(lanes=4,length=1024)"


def written(run: Run, tmp_path: Path, model: onnx.ModelProto) -> tuple[dict[str, Any], Path]:
    onnx.save(model, tmp_path / "model.onnx")
    done = run("compile", tmp_path / "model.onnx", "-p", ENGINE, "-o", tmp_path, "--json")
    assert done.code == 0, done.err
    return check("compile", done.out), tmp_path / "compile" / "model"


def test_what_is_written_runs(run: Run, tmp_path: Path) -> None:
    """From the files alone: inputs where the manifest says, and outputs, as onnxruntime's."""
    ort = pytest.importorskip("onnxruntime")
    model = convolutions(4)
    found, folder = written(run, tmp_path, model)
    assert found["host_segments"] == 0
    manifest = json.loads((folder / "program.json").read_text())
    memory = np.fromfile(folder / "memory.bin", np.uint8)
    assert manifest["format"] == FORMAT
    assert len(memory) == manifest["bytes"]
    x = np.random.default_rng(9).integers(0, 256, SHAPE).astype(np.uint8)
    (taken,), (made,) = manifest["inputs"], manifest["outputs"]
    memory[places(taken)] = x.astype(np.int64) - taken["offset"] & 255
    spec = Target(Design.parse("coprocessor", dict([ENGINE.split("=", 1)]))).spec
    for start in manifest["sections"]:
        execute(spec, memory, start)
    codes = memory.view(np.int8)[places(made)].astype(np.int64) + made["offset"]
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    np.testing.assert_array_equal(codes, expected)


def test_estimate_takes_a_network(run: Run, tmp_path: Path) -> None:
    """It says what `compile` says, of as many samples as are asked for, and writes nothing."""
    facts, _ = written(run, tmp_path, convolutions(5))
    there = sorted(tmp_path.rglob("*"))
    model, same = tmp_path / "model.onnx", {"command": "", "files": []}
    done = run("estimate", model, "-p", ENGINE, "--json")
    assert done.code == 0, done.err
    assert check("compile", done.out) | same == facts | same
    assert sorted(tmp_path.rglob("*")) == there
    assert "host segments: 0" in run("estimate", model, "-p", ENGINE).out
    for line, says in (
        ((model, "--fit"), "--config, --target, --model, --fit and --store must be left out"),
        ((model, "--state", "y=x"), "output 'y' must be 1 x 6 x 4 x 4, as the input"),
        ((model, "-p", "windows=7"), "windows must be"),
        (("adder_tree", "--batch", "2"), "--tokens and --memory are for a model's file"),
        (
            (model, "--cache", "9"),
            "--kv, --skip, --calibration and --tokens must be left",
        ),
        ((tmp_path / "compile" / "model", "--batch", "2"), "other options must be left out"),
    ):
        done = run("estimate", *line)
        assert (done.code, says in done.err) == (2, True), done.err


def test_a_folder_runs_without_its_model(run: Run, tmp_path: Path) -> None:
    """Inputs in batches; and what goes with a model alone is refused."""
    ort = pytest.importorskip("onnxruntime")
    model = convolutions(5, between="Hardmax")
    facts, folder = written(run, tmp_path, model)
    (tmp_path / "model.onnx").unlink()
    x = np.random.default_rng(9).integers(0, 256, (3, *SHAPE[1:])).astype(np.uint8)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.zeros(3, np.int64))
    line = ("run", folder, "--input", tmp_path / "x.npy", "-o", tmp_path, "--simulate", "none")
    done = run(*line, "--labels", tmp_path / "y.npy", "--json")
    assert done.code == 0, done.err
    found = check("program_run", done.out)
    assert (found["inputs"], found["batch"], found["host_segments"]) == (3, 1, 1)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = np.concatenate([session.run(None, {"x": one[None]})[0] for one in x])
    with np.load(found["files"][0]) as outputs:
        np.testing.assert_array_equal(outputs["y"], expected)
    (output,) = found["outputs"]
    assert output["accuracy"] == np.mean(expected.argmax(axis=1) == 0)
    assert "host segments: 1" in run(*line).out
    done = run("estimate", folder, "--json")
    assert done.code == 0, done.err
    estimated = check("compile", done.out)
    same = {"command": "", "model": "", "files": []}
    assert facts | same == estimated | same
    assert run("estimate", folder, "-p", "m=2").code == 2
    np.save(tmp_path / "other.npy", x[:, :5])
    for more, says in (
        (["-p", "m=2"], "-p must be left out: the program is compiled"),
        (["--batch", "1"], "--batch must be left out"),
        (["--state", "a=b", "--no-compare"], "--compare, --state must be left out"),
        (["--labels", tmp_path / "other.npy"], "--labels must be 3 integers, one for each input"),
    ):
        done = run(*line, *more)
        assert (done.code, says in done.err) == (2, True), done.err
    done = run("run", folder, "--input", tmp_path / "other.npy", "-o", tmp_path)
    assert (done.code, "x must be a multiple of 1 x 6 x 4 x 4, not 3 x 5" in done.err) == (2, True)


@pytest.mark.prove
def test_a_folder_runs_on_the_block(run: Run, tmp_path: Path) -> None:
    """All of memory is golden's; where it is not, the place is named."""
    _, folder = written(run, tmp_path, mixed(1))
    np.save(tmp_path / "x.npy", np.random.default_rng(9).integers(0, 256, SHAPE).astype(np.uint8))
    done = run("run", folder, "--input", tmp_path / "x.npy", "-o", tmp_path, "--json")
    assert done.code == 0, done.err
    found = check("program_run", done.out)
    assert (found["simulated"], found["different"]) == (1, None)


def places(layout: dict[str, Any]) -> np.ndarray:
    """Return the address of each code, by the manifest."""
    if layout["addresses"] is not None:
        return np.array(layout["addresses"]).reshape(layout["shape"])
    index = np.indices(layout["shape"])
    return layout["address"] + np.tensordot(np.array(layout["strides"]), index, 1)


def test_text_and_header(run: Run, tmp_path: Path) -> None:
    found, folder = written(run, tmp_path, mixed(2))
    text = (folder / "program.txt").read_text()
    starts = re.findall(r"^start (\S+) (\S+) (\d+) cycles$", text, re.MULTILINE)
    assert sum(int(cycles) for *_, cycles in starts) == found["cycles"] > 0
    assert text.count("\n  c[") == found["jobs"]
    assert len(re.findall("^move ", text, re.MULTILINE)) == found["moves"]
    header = (folder / "program.h").read_text()
    assert f"#define PROGRAM_BYTES {found['bytes']}u" in header
    assert all(one["node"] for one in found["nodes"])
    on = {one["operator"]: one["runs_on"] for one in found["nodes"]}
    assert on["Conv"] == on["GlobalAveragePool"] == "block"
    assert on["Table"] == on["Mul"] == "processor"


def test_products_are_those_of_the_model(run: Run, tmp_path: Path) -> None:
    """Zeros beside the kernels of a depthwise convolution, or in patches, count as nothing."""
    found, _ = written(run, tmp_path, convolutions())
    assert [one["macs"] for one in found["nodes"] if one["jobs"]] == [6 * 9 * 16, 24 * 10]
    assert all(0 < one["utilisation"] <= 1 for one in found["nodes"] if one["jobs"])


def test_host_segments_are_told(run: Run, tmp_path: Path) -> None:
    found, _ = written(run, tmp_path, convolutions(between="Hardmax"))
    assert found["host_segments"] == 1
    (host,) = (one for one in found["nodes"] if one["runs_on"] == "host")
    assert host["reasons"][0].startswith("Hardmax 'Hardmax_o': between products")


def test_floats_are_the_processors(run: Run, tmp_path: Path) -> None:
    found, _ = written(run, tmp_path, convolutions(between="Softmax"))
    assert not found["host_segments"]
    (own,) = (one for one in found["nodes"] if one["operator"] == "Softmax")
    assert (own["runs_on"], own["jobs"]) == ("processor", 0)
    assert own["numbers"] > own["float_steps"] > 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--batch", "0"], "--batch must be 1 or more, not 0"),
        (["--batch", "3"], "--batch must be 1, as in the model, not 3"),
        (
            ["-p", ENGINE, "--tokens", "9"],
            "--skip, --calibration and --tokens must be left out of",
        ),
        (["-p", "engine=systolic_os(m=2,n=2,a_width=9)"], "must have A of int8, not -256..255"),
        (["-p", "requantise=false"], "QLinearMatMul 'QLinearMatMul_y': must be requantised by"),
        (["-p", "taps=3", "-p", "windows=true", "-p", VECTOR], "requantisers must be 4 with taps"),
    ],
)
def test_refuses(run: Run, tmp_path: Path, more: list[str], says: str) -> None:
    onnx.save(convolutions(), tmp_path / "model.onnx")
    done = run("compile", tmp_path / "model.onnx", "-o", tmp_path, *more)
    assert done.code == 2
    assert says in done.err
    (said,) = [line for line in done.err.splitlines() if not line.startswith("... ")]
    assert said.startswith("carrysave: ")
    assert not (tmp_path / "compile").exists()
