"""Sums, products and the greater of two maps of a network are jobs of the vector unit."""

import re
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes import dump
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.text import text
from carrysave.compiler.program.words import group_of, group_words
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.job import Job
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.networks import gates
from verif.networks.graphs import Builder
from verif.soc.driver.conftest import library as library

TARGET = Target(Design.parse("coprocessor", {
    "engine": "systolic_os(m=8,n=8)", "vector": "vector_unit(lanes=4,length=256,width=16)",
    "taps": "3", "requantisers": "4",
}))  # fmt: skip
SHAPE = (1, 6, 5, 3)
OPERATORS = {
    "Add": "map_add",
    "Sub": "map_add",
    "Mul": "map_multiply",
    "LeakyRelu": "map_max",
    "": "map_add",
}


def network_of(seed: int, operator: str, channels: int, kind: Any) -> onnx.ModelProto:
    """Return two products, and an operator between them and codes; "" changes scales alone."""
    builder = Builder(np.random.default_rng(seed), opset=17)
    rng, zero = builder.rng, lambda: builder.zero(kind)
    low = 0 if kind == np.uint8 else -128
    names = []
    for number in range(2 if operator in ("Add", "Sub", "Mul") else 1):
        codes = builder.judged_weights((channels, SHAPE[1], 1, 1))
        step, offset = builder.constant(float(rng.uniform(0.02, 0.2))), zero()
        builder.node(
            "QLinearConv",
            [
                "x", builder.constant(0.1), builder.constant(rng.integers(low, low + 256), kind),
                codes, builder.constant(0.02), builder.constant(0, np.int8), step, offset,
            ],
            f"q{number}",
        )  # fmt: skip
        names.append(builder.node("DequantizeLinear", [f"q{number}", step, offset], f"d{number}"))
    if operator == "LeakyRelu":
        names = [builder.node(operator, names, "o", alpha=0.2)]
    elif operator:
        names = [builder.node(operator, names, "o")]
    scale = 0.5 if operator == "Mul" else 0.1
    builder.node("QuantizeLinear", [*names, builder.constant(scale), zero()], "y")
    return builder.model(SHAPE, kind, kind)


def compiled(model: onnx.ModelProto, kind: Any) -> Program:
    lowered = lower(Graph(model), TARGET, until=PASSES[-1].name)
    assert re.search(r"^block .*\{map_\w+ of maps\}$", dump.text(lowered), re.MULTILINE)
    return compile_network(lowered, TARGET, {"x": np.zeros(SHAPE, kind)})


@pytest.mark.sample(10)
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("channels", [8, 7])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", range(3))
def test_codes(seed: int, operator: str, channels: int, kind: Any, library: Any) -> None:
    """Within a code of onnxruntime's, rarely off; the same bytes from all runners; no moves."""
    model = network_of(seed, operator, channels, kind)
    program = compiled(model, kind)
    starts = [step for step in program.steps if isinstance(step, Start)]
    made = [job.vector for step in starts for job in step.jobs if job.vector]
    assert made == [OPERATORS[operator]]
    assert f" = {made[0]} a[" in text(program)
    assert ", factors " in text(program)
    *_, last = program.steps
    assert not any(isinstance(step, Move) and step is not last for step in program.steps)
    ends = np.iinfo(kind)
    x = np.random.default_rng(seed).integers(ends.min, ends.max + 1, SHAPE).astype(kind)
    runners.check(program, {"x": x})
    memory = program.memory.copy()
    codes = network.run(program, {"x": x}, memory, by_golden(program, memory))["y"]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    off = np.abs(codes.astype(int) - session.run(None, {"x": x})[0])
    assert off.max() <= 2
    assert np.count_nonzero(off) <= off.size // 10
    expected = runners.memory_of(program, _zeros, {"x": x})
    for on in (runners.on_driver, runners.on_c(library)):
        np.testing.assert_array_equal(runners.memory_of(program, on, {"x": x}), expected)


