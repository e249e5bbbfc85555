"""Models made to harm: run right, or refused in one line that says where and why, before work."""

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from carrysave.compiler.front.onnx_model import read_model
from verif.networks.graphs import Builder
from verif.support.command import Outcome, Run
from verif.support.names import MARK, NAMES

HOSTILE = (*NAMES, "[/]", "file", "../x", "/x", "a/b", "..", "$x_{$", "a" * 999)
PLAIN = ("-p", "engine=systolic_os(m=2,n=4)", "--energy", "none", "--simulate", "none")
BIG = 10**10


def model(tail: Callable[[Builder], None] | None = None) -> ModelProto:
    """Return a product, and what comes after its result `d`; the output is `y`."""
    b = Builder(np.random.default_rng(1))
    scale, zero = b.scale(), b.constant(3, np.uint8)
    b.node("QuantizeLinear", ["x", scale, zero], "q")
    weights = [b.codes((16, 8), np.int8), b.scale(), b.constant(0, np.int8)]
    b.node("QLinearMatMul", ["q", scale, zero, *weights, b.scale(), zero], "c")
    b.node("DequantizeLinear", ["c", scale, zero], "y" if tail is None else "d")
    if tail is not None:
        tail(b)
    return b.model(("n", 16), np.float32, np.float32, ("n", 8))


def large(kind: str, *inputs: object) -> ModelProto:
    """Return a model with an operator whose output is large; None stands for `d`."""

    def tail(b: Builder) -> None:
        given = ["d" if one is None else b.constant(one, np.asarray(one).dtype) for one in inputs]
        b.node(kind, given, "big")
        b.node("Cast", ["big"], "floats", to=1)
        b.node("ReduceSum", ["floats"], "one", keepdims=0)
        b.node("Add", ["d", "one"], "y")

    return model(tail)


def computed() -> ModelProto:
    """Return a model that makes a large tensor of a shape that only its inputs tell."""

    def tail(b: Builder) -> None:
        b.node("ReduceMax", ["d"], "most", keepdims=0)
        b.node("Mul", ["most", b.constant(0)], "zero")
        b.node("Add", ["zero", b.constant([BIG])], "size")
        b.node("Cast", ["size"], "shape", to=7)
        b.node("ConstantOfShape", ["shape"], "big")
        b.node("ReduceSum", ["big"], "one", keepdims=0)
        b.node("Add", ["d", "one"], "y")

    return model(tail)


def changed(change: Callable[[ModelProto], object]) -> ModelProto:
    found = model()
    change(found)
    return found


def with_scale(value: float) -> ModelProto:
    found = model()
    tensor = found.graph.initializer[0]
    tensor.CopyFrom(numpy_helper.from_array(np.array(value, np.float32), tensor.name))
    return found


def with_values(index: int, value: int) -> ModelProto:
    """Hold a constant in a field that is wider than its type."""
    found = model()
    tensor = found.graph.initializer[index]
    tensor.ClearField("raw_data")
    tensor.int32_data.append(value)
    return found


def looped() -> ModelProto:
    body = model().graph
    found = model()
    found.graph.node[2].attribute.append(helper.make_attribute("body", body))
    return found


def external(location: str) -> ModelProto:
    found = model()
    tensor = found.graph.initializer[2]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return found


def sparse(found: ModelProto) -> None:
    found.graph.sparse_initializer.add()


def cleared(name: str, owner: Callable[[ModelProto], object]) -> ModelProto:
    return changed(lambda found: owner(found).ClearField(name))  # type: ignore[attr-defined]


