"""Each pass: the model before and after computes the same codes."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, numpy_helper

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.front.options import sized
from carrysave.compiler.graph.graph import DOMAIN, Graph
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.expand import expand
from carrysave.compiler.passes.pipeline import PASSES, passed
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.target.target import Target
from verif.compiler import test_branches
from verif.compiler.each_pass import TARGET, changed_by, check, codes_of
from verif.compiler.networks import SHAPE, attention, feature_maps, places
from verif.compiler.programs import design
from verif.compiler.random_graphs import random_model
from verif.compiler.test_affine import lines
from verif.compiler.test_experts import of_experts
from verif.compiler.test_linear import between
from verif.compiler.test_recurrent_program import inputs
from verif.compiler.test_recurrent_program import network as recurrent
from verif.networks.attending import projected
from verif.networks.graphs import Builder
from verif.networks.test_causal_convolution import model as convolution
from verif.support.command import Run
from verif.support.networks import MODELS, quantise


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    model, x = random_model(seed)
    check(Graph(model), {"x": x})


@pytest.mark.parametrize(
    "name",
    [
        "digits",
        pytest.param("digits_conv", marks=pytest.mark.prove),
        *(
            pytest.param(one, marks=pytest.mark.prove)
            for one in ("text_angle", "orientation", "magika")
        ),
    ],
)
def test_networks_at_hand(name: str, tmp_path: Path) -> None:
    task = MODELS[name](tmp_path)
    graph = load(quantise(task, tmp_path / "codes.onnx"))
    (only,) = graph.inputs
    check(graph, {only: task.inputs[:2]})


def _coded() -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Return a network of onnxruntime's operators on codes, of which one weight is computed."""
    b = Builder(np.random.default_rng(1), opset=17)
    given = [b.scale(), b.zero(np.uint8)]
    b.node("QLinearAdd", ["x", *given, "x", *given, *given], "a", domain="com.microsoft")
    b.node("QLinearSigmoid", ["a", *given, *given], "s", domain="com.microsoft")
    whole = b.node("Concat", [b.judged_weights((4, 5)), b.judged_weights((4, 5))], "w", axis=0)
    b.node("QLinearMatMul", ["s", *given, whole, b.scale(), b.constant(0, np.int8), *given], "y")
    x = b.rng.integers(0, 256, (3, 8)).astype(np.uint8)
    return b.model((3, 8), np.uint8, np.uint8, [3, 5]), {"x": x}


def _branches() -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Return a network of branches, of which an input that is a constant decides."""
    made = test_branches.model()
    made.graph.initializer.append(numpy_helper.from_array(np.array(4000), "rate"))
    del made.graph.input[1]
    return made, {"x": np.random.default_rng(2).normal(0, 1, (3, 8)).astype(np.float32)}


def test_operators_on_codes_are_those_of_onnxruntime() -> None:
    """Up to one: its kernels use fixed point."""
    model, given = _coded()
    graph = expand(Graph(model))
    assert not any(node.domain for node in graph.nodes)
    ours = codes_of(Lowered(graph, graph.proto), given)["y"]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (theirs,) = session.run(["y"], given)
    assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1
    assert len(np.unique(theirs)) > 5
    assert {"fold", "products"} <= check(graph, given)


def test_each_pass_changes_a_model() -> None:
    """And what it makes computes the same.

    Branches, experts, and layers that become codes, are compared with onnxruntime: see their tests.
    """
    changed = {"expand", "fold"}  # of the test before
    shape = (1, 5, 6, 7)
    given = {"x": np.random.default_rng(4).integers(0, 256, shape).astype(np.uint8)}
    changed |= check(Graph(lines(shape, 1, 0)), given, Target(design("maps")))
    model, x = between([3, 1])
    changed |= check(Graph(model), {"x": x})
    given = {"x": np.arange(30, dtype=np.uint8).reshape(3, 10)}
    changed |= check(Graph(places((3, 10), axis=1)), given, Target(design("maps")))
    for network, target in ((attention(2), TARGET), (feature_maps(4), Target(design("maps")))):
        graph = Graph(network)
        given = {"x": np.random.default_rng(3).integers(0, 256, SHAPE).astype(np.uint8)}
        changed |= check(graph, given, target)
    network, x = projected(causal=1)
    changed |= check(Graph(network), {"x": x})
    changed |= {one.name for one, _, _ in changed_by(Graph(convolution(past="codes")))}
    changed |= {one.name for one, _, _ in changed_by(Graph(of_experts(k=2)))}
    for network, given in (_branches(), (recurrent({}), inputs(0))):
        changed |= {one.name for one, _, _ in changed_by(sized(Graph(network), given))}
    # What onnxruntime runs instead has tests in verif/networks/test_fallback.py.
    assert changed == {one.name for one in PASSES} - {"subgraphs"}


def test_without_folds_no_constant_is_computed() -> None:
    """Each pass does something to a random graph: products, parts put together, tables."""
    model, _ = random_model(3)
    before = Lowered(Graph(model), model)
    names = []
    for one, after in passed(Graph(model), Setting(target=TARGET)):
        if after.proto is not before.proto:
            names.append(one.name)
        before = after
    assert names == ["products", "concatenate", "tables"]
    assert {node.op_type for node in before.proto.graph.node if node.domain == DOMAIN} >= {
        "Product",
        "Table",
    }


def test_dump(run: Run, tmp_path: Path) -> None:
    model, _ = random_model(5)
    onnx.save(model, tmp_path / "model.onnx")
    arguments = ["compile", tmp_path / "model.onnx", "-p", "engine=systolic_os(m=4,n=4)"]
    done = run(*arguments, "--dump", tmp_path / "dump", "--stop-after", "products")
    assert done.code == 0, done.err
    names = ["model", "expand", "fold", "attention", "experts", "states", "branches", "recurrent"]
    names += ["subgraphs", "arg_max", "affine", "linear"]
    names = [f"{at}-{name}" for at, name in enumerate([*names, "products"])]
    files = sorted(one.name for one in (tmp_path / "dump").iterdir())
    assert files == sorted(f"{name}.{end}" for name in names for end in ("txt", "svg"))
    assert done.out == (tmp_path / "dump" / "12-products.txt").read_text()
    lines = done.out.splitlines()
    assert lines[0] == "input   x  uint8 [2, 4, 6, 5]"
    assert lines[-1] == "output  y"
    first = next(line for line in lines if " Conv " in line)
    assert first.startswith("block   Conv ")
    assert "kernel (1, 1), strides (1, 1), dilations (1, 1)" in first
    before = (tmp_path / "dump" / "0-model.txt").read_text().splitlines()
    assert len(before) == len(model.graph.node) + 2
    assert not any(line.startswith("block") for line in before)
    drawn = ElementTree.parse(tmp_path / "dump" / "12-products.svg").getroot()
    boxes = [one for one in drawn if one.tag.endswith("rect")]
    assert len(boxes) == len(lines)
    assert not (tmp_path / "compile").exists()


def test_no_such_pass(run: Run, tmp_path: Path) -> None:
    model, _ = random_model(5)
    onnx.save(model, tmp_path / "model.onnx")
    done = run(
        "compile",
        tmp_path / "model.onnx",
        "-p",
        "engine=systolic_os(m=4,n=4)",
        "--dump",
        tmp_path / "dump",
        "--stop-after",
        "fuse",
    )
    assert done.code == 2
    legal = ", ".join(one.name for one in PASSES)
    assert f"--stop-after must be one of {legal}, not 'fuse'" in done.err
    assert not (tmp_path / "dump").exists()
