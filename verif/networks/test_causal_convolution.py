"""Causal convolutions with a state, of codes: against ONNX's evaluator and onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.passes.states import states
from carrysave.compiler.run.compare import Comparison
from verif.networks.comparing import TARGET, draw, multiplier
from verif.networks.graphs import Builder

CHANNELS, LENGTH = 3, 7


def model(
    *,
    length: int = LENGTH,
    taps: int = 4,
    past: str = "",
    bias: bool = False,
    scales: int = 1,
    state: bool = True,
    activation: str = "none",
) -> onnx.ModelProto:
    """Make one whose past state is of `codes` as the input, of others, or of `floats`."""
    b = Builder(np.random.default_rng(7), opset=27)
    how = [b.constant(0.25), b.constant(7, np.uint8)]
    ends = [b.constant([one], np.int64) for one in (0, taps - 1, taps - 1 + length, 2)]
    b.node("Slice", ["x", *ends[1:]], "new")
    b.node("DequantizeLinear", ["new", *how], "f")
    weights = b.constant(b.rng.integers(-128, 128, (CHANNELS, 1, taps)), np.int8)
    size = [CHANNELS] * (scales > 1)
    given = [weights, b.constant(np.full(size, 0.5)), b.constant(np.zeros(size), np.int8)]
    b.node("DequantizeLinear", given, "w", axis=0)
    inputs = ["f", "w", b.constant(np.arange(CHANNELS)) if bias else ""]
    if past:
        b.node("Slice", ["x", *ends[:2], ends[3]], "before")
        zero = b.constant(9 if past == "zero" else 7, np.uint8)
        step = b.constant(0.5) if past == "step" else how[0]
        inputs.append(b.node("DequantizeLinear", ["before", step, zero], "past"))
    if past == "floats":
        inputs[-1] = b.node("Relu", ["past"], "floats")
    outputs = ["y", "s"]
    node = helper.make_node("CausalConvWithState", inputs, outputs, "a", activation=activation)
    b.nodes.append(node)
    made = b.model((2, CHANNELS, taps - 1 + length), np.uint8, np.float32, list("abc"))
    if state:
        made.graph.output.append(helper.make_tensor_value_info("s", 1, list("def")))
    return made


MODELS: dict[str, dict[str, Any]] = {
    "none": {},
    "no state": {"state": False},
    "bias": {"bias": True},
    "past": {"past": "codes"},
    "scales": {"scales": CHANNELS, "past": "codes", "bias": True},
    "shorter than its past": {"length": 2},
    "token": {"length": 1, "past": "codes"},
    "silu": {"activation": "silu", "past": "codes"},
    "swish": {"activation": "swish"},
    "one tap": {"taps": 1, "state": False},
}


@pytest.mark.filterwarnings("ignore:overflow")  # of ONNX's own sigmoid
@pytest.mark.parametrize("name", MODELS)
def test_is_a_convolution(name: str) -> None:
    """Bit for bit, but for the functions of an activation."""
    proto = model(**MODELS[name])
    network = lower(Graph(proto), TARGET)
    assert [one.name for one in network.products] == ["a/convolution"]
    assert not network.floats
    shape = [one.dim_value for one in proto.graph.input[0].type.tensor_type.shape.dim]
    x = draw(np.random.default_rng(1), shape, np.uint8)
    found = evaluate(network, {"x": x}, multiplier(True))
    expected = ReferenceEvaluator(proto).run(None, {"x": x})
    for one, values in zip(("y", "s"), expected, strict=False):
        assert found[one].shape == values.shape
        far = 2e-6 * ("activation" in MODELS[name])
        np.testing.assert_allclose(found[one], values, rtol=far, atol=far)
    comparison = Comparison(network)
    comparison.run({"x": x}, multiplier(True))
    assert not comparison.causes()


@pytest.mark.parametrize("past", ["zero", "step", "floats"])
@pytest.mark.parametrize("length", [1, 3, LENGTH])
def test_another_past_state_is_added(past: str, length: int) -> None:
    """What it gives to the first results: a product of its own codes, or one of floats."""
    proto = model(past=past, length=length, bias=True)
    network = lower(Graph(proto), TARGET)
    more = [] if past == "floats" else ["a/of past"]
    assert [one.name for one in network.products] == ["a/convolution", *more]
    assert network.floats == ({} if more else {"Conv": 1})
    x = draw(np.random.default_rng(1), (2, CHANNELS, 3 + length), np.uint8)
    found = evaluate(network, {"x": x}, multiplier(True))
    for one, values in zip("ys", ReferenceEvaluator(proto).run(None, {"x": x}), strict=True):
        np.testing.assert_array_equal(found[one], values)


@pytest.mark.filterwarnings("ignore:overflow")
def test_another_past_state_is_added_before_the_activation() -> None:
    proto = model(past="zero", activation="silu")
    x = draw(np.random.default_rng(1), (2, CHANNELS, 3 + LENGTH), np.uint8)
    found = evaluate(lower(Graph(proto), TARGET), {"x": x}, multiplier(True))
    for values in list(ReferenceEvaluator(proto).run(None, {"x": x}))[:1]:
        np.testing.assert_allclose(found["y"], np.asarray(values), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    "changed", [{"taps": 1}, {"taps": 1, "state": False, "past": "floats"}], ids=str
)
def test_others_stay_on_the_host(changed: dict[str, Any]) -> None:
    proto = model(**changed)
    graph = Graph(proto)
    assert states(graph) is graph
    assert Lowered(graph, proto).floats == {"CausalConvWithState": 1}


def test_weights_of_floats_stay_on_the_host() -> None:
    proto = model()
    (node,) = (one for one in proto.graph.node if one.op_type == "CausalConvWithState")
    node.input[1] = "floats"
    weights = np.ones((CHANNELS, 1, 4), np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "floats"))
    graph = Graph(proto)
    assert states(graph) is graph
