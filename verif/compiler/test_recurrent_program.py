"""Recurrent layers in programs: products are jobs, and gates are steps on floats."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.passes.quantise_recurrent import quantise_recurrent
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.reasons import between
from carrysave.compiler.run.network import run
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.networks.graphs import judged
from verif.networks.test_recurrent import HIDDEN, INPUTS, OPTIONS, layer

TARGET = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)"}))
STEPS, BATCH = 7, 3
F32 = np.float32
MORE = {**OPTIONS, "coupled": {"input_forget": 1}} | {
    f"{name} {order}": {"kind": "GRU", "linear_before_reset": order, **OPTIONS[name]}
    for name, order in (
        ("forward", 0),
        ("reverse", 1),
        ("both", 0),
        ("both", 1),
        ("states", 0),
        ("states", 1),
        ("clip", 1),
    )
}


def network(options: dict[str, Any]) -> onnx.ModelProto:
    """Return a float LSTM, a quantiser, and a product of codes."""
    model = layer(options)
    del model.graph.output[:]
    rng = np.random.default_rng(4)
    columns = HIDDEN * (2 if options.get("direction") == "bidirectional" else 1)
    constants = {
        "scale": F32(1 / 100),
        "zero": np.uint8(120),
        "w_scale": F32(0.01),
        "w_zero": np.int8(0),
        "w": judged(rng.integers(-128, 128, (columns, 4))).astype(np.int8),
        "y_scale": F32(0.03),
    }
    for name, values in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(values), name))
    model.graph.node.append(helper.make_node("QuantizeLinear", ["y", "scale", "zero"], ["q"]))
    model.graph.node.append(
        helper.make_node(
            "QLinearMatMul",
            ["q", "scale", "zero", "w", "w_scale", "w_zero", "y_scale", "zero"],
            ["z"],
        )
    )
    model.graph.output.append(helper.make_tensor_value_info("z", 2, None))
    return model


def lowered(options: dict[str, Any]) -> Lowered:
    return lower(Graph(network(options)), TARGET, until=PASSES[-1].name)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(BATCH, STEPS, INPUTS)).astype(F32)}


def compiled(options: dict[str, Any]) -> Program:
    return compile_network(lowered(options), TARGET, inputs(0))


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", [name for name in MORE if name != "lengths"])
def test_layers_are_whole(name: str) -> None:
    """No host segment; outputs are the evaluator's to the bit, and near those of floats."""
    program = compiled(MORE[name])
    assert not program.host
    assert not between(lowered(MORE[name]), TARGET)
    runners.check(program, inputs(1))
    memory, runner = runners.on_golden(program)
    ours = run(program, inputs(1), memory, runner)["z"].astype(int)
    session = onnxruntime.InferenceSession(network(MORE[name]).SerializeToString())
    (theirs,) = session.run(None, inputs(1))
    apart = np.abs(ours - theirs.astype(int))
    assert np.ptp(theirs) > 20
    assert apart.max() <= 4
    assert apart.mean() < 0.8


def test_zeros_have_no_range() -> None:
    """Activations that are all zero, as those before the first step."""
    program = compiled({})
    runners.check(program, {"x": np.zeros((BATCH, STEPS, INPUTS), F32)})


def test_samples_of_other_lengths_stay_with_the_host() -> None:
    own = lowered(MORE["lengths"])
    (reason,) = between(own, TARGET)
    assert reason == "DynamicQuantizeLSTM 'LSTM_s': all samples must have as many steps"
    program = compile_network(own, TARGET, inputs(0))
    runners.check(program, inputs(3))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_only_constant_weights_become_codes(kind: str) -> None:
    """Columns of zeros, too."""
    model = network({"kind": kind})
    assert quantise_recurrent(Graph(model)).proto is not model
    name = next(node.input[1] for node in model.graph.node if node.op_type == kind)
    for one in model.graph.initializer:
        if one.name == name:
            values = onnx.numpy_helper.to_array(one).copy()
            values[:, 3] = 0
            one.CopyFrom(onnx.numpy_helper.from_array(values, name))
    runners.check(
        compile_network(lower(Graph(model), TARGET, until=PASSES[-1].name), TARGET, inputs(0)),
        inputs(0),
    )
    other = onnx.ModelProto()
    other.CopyFrom(model)
    for node in other.graph.node:
        if node.op_type == kind:
            node.attribute.append(helper.make_attribute("layout", 1))
    graph = Graph(other)
    assert quantise_recurrent(graph) is graph
