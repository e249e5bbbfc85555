"""States in programs: every runner carries them from sample to sample, to golden's bytes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from carrysave.api.design import Design
from carrysave.api.network import run as run_network
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.write import write
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stepwise import first_difference
from verif.compiler import runners
from verif.compiler.test_program import TARGET
from verif.networks.graphs import Builder
from verif.soc.driver.conftest import library as library
from verif.support.command import Run
from verif.support.schemas import check

COUNT, HIDDEN = 6, 12
LSTM = {"hn": "h", "cn": "c"}


def _dense(builder: Builder, x: str, k: int, n: int) -> str:
    """Add a product of codes with steps, and its codes as floats."""
    codes = builder.judged_weights((k, n))
    names = [codes, builder.constant(0.0207), builder.constant(0, np.int8)]
    weights = builder.node("DequantizeLinear", names, f"{x}_w")
    return _coded(builder, builder.node("MatMul", [x, weights], f"{x}_m"))


def _coded(builder: Builder, x: str) -> str:
    steps = [builder.constant(0.03), builder.constant(128, np.uint8)]
    builder.node("QuantizeLinear", [x, *steps], f"{x}_q")
    return builder.node("DequantizeLinear", [f"{x}_q", *steps], f"{x}_d")


def _with(builder: Builder, states: dict[str, list[int]], out: int) -> ModelProto:
    """Return a model of rows x, which has inputs and outputs of floats for states, too."""
    model = builder.model([1, 16], np.float32, np.float32, [1, out])
    kind = TensorProto.FLOAT
    for name, shape in states.items():
        side = model.graph.output if name.endswith("n") else model.graph.input
        side.append(helper.make_tensor_value_info(name, kind, shape))
    onnx.checker.check_model(model)
    return model


def lstm(seed: int) -> ModelProto:
    """Return a streaming LSTM between products."""
    builder = Builder(np.random.default_rng(seed), opset=17)
    rng = builder.rng
    x = _dense(builder, _coded(builder, "x"), 16, 16)
    first, both = (builder.constant(axes, np.int64) for axes in ([0], [0, 1]))
    weights = [
        builder.constant(rng.normal(0, 0.3, shape), np.float32)
        for shape in ((1, 4 * HIDDEN, 16), (1, 4 * HIDDEN, HIDDEN), (1, 8 * HIDDEN))
    ]
    row = builder.node("Unsqueeze", [x, first], "row")
    builder.node("LSTM", [row, *weights, "", "h", "c"], "all", hidden_size=HIDDEN)
    builder.nodes[-1].output.extend(["hn", "cn"])
    flat = builder.node("Squeeze", ["all", both], "flat")
    y = _dense(builder, _coded(builder, flat), HIDDEN, 4)
    builder.node("Identity", [y], "y")
    sizes = [1, 1, HIDDEN]
    return _with(builder, dict.fromkeys(("h", "c", "hn", "cn"), sizes), 4)


def window(seed: int) -> ModelProto:
    """Return a product of the last rows, which a state keeps: codes that are moved."""
    builder = Builder(np.random.default_rng(seed), opset=17)
    x = _dense(builder, _coded(builder, "x"), 16, 8)
    old = _coded(builder, "s")
    rows = builder.node("Concat", [old, x], "rows", axis=0)
    ends = [builder.constant([one], np.int64) for one in (1, 4, 0)]
    builder.node("Slice", [rows, *ends], "sn")
    flat = builder.node("Reshape", [rows, builder.constant([1, 32], np.int64)], "flat")
    builder.node("Identity", [_dense(builder, flat, 32, 4)], "y")
    return _with(builder, {"s": [3, 8], "sn": [3, 8]}, 4)


MODELS = {"lstm": (lstm, LSTM), "window": (window, {"sn": "s"})}


def compiled(name: str) -> tuple[ModelProto, Program]:
    make, states = MODELS[name]
    model = make(5)
    graph = Graph(model)
    samples = Samples.of(graph, None, states)
    inputs = {
        key: np.zeros([*map(int, shape)], kind) for key, (kind, shape) in graph.inputs.items()
    }
    lowered = lower(graph, TARGET, until=PASSES[-1].name)
    return model, compile_network(lowered, TARGET, inputs, samples=samples)


def rows() -> np.ndarray:
    return np.random.default_rng(8).normal(0, 1, (COUNT, 16)).astype(np.float32)


@pytest.mark.parametrize("name", MODELS)
def test_sample_after_sample(name: str, library: Any, tmp_path: Path) -> None:
    """Golden, both drivers, and the program from its files; near what onnxruntime makes."""
    ort = pytest.importorskip("onnxruntime")
    model, program = compiled(name)
    assert not program.host
    assert len(program.states) == len(MODELS[name][1])
    write(program, tmp_path, facts(program, "", name))
    again = read(tmp_path)
    assert (again.states, again.samples, again.batch) == (program.states, program.samples, 1)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    carried = {
        to: np.zeros([*map(int, Graph(model).inputs[to][1])], np.float32)
        for to in MODELS[name][1].values()
    }
    memories = [on(program) for on in (_golden, runners.on_driver, runners.on_c(library))]
    memories.append(_golden(again))
    far = 0.0
    for x in rows():
        given = {"x": x[None]}
        made = [network.run(program, given, *one) for one in memories]
        for other, (memory, _) in zip(made[1:], memories[1:], strict=True):
            np.testing.assert_equal(other, made[0])
            assert first_difference(program, memory, memories[0][0]) is None
        expected = dict(zip(Graph(model).outputs, session.run(None, given | carried), strict=True))
        carried = {to: expected[out] for out, to in MODELS[name][1].items()}
        far = max(far, *(np.abs(expected[key] - made[0][key]).max() for key in expected))
    # An LSTM's weights and activations become codes: three codes of 0.03, no more.
    assert far <= (0.0901 if name == "lstm" else 1e-6)
    assert any(np.abs(one).max() > 0.1 for one in carried.values())


def test_a_state_begins_as_it_is_given() -> None:
    make, states = MODELS["lstm"]
    graph = Graph(make(5))
    samples = Samples.of(graph, None, states)
    rng = np.random.default_rng(2)
    inputs = {
        name: rng.normal(0, 1, [*map(int, shape)]).astype(kind)
        for name, (kind, shape) in graph.inputs.items()
    }
    program = compile_network(
        lower(graph, TARGET, until=PASSES[-1].name), TARGET, inputs, samples=samples
    )
    memory, runner = _golden(program)
    first = network.run(program, {"x": inputs["x"]}, memory, runner)
    plain = compiled("lstm")[1]
    memory, runner = _golden(plain)
    assert not np.array_equal(
        first["hn"], network.run(plain, {"x": inputs["x"]}, memory, runner)["hn"]
    )
    assert np.array_equal(_of(program, "h", program.memory), inputs["h"])


def _of(program: Program, name: str, memory: np.ndarray) -> np.ndarray:
    return network.codes_of(program, name, memory)


def test_a_state_that_the_host_makes_is_a_host_segment() -> None:
    """It goes to where the next run takes it, and the table says who made it."""
    model = lstm(5)
    # onnxruntime's own operators on the way to a state.
    node = next(one for one in model.graph.node if one.op_type == "LSTM")
    node.output[1] = "raw"
    model.graph.node.append(helper.make_node("Det", ["square"], ["det"]))
    model.graph.node.insert(
        len(model.graph.node) - 1,
        helper.make_node("MatMul", ["raw_t", "raw"], ["square"]),
    )
    model.graph.node.insert(
        len(model.graph.node) - 2,
        helper.make_node("Transpose", ["raw"], ["raw_t"], perm=[0, 2, 1]),
    )
    model.graph.node.append(helper.make_node("Add", ["raw", "det"], ["hn"]))
    graph = Graph(model)
    samples = Samples.of(graph, None, LSTM)
    inputs = {
        key: np.zeros([*map(int, shape)], kind) for key, (kind, shape) in graph.inputs.items()
    }
    lowered = lower(graph, TARGET, until=PASSES[-1].name)
    program = compile_network(lowered, TARGET, inputs, samples=samples)
    assert [one.name for one in program.states] == ["cn"]
    assert any("state 'hn' is made by the host" in step.reasons for step in program.host)
    memory, runner = _golden(program)
    for x in rows()[:3]:
        made = network.run(program, {"x": x[None]}, memory, runner)
        np.testing.assert_array_equal(_of(program, "h", memory), made["hn"])


def test_from_the_command_line(run: Run, tmp_path: Path) -> None:
    """`compile` and `run` of the folder give what `run` gives of the model, but for its LSTM."""
    model = window(3)
    onnx.save(model, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", rows())
    done = run("compile", tmp_path / "m.onnx", "--state", "sn=s", "-o", tmp_path, "--json")
    assert done.code == 0, done.err
    assert check("compile", done.out)["host_segments"] == 0
    folder = tmp_path / "compile" / "m"
    done = run(
        "run", folder, "--input", tmp_path / "x.npy", "--simulate", "none", "-o", tmp_path,
        "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = check("program_run", done.out)
    assert {one["name"]: one["shape"] for one in found["outputs"]} == {
        "y": [COUNT, 4],
        "sn": [3, 8],
    }
    expected = run_network(
        model, rows(), Design.of(TARGET.design), simulate="none", states={"sn": "s"}, energy=None
    ).outputs
    with np.load(found["files"][0]) as outputs:
        for name, values in expected.items():
            np.testing.assert_array_equal(outputs[name], values)
    for more, says in (
        (["--state", "sn=s", "--batch", "2"], "--batch must be 1 with --state, not 2"),
        (["--state", "sn=q"], "--state: the input must be"),
        (["--constant", "s"], "--constant must be NAME=FILE.npy, not 's'"),
    ):
        done = run("compile", tmp_path / "m.onnx", "-o", tmp_path, *more)
        assert (done.code, says in done.err) == (2, True), done.err


def _golden(program: Program) -> tuple[np.ndarray, Any]:
    memory = program.memory.copy()
    return memory, by_golden(program, memory)
