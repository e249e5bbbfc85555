"""Maps that are resized linearly by whole numbers: convolutions of single channels, no floats."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.linear import linear
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.passes.refusals import RefusedError
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.networks import Coded
from verif.compiler.programs import design
from verif.compiler.test_affine import judged
from verif.networks.comparing import multiplier
from verif.networks.graphs import Builder

MAPS = Target(design("maps"))
PLAIN = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)"}))
U8, I8 = np.uint8, np.int8


def resized(
    shape: tuple[int, ...],
    numbers: list[float],
    kind: Any,
    *,
    relu: bool = False,
    sizes: bool = False,
    opset: int = 17,
    **options: Any,
) -> ModelProto:
    """Return a network that resizes codes of one scale to those of another.

    These are chosen so that few results are halfway between two codes, where floats decide.
    """
    b = Builder(np.random.default_rng(1), opset)
    zero = 120 if kind == U8 else -7
    b.node("DequantizeLinear", ["x", b.constant(0.02), b.constant(zero, kind)], "f")
    made = [int(size * one) for size, one in zip(shape, [1, 1, *numbers], strict=True)]
    given = ["", b.constant(made, np.int64)] if sizes else [b.constant([1, 1, *numbers])]
    b.node("Resize", ["f", "", *given], "u", mode="linear", **options)
    if relu:
        b.node("Relu", ["u"], "r")
    b.node("QuantizeLinear", [b.nodes[-1].output[0], b.constant(0.017), b.constant(99, U8)], "y")
    return b.model(shape, kind, U8, made)


def drawn(shape: tuple[int, ...], kind: Any) -> np.ndarray:
    ends = np.iinfo(kind)
    values = np.random.default_rng(2).integers(ends.min, ends.max + 1, shape)
    return np.asarray(values.astype(kind))


def compiled(model: ModelProto, x: np.ndarray, target: Target) -> Program:
    """Compile it; its codes are the evaluator's, and onnxruntime's or rarely the next ones."""
    onnx.checker.check_model(model)
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    program = compile_network(lowered, target, {"x": x})
    assert not program.host
    runners.check(program, {"x": x})
    y = evaluate(lowered, {"x": x}, multiplier(True, target))["y"]
    apart = np.abs(y.astype(int) - judged(model, x).astype(int))
    assert y.dtype == U8
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= 0.02 * apart.size
    return program


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", [U8, I8])
@pytest.mark.parametrize(
    ("shape", "numbers", "options"),
    [
        ((1, 3, 5, 4), [2, 2], {}),
        ((2, 8, 4, 5), [3, 1], {}),
        ((1, 3, 4, 3), [1, 4], {"coordinate_transformation_mode": "pytorch_half_pixel"}),
        ((1, 9, 3, 5), [2, 3], {"coordinate_transformation_mode": "asymmetric"}),
        ((1, 5, 11), [4], {"relu": True}),
        ((1, 2, 1, 6), [5, 1], {"sizes": True}),
    ],
)
def test_whole_numbers_are_products(
    shape: tuple[int, ...], numbers: list[float], options: dict[str, Any], kind: Any
) -> None:
    x = drawn(shape, kind)
    program = compiled(resized(shape, numbers, kind, **options), x, MAPS)
    assert not any(isinstance(step, Floats) for step in program.steps)
    made = [int(one) for one in numbers]
    assert [layer.node for layer in program.layers] == [
        "Resize_u/" + "_".join(map(str, at)) for at in np.ndindex(*made)
    ]


def test_all_codes() -> None:
    """Neighbours of all pairs of codes: codes that differ are halfway between two."""
    x = np.moveaxis(np.indices((256, 256)), 0, -1).astype(U8).reshape(1, 1, 256, 512)
    model = resized(x.shape, [1, 2], U8)
    lowered = lower(Graph(model), PLAIN, until=PASSES[-1].name)
    y = evaluate(lowered, {"x": x}, multiplier(True, PLAIN))["y"].astype(int)
    near = np.pad(x[0, 0].astype(int), [(0, 0), (1, 1)], "edge")
    quarters = np.stack([near[:, :-2] + 3 * near[:, 1:-1], 3 * near[:, 1:-1] + near[:, 2:]], -1)
    exact = (quarters.reshape(256, 1024) / 4 - 120) * 0.02 / 0.017 + 99
    np.testing.assert_allclose(y[0, 0], np.clip(exact, 0, 255), atol=0.501)
    apart = y[0, 0] != judged(model, x)[0, 0]
    off = np.abs(exact - np.floor(exact) - 0.5)
    assert off[apart].max(initial=0) < 1e-3
    assert np.count_nonzero(apart) <= 0.01 * apart.size


@pytest.mark.parametrize(
    "given",
    [[1, 1, 2, one] for one in (np.nan, np.inf, 1e9, -2, 0)] + [[1, 2, 2, 2], [2, 1, 2, 2]],
)
def test_scales_that_are_none(given: list[float]) -> None:
    """They are left to what says so; and so is what resizes other axes than those of space."""
    model = resized((1, 2, 4, 4), [2, 2], U8)
    scales = np.array(given, np.float32)
    model.graph.initializer[2].CopyFrom(numpy_helper.from_array(scales, "constant2"))
    graph = Graph(model)
    lowered = Lowered(graph, graph.proto)
    assert linear(lowered, Setting(target=PLAIN)) is lowered


def test_codes_that_cannot_be_padded_stay() -> None:
    """Before opset 13: they are resized in floats."""
    model = resized((1, 2, 4, 4), [2, 2], U8, opset=11)
    with pytest.raises(RefusedError, match="no quantised product"):
        lower(Graph(model), PLAIN)


@pytest.mark.parametrize(
    ("numbers", "options"),
    [
        ([8, 8], {}),
        ([1.5, 2], {}),
        ([2, 2], {"coordinate_transformation_mode": "align_corners"}),
    ],
)
def test_others_are_floats(numbers: list[float], options: dict[str, Any]) -> None:
    """Shares that are too many for a code, or not the same for each place."""
    b = Builder(np.random.default_rng(1), 17)
    shape, step = (1, 2, 4, 2), [b.constant(0.02), b.constant(3, U8)]
    b.node("DequantizeLinear", ["x", *step], "f")
    for name, taken in (("c", "f"), ("z", "u_d")):
        codes = [b.judged_weights((2, 2, 1, 1)), b.constant(0.01), b.constant(0, I8)]
        if name == "z":
            b.node(
                "Resize", ["c_d", "", b.constant([1, 1, *numbers])], "u", mode="linear", **options
            )
            b.node(
                "DequantizeLinear", [b.node("QuantizeLinear", ["u", *step], "u_q"), *step], "u_d"
            )
        b.node("DequantizeLinear", codes, f"{name}_w")
        b.node("QuantizeLinear", [b.node("Conv", [taken, f"{name}_w"], name), *step], f"{name}_q")
        b.node("DequantizeLinear", [f"{name}_q", *step], f"{name}_d")
    b.node("QuantizeLinear", ["z_d", *step], "y")
    model = b.model(
        shape, U8, U8, [1, 2, *(int(one * s) for one, s in zip(shape[2:], numbers, strict=True))]
    )
    x = drawn(shape, U8)
    lowered = lower(Graph(model), PLAIN, until=PASSES[-1].name)
    program = compile_network(lowered, PLAIN, {"x": x})
    assert not program.host
    assert any(isinstance(step, Floats) for step in program.steps)
    runners.check(program, {"x": x})


def between(numbers: list[int]) -> tuple[ModelProto, np.ndarray]:
    """Return a network of two products and what resizes the codes between them, and an input."""
    b = Coded(np.random.default_rng(0), 17)
    codes = b.weighted("Conv", b.started(), (8, 6, 1, 1), "c")
    wide = b.node("Resize", [codes, "", b.constant([1, 1, *numbers])], "u", mode="linear")
    shape = 1, 6, 10, 12
    made = [numbers[0] * 10 - 2, numbers[1] * 12 - 2]
    model = b.ended(b.weighted("Conv", b.coded(wide), (5, 8, 3, 3), "z"), [1, 5, *made], shape)
    return model, drawn(shape, U8)


@pytest.mark.sample(1)
@pytest.mark.parametrize("numbers", [[2, 2], [3, 1]])
def test_between_products_all_is_jobs(numbers: list[int]) -> None:
    """What is around the map, and its numbers side by side, are copied by jobs."""
    model, x = between(numbers)
    lowered = lower(Graph(model), MAPS, until=PASSES[-1].name)
    program = compile_network(lowered, MAPS, {"x": x})
    assert not program.host
    assert {type(step) for step in program.steps} == {Start}
    runners.check(program, {"x": x})