CASES: dict[str, tuple[Callable[[], ModelProto], str]] = {
    "no output": (lambda: cleared("output", lambda m: m.graph), "must have an output"),
    "no input": (lambda: cleared("input", lambda m: m.graph), "must have an input"),
    "no opset": (lambda: cleared("opset_import", lambda m: m), "opset imports must have"),
    "no graph": (lambda: cleared("graph", lambda m: m), "must have an output"),
    "type 77": (
        lambda: changed(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 77)),
        "input 'x' must be of numbers, not of type 77",
    ),
    "strings": (
        lambda: changed(lambda m: setattr(m.graph.output[0].type.tensor_type, "elem_type", 8)),
        "output 'y' must be of numbers, not of STRING",
    ),
    "constant of shape": (
        lambda: large("ConstantOfShape", [BIG]),
        "ConstantOfShape 'ConstantOfShape_big': tensor 'big' must be at most 4,294,967,296 bytes,"
        " not 40,000,000,000; CARRYSAVE_MAX_SIZE=16G raises this",
    ),
    "2^63": (lambda: large("ConstantOfShape", [1 << 62, 2]), "must be at most"),
    "range": (lambda: large("Range", 0, 1 << 40, 1), "Range 'Range_big': tensor 'big' must be at"),
    "expand": (lambda: large("Expand", None, [1 << 40, 1, 1]), "Expand 'Expand_big': tensor 'big'"),
    "tile": (lambda: large("Tile", None, [1, 1 << 40]), "Tile 'Tile_big': tensor 'big'"),
    "pad": (lambda: large("Pad", None, [0, 0, 0, 1 << 40]), "Pad 'Pad_big': tensor 'big'"),
    "resize": (
        lambda: large("Resize", None, np.zeros(0, np.float32), np.array([1, 2e9], np.float32)),
        "Resize 'Resize_big': tensor 'big'",
    ),
    "computed shape": (computed, "ConstantOfShape 'ConstantOfShape_big': output 'big' must be at"),
    "dims": (
        lambda: changed(lambda m: m.graph.initializer[0].dims.append(1 << 40)),
        "tensor 'constant0': must have 4398046511104 bytes, as of 1099511627776, not 4",
    ),
    "negative dims": (
        lambda: changed(lambda m: m.graph.initializer[0].dims.append(-1)),
        "sizes must be 0 or more",
    ),
    "cycle": (
        lambda: changed(lambda m: m.graph.node[0].input.__setitem__(0, "y")),
        "topologically sorted",
    ),
    "two of a name": (
        lambda: changed(lambda m: m.graph.node[2].output.__setitem__(0, "c")),
        "no valid ONNX",
    ),
    "no such input": (
        lambda: changed(lambda m: m.graph.node[1].input.__setitem__(0, "z")),
        "no valid ONNX",
    ),
    "rank": (
        lambda: changed(lambda m: m.graph.initializer[2].dims.insert(0, 1)),
        "differ in rank: (3) vs (2)",
    ),
    "opset": (
        lambda: changed(lambda m: setattr(m.opset_import[0], "version", 999)),
        "opset must be 7..28",
    ),
    "own domain": (
        lambda: changed(lambda m: setattr(m.graph.node[1], "domain", "carrysave")),
        "operators of domain 'carrysave' are not supported",
    ),
    "loop": (looped, "'body': subgraphs are not supported"),
    "sparse": (lambda: changed(sparse), "must have a name and sizes"),
    "function": (lambda: changed(lambda m: m.functions.add()), "functions are not supported"),
    "long name": (
        lambda: changed(lambda m: setattr(m.graph.node[0], "name", "a" * 1001)),
        "names must have at most 1000 characters, not 1001",
    ),
    "no text": (
        lambda: ModelProto.FromString(
            model().SerializeToString().replace(b"MatMul_c", b"MatMul\xff\xfe")
        ),
        r"names must be UTF-8, not b'QLinearMatMul\xff\xfe'",
    ),
    "infinite scale": (lambda: with_scale(np.inf), "finite and greater than 0, not inf"),
    "NaN scale": (lambda: with_scale(np.nan), "finite and greater than 0, not nan"),
    "negative scale": (lambda: with_scale(-1), "finite and greater than 0, not -1"),
    "zero point of uint8": (
        lambda: with_values(1, 300),
        "tensor 'constant1': its values must be 0..255",
    ),
    "zero point of int8": (lambda: with_values(4, -129), "its values must be -128..127, not -129"),
    "outside": (lambda: external("../data"), "its file must be one in the model's folder"),
    "absolute": (lambda: external("/etc/passwd"), "its file must be one in the model's folder"),
    "linked": (lambda: external("link"), "not a link out of it"),
    "pipe": (lambda: external("pipe"), "must be a regular file, not a pipe"),
    "short": (lambda: external("short"), "must have 128 bytes, as of 16 x 8, not 3"),
}


@pytest.fixture
def attempt(run: Run, tmp_path: Path) -> Callable[[ModelProto], Outcome]:
    """Run a model on four inputs."""
    np.save(tmp_path / "x.npy", np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16))

    def call(found: ModelProto) -> Outcome:
        (tmp_path / "m.onnx").write_bytes(found.SerializePartialToString())
        return run("run", "m.onnx", "--input", "x.npy", *PLAIN, "-o", "out")

    return call


