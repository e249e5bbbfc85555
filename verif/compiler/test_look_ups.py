"""Tables of one code are looked up by the job that makes their codes, or by one of their own."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.look_ups import table_bytes
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.text import text
from carrysave.compiler.run import network
from carrysave.compiler.run.alone import of_job
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from golden.soc.coprocessor import Error, coprocessor, matrices
from golden.soc.memory import Space
from hw.catalog import Design
from verif.compiler import runners
from verif.networks.graphs import Builder
from verif.soc.driver.conftest import library as library

PARAMETERS = {
    "engine": "systolic_os(m=8,n=8)",
    "vector": "vector_unit(lanes=4,length=64,width=16)",
    "taps": "3",
    "requantisers": "4",
    "table": "true",
    "windows": "true",
}
TARGET = Target(Design.parse("coprocessor", PARAMETERS))
LONG = "vector_unit(lanes=4,length=256,width=16)"
PLAIN = Target(Design.parse("coprocessor", PARAMETERS | {"table": "false"}))
SHAPE = (1, 6, 5, 3)
KINDS: dict[str, list[str | None]] = {
    "product": [None],
    "gate of codes": [None],
    "groups": [None] * 2,
    "sum": [None, None, "map_add"],
    "alone": [None, "map_add"],
}
"""Jobs of each network but the last one, vector jobs by their names."""


def network_of(kind: str, codes: Any, channels: int = 7) -> onnx.ModelProto:
    """Return a network with a hard swish behind a product, a sum, what is read twice."""
    builder = Builder(np.random.default_rng(5), opset=17)
    zero, names = builder.zero(codes), list[str]()
    fixed = builder.constant(3, codes)
    groups = 2 if kind == "groups" else 1
    for number in range(2 if kind == "sum" else 1):
        weights = builder.judged_weights((channels * groups, SHAPE[1] // groups, 1, 1))
        scales = builder.constant(np.full(channels * groups, 0.02, np.float32), np.float32)
        zeros = builder.constant(np.zeros(channels * groups, np.int8), np.int8)
        step = builder.constant(0.57)
        name = f"q{number}"
        builder.node(
            "QLinearConv",
            ["x", builder.constant(0.1), fixed, weights, scales, zeros, step, zero],
            name,
            group=groups,
        )
        names.append(builder.node("DequantizeLinear", [name, step, zero], f"d{number}"))
    if kind == "sum":
        step = builder.constant(0.7313)
        builder.node("QuantizeLinear", [builder.node("Add", names[::-1], "a"), step, zero], "qa")
        names = [builder.node("DequantizeLinear", ["qa", step, zero], "da")]
    _swish(builder, names[0], zero, "s", codes=kind == "gate of codes")
    weights = builder.judged_weights((5, channels * groups, 1, 1))
    step, none = builder.constant(0.4719), builder.constant(0, np.int8)
    given = ["s", step, zero, weights, builder.constant(0.02), none]
    builder.node("QLinearConv", [*given, builder.constant(1.9), zero], "y")
    model = builder.model(SHAPE, codes, codes)
    if kind == "alone":
        more = onnx.ValueInfoProto(name="q0", type=model.graph.output[0].type)
        more.type.tensor_type.ClearField("shape")
        model.graph.output.append(more)
    return model


def _swish(builder: Builder, name: str, zero: str, y: str, *, codes: bool = False) -> str:
    """Multiply by a hard sigmoid, or by codes of one, and quantise."""
    gate = builder.node("HardSigmoid", [name], f"{y}.gate", alpha=1 / 6, beta=0.5)
    if codes:
        step = builder.constant(1 / 127), zero
        builder.node("QuantizeLinear", [gate, *step], f"{y}.codes")
        gate = builder.node("DequantizeLinear", [f"{y}.codes", *step], f"{y}.of_codes")
    product = builder.node("Mul", [name, gate], f"{y}.product")
    builder.node("QuantizeLinear", [product, builder.constant(0.4719), zero], y)
    return y


def compiled(model: onnx.ModelProto, codes: Any, target: Target = TARGET) -> Program:
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    return compile_network(lowered, target, {"x": np.zeros(SHAPE, codes)})


@pytest.mark.sample(7)
@pytest.mark.parametrize("codes", [np.uint8, np.int8])
@pytest.mark.parametrize("kind", KINDS)
def test_codes(kind: str, codes: Any, library: Any) -> None:
    """Nothing is moved; the same bytes from all runners; within a code of onnxruntime's."""
    model = network_of(kind, codes)
    program = compiled(model, codes)
    jobs = [job for step in program.steps if isinstance(step, Start) for job in step.jobs]
    assert [job.vector for job in jobs] == [*KINDS[kind], None]
    assert sum(job.table for job in jobs) == (2 if kind == "groups" else 1)
    assert text(program).count(", table") >= 1
    *_, last = program.steps
    assert not any(isinstance(step, Move) and step is not last for step in program.steps)
    ends = np.iinfo(codes)
    x = {"x": np.random.default_rng(6).integers(ends.min, ends.max + 1, SHAPE).astype(codes)}
    runners.check(program, x)
    memory = program.memory.copy()
    made = network.run(program, x, memory, by_golden(program, memory))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for name, right in zip(made, session.run([*made], x), strict=True):
        off = np.abs(made[name].astype(int) - right)
        assert off.max() <= 2
        assert np.count_nonzero(off) <= off.size // 8
        assert len(np.unique(right)) > 20
    expected = runners.memory_of(program, _golden, x)
    for on in (runners.on_driver, runners.on_c(library)):
        np.testing.assert_array_equal(runners.memory_of(program, on, x), expected)
    without = compiled(model, codes, PLAIN)
    memory = without.memory.copy()
    plain = network.run(without, x, memory, by_golden(without, memory))
    for name, codes_made in made.items():
        np.testing.assert_array_equal(plain[name], codes_made)


