"""Places of the greatest code: jobs, as all else of a network."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.arg_max import arg_max
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.steps import Move
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.each_pass import TARGET, check
from verif.compiler.networks import places
from verif.compiler.programs import design
from verif.networks.comparing import multiplier
from verif.networks.graphs import Builder

MAPS = Target(design("maps"))
ROWS = Target(
    Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)", "vector": "vector_unit"})
)
U8, I8 = np.uint8, np.int8


def drawn(shape: tuple[int, ...], kind: Any, different: int = 256) -> np.ndarray:
    """Draw codes, of which there are so many different ones."""
    ends = np.iinfo(kind)
    codes = np.linspace(ends.min, ends.max, different).astype(kind)
    return np.asarray(np.random.default_rng(2).choice(codes, shape))


def expected(x: np.ndarray, axis: int, *, last: bool) -> np.ndarray:
    """Return the places of the first of the greatest, or of the last."""
    if last:
        return np.asarray(x.shape[axis] - 1 - np.flip(x, axis).argmax(axis=axis, keepdims=True))
    return np.asarray(x.argmax(axis=axis, keepdims=True))


@pytest.mark.sample(4)
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("kind", [U8, I8])
@pytest.mark.parametrize("size", [2, 3, 10, 127, 128, 255, 508])
def test_equal_codes(size: int, kind: Any, last: int) -> None:
    """Of equal codes the first one counts, or the last; of rows with one or two parts."""
    for different in (1, 2, 3, 256):
        x = drawn((40, size), kind, different)
        graph = Graph(places(x.shape, kind, axis=1, select_last_index=last))
        lowered = arg_max(Lowered(graph, graph.proto), Setting(target=MAPS))
        assert "ArgMax" not in {node.op_type for node in lowered.proto.graph.node}
        lowered = lower(graph, MAPS, until=PASSES[-1].name)
        made = evaluate(lowered, {"x": x}, multiplier(True, MAPS))["y"]
        np.testing.assert_array_equal(made, expected(x, 1, last=bool(last)), strict=True)


@pytest.mark.parametrize(
    ("shape", "kind", "more"),
    [
        ((3, 10), U8, {"axis": 1}),
        ((2, 7), I8, {"axis": -1, "keepdims": 0, "select_last_index": 1}),
        ((1, 130), I8, {"axis": 1, "keepdims": 0}),
        ((2, 5, 3, 4), U8, {"axis": 1, "keepdims": 0}),
        ((1, 6, 7), I8, {"axis": 1, "select_last_index": 1}),
    ],
)
def test_between_codes_all_is_jobs(shape: tuple[int, ...], kind: Any, more: dict[str, Any]) -> None:
    """Places are onnxruntime's, and no processor is needed for them."""
    model = places(shape, kind, product=True, **more)
    onnx.checker.check_model(model)
    x = drawn(shape, kind)
    check(Graph(model), {"x": x}, MAPS)
    lowered = lower(Graph(model), MAPS, until=PASSES[-1].name)
    program = compile_network(lowered, MAPS, {"x": x})
    assert not program.host
    assert not any(isinstance(step, Move | Floats) for step in program.steps)
    runners.check(program, {"x": x})
    made = evaluate(lowered, {"x": x}, multiplier(True, MAPS))["y"]
    (theirs,) = onnxruntime.InferenceSession(model.SerializeToString()).run(["y"], {"x": x})
    np.testing.assert_array_equal(made, theirs, strict=True)


@pytest.mark.parametrize(("shape", "axis"), [((1, 4, 3, 6), 3), ((1, 4, 6), 2), ((2, 3, 4, 2), -2)])
def test_other_axes(shape: tuple[int, ...], axis: int) -> None:
    for more in ({"keepdims": 0}, {"keepdims": 1, "select_last_index": 1}):
        model = places(shape, product=True, axis=axis, **more)
        x = drawn(shape, U8)
        assert "arg_max" in check(Graph(model), {"x": x}, MAPS)
        lowered = lower(Graph(model), MAPS, until=PASSES[-1].name)
        program = compile_network(lowered, MAPS, {"x": x})
        assert not program.host
        runners.check(program, {"x": x})


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (places((3, 1), axis=1), MAPS),
        (places((3, 4)), MAPS),
        (places((1, 2, 2, 2, 2), axis=1), MAPS),
        (places((3, 127**2 + 1), axis=1), MAPS),
        (places((3, 4), axis=1, scale=1e-40), MAPS),
        (places((3, 4), axis=1, scale=3e38), MAPS),
        (places((3, 4), axis=1), TARGET),
        (places((3, 4), axis=1), ROWS),
    ],
)
def test_others_stay(model: ModelProto, target: Target) -> None:
    """Samples; too many codes; scales by which codes are the same floats; no jobs on maps."""
    graph = Graph(model)
    lowered = Lowered(graph, graph.proto)
    assert arg_max(lowered, Setting(target=target)) is lowered


def test_floats_stay() -> None:
    b = Builder(np.random.default_rng(1), 17)
    b.node("ArgMax", ["x"], "y", axis=1)
    graph = Graph(b.model((3, 4), np.float32, np.int64, [3, 1]))
    lowered = Lowered(graph, graph.proto)
    assert arg_max(lowered, Setting(target=MAPS)) is lowered