def test_axes_are_lined_up_from_the_last() -> None:
    """A map without the axis of samples, whose channels are as many as its rows."""
    builder = Builder(np.random.default_rng(4), opset=17)
    step, zero = builder.constant(0.1), builder.constant(120, np.uint8)
    for number in range(2):
        codes = builder.judged_weights((SHAPE[2], SHAPE[1], 1, 1))
        given = ["x", step, zero, codes, builder.constant(0.02), builder.constant(0, np.int8)]
        builder.node("QLinearConv", [*given, step, zero], f"q{number}")
        builder.node("DequantizeLinear", [f"q{number}", step, zero], f"d{number}")
    size = builder.constant([SHAPE[2], *SHAPE[2:]], np.int64)
    builder.node("Add", ["d0", builder.node("Reshape", ["d1", size], "r")], "a")
    builder.node("QuantizeLinear", ["a", step, zero], "y")
    program = compiled(builder.model(SHAPE, np.uint8, np.uint8), np.uint8)
    assert any(job.vector for step in program.steps if isinstance(step, Start) for job in step.jobs)
    runners.check(program, {"x": np.random.default_rng(1).integers(0, 256, SHAPE).astype(np.uint8)})


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("batch", [1, 3])
def test_gates_of_a_batch(seed: int, batch: int, library: Any) -> None:
    """A row for all pixels of each sample, in whichever order: jobs, as many as samples."""
    model = gates(seed, batch)
    lowered = lower(Graph(model), TARGET, until=PASSES[-1].name)
    shape = (batch, 6, 4, 4)
    x = {"x": np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)}
    program = compile_network(lowered, TARGET, x)
    assert not any(isinstance(step, Move) for step in program.steps)
    starts = [step for step in program.steps if isinstance(step, Start)]
    made = [job.vector for step in starts for job in step.jobs if job.vector]
    assert sorted(made) == sorted([*["map_multiply", "map_add"] * batch, "map_add"])
    runners.check(program, x)
    memory = program.memory.copy()
    codes = network.run(program, x, memory, by_golden(program, memory))["y"]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert np.abs(codes.astype(int) - session.run(None, x)[0]).max() <= 1
    expected = runners.memory_of(program, _zeros, x)
    for on in (runners.on_driver, runners.on_c(library)):
        np.testing.assert_array_equal(runners.memory_of(program, on, x), expected)


def _zeros(program: Program) -> Any:
    memory = program.memory.copy()
    return memory, by_golden(program, memory)


def test_words_are_read_back() -> None:
    how = Requantisation(multiplier=5, shift=3, zero_point=-7, low=-9, high=11)
    job = Job(
        a=0, b=64, c=128, m=7, n=3, k=0, lda=5, ldb=0, ldc=8, vector="map_max",
        requantisation=how, zeros=(-128, 127), factors=(-(1 << 23), (1 << 23) - 1),
    )  # fmt: skip
    group = JobGroup(job=job)
    assert group_of(np.array(group_words(group), "<i8").astype("<i4").tolist()) == group


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(40))
def test_max_pool(seed: int, library: Any) -> None:
    """Any kernel, steps, gaps and padding, of lines and of maps: onnxruntime's codes; no moves."""
    rng = np.random.default_rng(seed)
    builder, axes = Builder(rng, opset=17), 1 + seed % 2
    space = tuple(rng.integers(7, 14, axes).tolist())
    batch, channels = int(rng.integers(1, 3)), int(rng.integers(1, 20))
    shape = (batch, 3, *space)
    codes = builder.judged_weights((channels, 3, *[1] * axes))
    step, zero = builder.constant(0.5), builder.zero(np.uint8)
    given = ["x", builder.constant(0.1), builder.zero(np.uint8), codes, builder.constant(0.02)]
    builder.node("QLinearConv", [*given, builder.constant(0, np.int8), step, zero], "q")
    builder.node("DequantizeLinear", ["q", step, zero], "d")
    kernel = rng.integers(1, 4, axes).tolist()
    pads = [int(rng.integers(0, one)) * int(rng.integers(2)) for one in (*kernel, *kernel)]
    builder.node(
        "MaxPool", ["d"], "p", kernel_shape=kernel,
        strides=[int(rng.integers(1, 4)) if one > 1 else 1 for one in kernel],
        dilations=rng.integers(1, 3, axes).tolist(), pads=pads, ceil_mode=int(rng.integers(2)),
    )  # fmt: skip
    builder.node("QuantizeLinear", ["p", step, zero], "y")
    model = builder.model(shape, np.uint8, np.uint8)
    lowered = lower(Graph(model), TARGET, until=PASSES[-1].name)
    x = {"x": rng.integers(0, 256, shape).astype(np.uint8)}
    program = compile_network(lowered, TARGET, x)
    *_, last = program.steps
    assert not any(isinstance(step, Move) and step is not last for step in program.steps)
    runners.check(program, x)
    memories = [runners.memory_of(program, on, x) for on in (runners.on_driver, _zeros)]
    memories.append(runners.memory_of(program, runners.on_c(library), x))
    np.testing.assert_array_equal(memories[0], memories[1])
    np.testing.assert_array_equal(memories[2], memories[1])