@pytest.mark.parametrize("made", [np.uint8, np.int8])
@pytest.mark.parametrize("read", [np.uint8, np.int8])
def test_bytes_of_tables(read: Any, made: Any) -> None:
    """Every code, by its byte, which is less an offset where codes are unsigned."""
    low = int(np.iinfo(read).min)
    values = np.random.default_rng(7).permutation(256).astype(np.uint8).view(made)
    table = CodeTable("table", (low,), values, 0)
    offset, to = (128 if kind == np.uint8 else 0 for kind in (read, made))
    places = np.frombuffer(table_bytes(TARGET, table, offset), np.int8).astype(int)
    for number in range(256):
        code = number + low
        assert places[code - offset & 255] + to == values[number]


def _golden(program: Program) -> Any:
    memory = program.memory.copy()
    return memory, by_golden(program, memory)


@pytest.mark.parametrize("kind", KINDS)
def test_jobs_alone(kind: str) -> None:
    """A job of a program makes the same with its operands elsewhere, in whole and in part."""
    program = compiled(network_of(kind, np.uint8), np.uint8)
    x = {"x": np.random.default_rng(8).integers(0, 256, SHAPE).astype(np.uint8)}
    memory = program.memory.copy()
    network.run(program, x, memory, by_golden(program, memory))
    space = Space(memory=memory, scratch=np.empty(0, np.uint8), base=TARGET.spec.scratch_base)
    jobs = [job for step in program.steps if isinstance(step, Start) for job in step.jobs]
    for job in (job for job in jobs if job.table and job.window is None):
        one, after = golden_job(job, TARGET.spec), memory.copy()
        alone = of_job(kind, job, space, TARGET)
        assert coprocessor(TARGET.spec, after, one) == Error.NONE
        right = after[matrices(TARGET.spec, one)["c"].places()]
        np.testing.assert_array_equal(alone.golden(TARGET), right)
        if job.vector is None:
            part = alone.some_columns(2, 3, TARGET)
            np.testing.assert_array_equal(part.golden(TARGET), right[:, 2:5])


def test_depthwise() -> None:
    """A convolution of single channels looks codes up, too."""
    builder = Builder(np.random.default_rng(9), opset=17)
    zero, step, shape = builder.zero(np.uint8), builder.constant(0.57), (1, 16, 6, 5)
    few, none, given = builder.constant(0.02), builder.constant(0, np.int8), "x"
    scale = builder.constant(0.1)
    for name, size, groups in (("q0", (16, 16, 1, 1), 1), ("q1", (16, 1, 3, 3), 16)):
        inputs = [given, scale, zero, builder.judged_weights(size), few, none, step, zero]
        pads = [size[2] // 2] * 4
        builder.node("QLinearConv", inputs, name, group=groups, pads=pads)
        given, scale = name, step
    _swish(builder, builder.node("DequantizeLinear", ["q1", step, zero], "d"), zero, "s")
    inputs = ["s", builder.constant(0.4719), zero, builder.judged_weights((5, 16, 1, 1))]
    builder.node("QLinearConv", [*inputs, few, none, builder.constant(1.9), zero], "y")
    model = builder.model(shape, np.uint8, np.uint8)
    target = Target(Design.parse("coprocessor", PARAMETERS | {"vector": LONG}))
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    x = {"x": np.random.default_rng(10).integers(0, 256, shape).astype(np.uint8)}
    program = compile_network(lowered, target, x)
    jobs = [job for step in program.steps if isinstance(step, Start) for job in step.jobs]
    assert [job.vector for job in jobs if job.table] == ["depthwise"]
    runners.check(program, x)