@pytest.mark.sample(15)
@pytest.mark.parametrize("name", CASES)
def test_refused(attempt: Callable[[ModelProto], Outcome], tmp_path: Path, name: str) -> None:
    make, says = CASES[name]
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "short").write_bytes(b"abc")
    found = attempt(make())
    assert found.code == 2
    lines = [line for line in found.err.splitlines() if not line.startswith("...")]
    assert len(lines) == 1
    assert lines[0].startswith("carrysave: ")
    assert "m.onnx: " in lines[0] or "/pipe: " in lines[0]
    assert says in lines[0]
    assert found.out == ""
    assert not (tmp_path / "out").exists()


def test_external_data(attempt: Callable[[ModelProto], Outcome], tmp_path: Path) -> None:
    """Constants in a file beside the model are those in the model."""
    (tmp_path / "data").write_bytes(model().graph.initializer[2].raw_data)
    assert attempt(external("data")).code == 0
    beside = np.load(tmp_path / "out/run/m/outputs.npz")["y"]
    assert attempt(model()).code == 0
    assert np.array_equal(np.load(tmp_path / "out/run/m/outputs.npz")["y"], beside)


def test_one_file_of_several_tensors(
    attempt: Callable[[ModelProto], Outcome], tmp_path: Path
) -> None:
    """As ONNX writes it: a part of the file for each."""
    plain = model()
    assert attempt(plain).code == 0
    outputs = tmp_path / "out/run/m/outputs.npz"
    expected = np.load(outputs)["y"]
    beside = model()
    onnx.save(
        beside,
        tmp_path / "m.onnx",
        save_as_external_data=True,
        size_threshold=0,
        location="all.data",
    )
    loaded = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    places = {
        tuple((one.key, one.value) for one in tensor.external_data)
        for tensor in loaded.graph.initializer
    }
    assert len(places) == len(loaded.graph.initializer) > 2
    assert attempt(loaded).code == 0
    assert np.array_equal(np.load(outputs)["y"], expected)


def test_parts_of_a_large_file(tmp_path: Path) -> None:
    """What no tensor has is not read: of 3 GB a few bytes, the last ones too."""
    found, size = external("all"), 3 << 30
    codes = model().graph.initializer[2].raw_data
    for key, number in (("offset", size - len(codes)), ("length", len(codes))):
        found.graph.initializer[2].external_data.add(key=key, value=str(number))
    with (tmp_path / "all").open("wb") as file:
        file.seek(size - len(codes))
        file.write(codes)
    (tmp_path / "m.onnx").write_bytes(found.SerializeToString())
    tracemalloc.start()
    loaded = read_model(tmp_path / "m.onnx")
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded.graph.initializer[2].raw_data == codes
    assert taken < 16 << 20


def named() -> ModelProto:
    """Return a model whose nodes, tensors and graph have hostile names: an output for each."""
    b = Builder(np.random.default_rng(1))
    zero = b.constant(0, np.uint8)
    weights = b.codes((4, 2), np.int8)
    for name in HOSTILE:
        b.node("MatMulInteger", ["[x", weights, zero], name)
        b.nodes[-1].name = name
    found = b.model(("n", 4), np.uint8, np.int32, ("n", 2))
    found.graph.input[0].name = "[x"
    found.graph.name = found.producer_name = found.doc_string = "\x1b[31m[/]\n"
    del found.graph.output[:]
    values = (helper.make_tensor_value_info(name, 6, ("n", 2)) for name in HOSTILE)
    found.graph.output.extend(values)
    return found


def test_hostile_names(run: Run, tmp_path: Path) -> None:
    """None is run, none is lost, none is a path, and none is obeyed by the terminal."""
    (tmp_path / "m.onnx").write_bytes(named().SerializeToString())
    np.save(tmp_path / "x.npy", np.arange(8, dtype=np.uint8).reshape(2, 4))
    before = set(tmp_path.rglob("*"))
    found = run("run", "m.onnx", "--input", "x.npy", *PLAIN, "-o", "out")
    assert found.code == 0, found.err
    own = tmp_path / "out/run/m"
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    names = {"run.json", "layers.md", "layers.svg", "outputs.npz"}
    assert new == {own / name for name in names}
    facts = json.loads((own / "run.json").read_text())
    assert [row["layer"] for row in facts["layers"]] == list(HOSTILE)
    assert [row["name"] for row in facts["outputs"]] == list(HOSTILE)
    with np.load(own / "outputs.npz") as arrays:
        assert sorted(arrays) == sorted(row["array"] for row in facts["outputs"])
        for array in arrays:
            assert array.replace("_", "").replace("-", "").isalnum()
    texts = found.out + found.err + (own / "layers.md").read_text()
    assert all(one.isprintable() or one == "\n" for one in texts)
    for name in HOSTILE:
        assert name[:20].replace("\\", "") in texts.replace("\\", "") or not name.isprintable()
    assert not list(tmp_path.rglob(MARK))


