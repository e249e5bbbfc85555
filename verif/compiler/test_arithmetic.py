"""Floats between products: by rules, on arrays, and as steps of a program; all of the same bits."""

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from carrysave.compiler.graph.arithmetic import ArithmeticNode
from carrysave.compiler.graph.arithmetic_rules import RULES
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.host_runtime import run as on_runtime
from carrysave.compiler.graph.host_runtime import since
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.arithmetic import Emitter
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Move
from carrysave.compiler.run.floats import calculate
from carrysave.compiler.run.interpret import move
from carrysave.compiler.run.network import run
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Tensor
from golden import elementary, single
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.networks import SHAPE, attention, feature_maps
from verif.soc.driver.conftest import library as library

TARGET = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)"}))
VERSION = 17
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "AveragePool": [
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 1, 0, 1]},
        {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1], "count_include_pad": 1},
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    ],
    "MaxPool": [{"kernel_shape": [3, 2], "pads": [1, 1, 1, 0]}, {"kernel_shape": [2, 2]}],
    "LeakyRelu": [{}, {"alpha": 1.5}],
    "HardSigmoid": [{}, {"alpha": 0.3, "beta": 0.4}],
    "ReduceMean": [{"axes": [1, 3]}, {"axes": [-1], "keepdims": 0}, {}],
    "ReduceMax": [{"axes": [2]}],
    "ReduceMin": [{"axes": [0, 1]}],
    "Resize": [
        {"mode": "linear", "coordinate_transformation_mode": how}
        for how in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    ],
    "Softmax": [{"axis": 1}, {}],
    "LayerNormalization": [{}, {"epsilon": 0.1}],
}
CONSTANTS: dict[str, Callable[[np.random.Generator], list[np.ndarray]]] = {
    "BatchNormalization": lambda rng: [rng.uniform(0.5, 2, 3) for _ in range(4)],
    "Clip": lambda rng: [np.array(-0.5), np.array(0.75)],
    "LayerNormalization": lambda rng: [rng.normal(0, 1, 4), rng.normal(0, 1, 4)],
    "PRelu": lambda rng: [rng.normal(0, 1, (3, 1, 1))],
    "Pow": lambda rng: [np.array(rng.choice([0.5, 1, 2, 3]))],
    "ReduceSum": lambda rng: [np.array([1, -1])],
    "Resize": lambda rng: [np.zeros(0), np.array([1, 1, *rng.choice([0.5, 1.5, 2, 3], 2)])],
}
PAIRS = ("Add", "Div", "Max", "Min", "Mul", "Sub", "Sum")
NEWER = ("Gelu",)
"""Operators that onnxruntime has from a later set on."""


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("exp", elementary.exp),
        ("logistic", elementary.sigmoid),
        ("tanh", elementary.tanh),
        ("erf", np.vectorize(math.erf)),
    ],
)
def test_functions_are_near_the_exact_ones(name: str, exact: Any) -> None:
    """Within 6 units in the last place, and of the same sign."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-80, 80, 20000), rng.normal(0, 1, 20000), [0, 1, -1, 4, 0.55]])
    x = x.astype(np.float32)
    ours, right = getattr(single, name)(x), exact(x.astype(np.float64))
    size = np.spacing(np.abs(right).astype(np.float32)).astype(np.float64)
    assert (np.abs(ours - right) <= 6 * size).all()
    far = getattr(single, name)(np.array([-200, 200], np.float32)).tolist()
    most = float(single.exp(np.array(88, np.float32)))
    low = {"exp": 0.0, "logistic": float(np.float32(1) / np.float32(1 + most))}.get(name, -1.0)
    assert far == [low, most if name == "exp" else 1.0]


def nodes(name: str, rng: np.random.Generator) -> list[tuple[ArithmeticNode, list[np.ndarray]]]:
    """Return nodes of an operator with all of its options, and inputs: floats first."""
    found = []
    for options in OPTIONS.get(name, [{}]):
        shapes = [(2, 3, 5, 4), *([(3, 1, 4)] if name in PAIRS else [])]
        given: list[Any] = [rng.normal(0, 2, shape).astype(np.float32) for shape in shapes]
        if name in ("Sqrt", "Pow"):
            given[0] = np.abs(given[0])
        given += [
            one if one.dtype.kind == "i" else one.astype(np.float32)
            for one in CONSTANTS.get(name, lambda rng: [])(rng)
        ]
        node = helper.make_node(name, [f"i{at}" for at in range(len(given))], ["y"], **options)
        version = since(name, 20 if name in NEWER else VERSION)
        found.append((ArithmeticNode(node, version, RULES[name]), given))
    return found


@pytest.mark.parametrize("name", RULES)
def test_rules_are_onnxs(name: str) -> None:
    """What rules compute on arrays is what onnxruntime does, but for the last places."""
    for own, given in nodes(name, np.random.default_rng(len(name))):
        (right,) = on_runtime(own.node, own.version, given)
        ours = own.run(given)
        assert ours.dtype == np.float32
        assert ours.shape == right.shape
        np.testing.assert_allclose(ours, right, rtol=4e-6, atol=2e-6)


def laid(image: Image, values: np.ndarray, turn: int) -> tuple[Tensor, np.ndarray]:
    """Place floats in memory: axes in some order, with gaps or none, or at odd places."""
    order = np.roll(np.arange(values.ndim), turn)
    gap = 1 + turn % 2
    at = image.room(4 * gap * values.size)
    places = at + 4 * gap * np.arange(values.size)
    if turn == 3:
        places = places[np.random.default_rng(0).permutation(values.size)]
    sources = places.reshape([values.shape[axis] for axis in order]).transpose(np.argsort(order))
    return Tensor(sources, np.dtype(np.float32), 0), sources


def memory_of(image: Image, tensors: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    memory = np.zeros(image.end, np.uint8)
    for address, data in image.parts.items():
        memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
    for sources, values in tensors:
        memory.view(np.float32)[sources // 4] = values
    return memory


def executed(image: Image, memory: np.ndarray, floats: Callable[[np.ndarray, Floats], Any]) -> None:
    for step in image.steps:
        if isinstance(step, Floats):
            floats(memory, step)
        else:
            assert isinstance(step, Move)
            move(memory, step.to, step.at, step.words, step.taps, step.table)


@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize("name", RULES)
def test_steps_make_the_bits_of_arrays(name: str, turn: int, library: Any) -> None:
    """However numbers lie in memory; by numpy, and by the C driver."""

    def by_c(memory: np.ndarray, step: Floats) -> None:
        words = np.array(step.words, np.int64).astype(np.uint32)
        library.carrysave_floats.restype = ctypes.c_void_p
        assert library.carrysave_floats(
            memory.ctypes.data_as(ctypes.c_void_p), words.ctypes.data_as(ctypes.c_void_p)
        )

    for own, given in nodes(name, np.random.default_rng(turn)):
        image = Image(TARGET)
        emitter = Emitter(image, "node", name)
        count = 2 if name in PAIRS else 1
        placed = [laid(image, values, turn) for values in given[:count]]
        inputs: list[Any] = [tensor for tensor, _ in placed]
        inputs += [
            emitter.constant(one) if one.dtype == np.float32 else one for one in given[count:]
        ]
        found = own.on(emitter, inputs, [*[None] * count, *given[count:]])
        right = own.run(given)
        values = [(sources, one) for (_, sources), one in zip(placed, given, strict=False)]
        for floats in (lambda memory, step: calculate(memory, step), by_c):
            memory = memory_of(image, values)
            executed(image, memory, floats)
            ours = memory.view(np.float32)[found.sources // 4]
            np.testing.assert_array_equal(ours.view(np.int32), right.view(np.int32))


@pytest.mark.parametrize(
    ("name", "options", "more", "why"),
    [
        ("Pow", {}, [np.float32(1.5)], r"the exponent must be 0\.5, 1, 2 or 3, not 1\.5"),
        ("Softmax", {"axis": 1, "version": 11}, [], "the axis must be the last one, not 1"),
        (
            "AveragePool",
            {"kernel_shape": [2, 2], "count_include_pad": 1, "ceil_mode": 1},
            [],
            "count_include_pad and ceil_mode must not both be set",
        ),
    ],
)
def test_refuses(name: str, options: dict[str, Any], more: list[Any], why: str) -> None:
    version = options.pop("version", VERSION)
    given = [np.ones((1, 2, 4, 4), np.float32), *more]
    node = helper.make_node(name, [f"i{at}" for at in range(len(given))], ["y"], **options)
    with pytest.raises(Unsupported, match=why):
        ArithmeticNode(node, version, RULES[name]).run(given)


def compiled(model: onnx.ModelProto) -> Program:
    onnx.checker.check_model(model)
    lowered = lower(Graph(model), TARGET, until=PASSES[-1].name)
    return compile_network(lowered, TARGET, {"x": np.zeros(SHAPE, np.uint8)})


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).integers(0, 256, SHAPE).astype(np.uint8)}


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [feature_maps, attention])
def test_networks_are_whole(make: Any, seed: int) -> None:
    """No host segment; all codes are those of the evaluator, and nearly onnxruntime's."""
    model = make(seed)
    program = compiled(model)
    assert not program.host
    assert any(isinstance(step, Floats) for step in program.steps)
    runners.check(program, inputs(seed))
    memory, runner = runners.on_golden(program)
    ours = run(program, inputs(seed), memory, runner)["y"].astype(int)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    (theirs,) = session.run(None, inputs(seed))
    apart = np.abs(ours - theirs.astype(int))
    assert apart.max() <= 2
    assert (apart > 0).mean() < 0.15
    assert len(np.unique(theirs)) > 8
