"""Products of floats in formats of lanes, as ``carrysave precision`` chooses them: no programs."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.encoded import Choice
from carrysave.compiler.passes.floats import read, with_choices
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.program.sizes import sizes_of
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.networks.graphs import Builder
from verif.support.command import Run

ENGINE = "npe(m=2,n=2,formats=int8,int4)"


def chosen(name: str) -> onnx.ModelProto:
    """Two products of floats, whose operands are of one format."""
    b = Builder(np.random.default_rng(1))
    b.node("MatMul", ["x", b.constant(b.rng.normal(size=(8, 6)))], "h")
    b.node("Relu", ["h"], "r")
    b.node("MatMul", ["r", b.constant(b.rng.normal(size=(6, 4)))], "y")
    choice = Choice(a=name, b=name, a_step=0.1)
    model = b.model((3, 8), np.float32, np.float32)
    return with_choices(Graph(model), {f"MatMul_{y}": choice for y in "hy"})


@pytest.mark.parametrize("name", ["int8", "int4"])
def test_sizes_are_of_columns_not_of_words(name: str) -> None:
    """Two codes of int4 are a word along K, and none of them is a column."""
    target = Target(Design("coprocessor", {"engine": ENGINE}))
    graph = Graph(chosen(name))
    lowered = lower(graph, target, read(graph))
    sizes = sizes_of(lowered, target, {"x": np.ones((3, 8), np.float32)})
    assert {one: shape for one, (shape, _) in sizes.items()} == {"x": (3, 8), "r": (3, 6)}


@pytest.mark.parametrize("name", ["int8", "int4"])
def test_compile_says_what_it_cannot_have(run: Run, tmp_path: Path, name: str) -> None:
    onnx.save(chosen(name), tmp_path / "m.onnx")
    found = run("compile", tmp_path / "m.onnx", "-p", f"engine={ENGINE}", "-o", tmp_path)
    assert found.code == 2
    assert f"MatMul 'MatMul_h': {name} x {name} are rounded from floats, which run" in found.err
    assert "broadcast" not in found.err