@pytest.mark.prove
def test_hostile_names_of_layers(run: Run, tmp_path: Path) -> None:
    """So do names in a model to choose formats for, and in the model that is written."""
    b = Builder(np.random.default_rng(1))
    for name in HOSTILE:
        b.node("MatMul", ["[x", b.constant(b.rng.normal(size=(4, 2)), np.float32)], name)
        b.nodes[-1].name = name
    found = b.model(("n", 4), np.float32, np.float32, ("n", 2))
    found.graph.input[0].name = "[x"
    del found.graph.output[:]
    values = (helper.make_tensor_value_info(name, 1, ("n", 2)) for name in HOSTILE)
    found.graph.output.extend(values)
    (tmp_path / "m.onnx").write_bytes(found.SerializeToString())
    np.save(tmp_path / "x.npy", np.arange(8, dtype=np.float32).reshape(2, 4))
    before = set(tmp_path.rglob("*"))
    result = run("precision", "m.onnx", "--calibration", "x.npy", "--formats", "int8,int4",
                 "--budget", "bytes=60%", "-p", "m=2", "-p", "n=2", "-o", "out")  # fmt: skip
    assert result.code == 0, result.err
    own = tmp_path / "out/precision/m"
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    wanted = {"precision.json", "precision.md", "precision.svg", "m.onnx"}
    assert {path.parent for path in new} == {own}
    assert {path.name for path in new} == wanted
    texts = result.out + result.err + (own / "precision.md").read_text()
    assert all(one.isprintable() or one == "\n" for one in texts)
    written = onnx.load(own / "m.onnx")
    assert {one.name for one in written.graph.output} == set(HOSTILE)


def test_product_that_no_output_needs(
    attempt: Callable[[ModelProto], Outcome], tmp_path: Path
) -> None:
    found = model()
    found.graph.output[0].name = "x"
    found.graph.output[0].type.CopyFrom(found.graph.input[0].type)
    result = attempt(found)
    assert result.code == 2
    assert "the model has no quantised product that its outputs need" in result.err


def test_nodes_of_one_name(attempt: Callable[[ModelProto], Outcome], tmp_path: Path) -> None:
    def tail(b: Builder) -> None:
        zero = b.constant(0, np.int8)
        b.node("MatMulInteger", ["c", b.codes((8, 8), np.int8), b.constant(3, np.uint8), zero], "s")
        b.node("Cast", ["s"], "y", to=1)

    found = model(tail)
    for node in found.graph.node:
        node.name = "same"
    assert attempt(found).code == 0
    facts = json.loads((tmp_path / "out/run/m/run.json").read_text())
    assert [row["layer"] for row in facts["layers"]] == ["same (2)", "same (4)"]


def test_tensors_of_our_names(attempt: Callable[[ModelProto], Outcome], tmp_path: Path) -> None:
    """A tensor called as one that we put in does not take its place."""

    def tail(b: Builder) -> None:
        b.node(
            "DequantizeLinear", [b.codes((8, 8), np.int8), b.scale(), b.constant(0, np.int8)], "w"
        )
        b.node("MatMul", ["d", "w"], "p")
        b.node("Add", ["p", b.constant(1)], "y")

    assert attempt(model(tail)).code == 0
    expected = np.load(tmp_path / "out/run/m/outputs.npz")["y"]
    found = model(tail)
    found.graph.initializer[-1].name = found.graph.node[-1].input[1] = "p/steps"
    assert attempt(found).code == 0
    assert np.array_equal(np.load(tmp_path / "out/run/m/outputs.npz")["y"], expected)


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [("-X", "dev"), ("-X", "utf8=0")])
def test_of_its_own(options: tuple[str, ...], tmp_path: Path) -> None:
    """Development mode says nothing; names show where the system lacks their letters."""
    found = model()
    found.graph.node[1].name = found.graph.output[0].name = found.graph.node[2].output[0] = "Größe"
    (tmp_path / "m.onnx").write_bytes(found.SerializeToString())
    np.save(tmp_path / "x.npy", np.ones((4, 16), np.float32))
    plain = {"LC_ALL": "POSIX", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, *options, "-m", "carrysave", "run", "m.onnx", "--input", "x.npy", *PLAIN],
        cwd=tmp_path,
        capture_output=True,
        env={**os.environ, **plain, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith(b"...")] == []
    assert rb"Gr\xf6\xdfe" in done.stdout
