"""Each pass: the model before and after computes the same codes."""

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph.graph import DOMAIN, Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.pipeline import PASSES, Pass, passed
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler.random_graphs import random_model
from verif.networks.comparing import multiplier
from verif.support.command import Run
from verif.support.networks import MODELS, quantise

TARGET = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)"}))


def forms(graph: Graph) -> list[tuple[Pass | None, Lowered]]:
    """Return a model before the first pass, and after each."""
    setting = Setting(target=TARGET)
    return [(None, Lowered(graph, graph.proto, [], {})), *passed(graph, setting)]


def codes_of(lowered: Lowered, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return outputs, and the codes that quantisers and products made, by the tensor's name."""
    seen: dict[str, np.ndarray] = {}
    compute = multiplier(True)

    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        seen[product.y] = compute(product, a, b)
        return seen[product.y]

    def observe(name: str, codes: np.ndarray) -> np.ndarray:
        seen[name] = codes
        return codes

    return evaluate(lowered, inputs, multiply, observe) | seen


def check(graph: Graph, inputs: dict[str, np.ndarray]) -> None:
    """Compare each form with the one before."""
    for (_, before), (one, after) in pairwise(forms(graph)):
        assert one is not None
        if after.proto is before.proto:
            continue
        ours, theirs = codes_of(after, inputs), codes_of(before, inputs)
        names = ours.keys() & theirs.keys()
        assert set(graph.outputs) <= names
        assert one.exact or len(names) > len(graph.outputs)
        for name in names:
            if one.exact:
                np.testing.assert_array_equal(ours[name], theirs[name], err_msg=one.name)
        if not one.exact:
            check_rounding(before, after, inputs)


def check_rounding(before: Lowered, after: Lowered, inputs: dict[str, np.ndarray]) -> None:
    """Compare products of the codes of before: rarely apart, and by one at the most."""
    theirs = codes_of(before, inputs)
    wrong, count = 0, 0
    compute = multiplier(True)

    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        nonlocal wrong, count
        ours = compute(product, a, b)
        if product.y not in theirs:
            return ours
        apart = np.abs(ours.astype(int) - theirs[product.y].astype(int))
        assert apart.max(initial=0) <= 1, product.name
        wrong, count = wrong + int(apart.sum()), count + apart.size
        return theirs[product.y]

    evaluate(after, inputs, multiply)
    assert count
    assert wrong <= 0.02 * count


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


def test_without_folds_no_constant_is_computed() -> None:
    """Each pass does something to a random graph: products, parts put together, tables."""
    model, _ = random_model(3)
    before = Lowered(Graph(model), model, [], {})
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
    names = ["model", "expand", "fold", "branches", "recurrent", "subgraphs", "products"]
    names = [f"{at}-{name}" for at, name in enumerate(names)]
    files = sorted(one.name for one in (tmp_path / "dump").iterdir())
    assert files == sorted(f"{name}.{end}" for name in names for end in ("txt", "svg"))
    assert done.out == (tmp_path / "dump" / "6-products.txt").read_text()
    lines = done.out.splitlines()
    assert lines[0] == "input   x  uint8 [2, 4, 6, 5]"
    assert lines[-1] == "output  y"
    first = next(line for line in lines if " Conv " in line)
    assert first.startswith("block   Conv ")
    assert "kernel (1, 1), strides (1, 1), dilations (1, 1)" in first
    before = (tmp_path / "dump" / "0-model.txt").read_text().splitlines()
    assert len(before) == len(model.graph.node) + 2
    assert not any(line.startswith("block") for line in before)
    drawn = ElementTree.parse(tmp_path / "dump" / "6-products.svg").getroot()
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
    assert f"pass must be one of {legal}, not 'fuse'" in done.err
    assert not (tmp_path / "dump").exists()
