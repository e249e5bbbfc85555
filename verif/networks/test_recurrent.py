"""LSTMs that onnxruntime quantises, on the block, against onnxruntime."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run.compare import Comparison
from verif.networks.comparing import TARGET, multiplier
from verif.networks.graphs import Builder
from verif.support.command import Run
from verif.support.schemas import check

F32 = np.float32
INPUTS, HIDDEN = 6, 5


def layer(options: dict[str, Any]) -> ModelProto:
    """Make a float LSTM, or GRU, of batch x steps x inputs; its output is batch x steps x 2 H."""
    rng = np.random.default_rng(1)
    b = Builder(rng, opset=17)
    options = dict(options)
    use, kind = options.pop("use", ()), options.pop("kind", "LSTM")
    gates = {"LSTM": 4, "GRU": 3}[kind]
    ways = 2 if options.get("direction") == "bidirectional" else 1
    b.node("Transpose", ["x"], "t", perm=[1, 0, 2])
    shapes = (
        (ways, gates * HIDDEN, INPUTS),
        (ways, gates * HIDDEN, HIDDEN),
        (ways, 2 * gates * HIDDEN),
    )
    inputs = ["t", *(b.constant(rng.normal(0, 0.6, shape)) for shape in shapes)]
    inputs.append(b.constant([4, 7, 0], np.int32) if "lengths" in use else "")
    for name in ("h", "c"):
        given = b.constant(rng.normal(size=(ways, 3, HIDDEN))) if name in use else ""
        inputs.append(given)
    inputs.append(b.constant(rng.normal(size=(ways, 3 * HIDDEN))) if "peepholes" in use else "")
    last = ["last_h", "last_c"][: 2 if kind == "LSTM" else 1]
    b.node(kind, inputs[: 8 if kind == "LSTM" else 6], "s", hidden_size=HIDDEN, **options)
    b.nodes[-1].output.extend(last)
    b.node("Transpose", ["s"], "u", perm=[2, 0, 1, 3])
    b.node("Reshape", ["u", b.constant([0, 0, -1], np.int64)], "y")
    model = b.model(("n", "steps", INPUTS), F32, F32, ("n", "steps", ways * HIDDEN))
    for name in last:
        value = helper.make_tensor_value_info(name, 1, (ways, "n", HIDDEN))
        model.graph.output.append(value)
    return model


def quantised(folder: Path, options: dict[str, Any], **how: Any) -> ModelProto:
    onnx.save(layer(options), folder / "f.onnx")
    quantize_dynamic(folder / "f.onnx", folder / "m.onnx", ["LSTM"], **how)
    return onnx.load(folder / "m.onnx")


OPTIONS: dict[str, dict[str, Any]] = {
    "forward": {},
    "reverse": {"direction": "reverse"},
    "both": {"direction": "bidirectional"},
    "states": {"use": ("h", "c")},
    "peepholes": {"use": ("peepholes",)},
    "lengths": {"use": ("lengths",), "direction": "bidirectional"},
    "clip": {"clip": 0.7},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("how", ["tensor", "column", "unsigned"])
def test_as_quantised(tmp_path: Path, name: str, how: str) -> None:
    """Outputs are onnxruntime's but for the functions of the gates."""
    kinds = {
        "tensor": {},
        "column": {"per_channel": True},
        "unsigned": {"weight_type": QuantType.QUInt8},
    }
    model = quantised(tmp_path, OPTIONS[name], **kinds[how])
    assert "DynamicQuantizeLSTM" in {node.op_type for node in model.graph.node}
    network = lower(Graph(model), TARGET)
    ways = 2 if OPTIONS[name].get("direction") == "bidirectional" else 1
    assert len(network.products) == 2 * ways
    x = np.random.default_rng(2).normal(size=(3, 7, INPUTS)).astype(F32)
    comparison = Comparison(network)
    expected = comparison.run({"x": x}, multiplier(True))
    found = evaluate(network, {"x": x}, multiplier(True))
    for one, values in expected.items():
        np.testing.assert_allclose(found[one], values, rtol=0, atol=2e-6, err_msg=one)
    counted = comparison.differences["DynamicQuantizeLSTM", True]
    if comparison.judges:  # onnxruntime's sums saturate on this processor
        assert counted.codes
        assert not counted.differ
        return
    assert counted.codes == 7 * 3 * HIDDEN * ways + 2 * 3 * HIDDEN * ways
    assert counted.most < 100


FLOATS: dict[str, dict[str, Any]] = {
    "LSTM": {"use": ("h", "c", "peepholes"), "direction": "bidirectional"},
    "GRU": {"kind": "GRU", "use": ("h",)},
    "GRU linear": {"kind": "GRU", "linear_before_reset": 1, "direction": "reverse"},
}


@pytest.mark.parametrize("name", FLOATS)
def test_in_floats(name: str) -> None:
    """Weights of all steps' inputs are one job, those of states one a step; floats are near."""
    model = layer(FLOATS[name])
    network = lower(Graph(model), TARGET)
    works: Counter[str] = Counter()

    def multiply(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        works[product.name.removeprefix(f"{name.split()[0]}_s ").split()[0]] += 1
        return multiplier(True)(product, a, b)

    x = np.random.default_rng(2).normal(size=(3, 7, INPUTS)).astype(F32)
    found = evaluate(network, {"x": x}, multiply)
    ways = 1 + (FLOATS[name].get("direction") == "bidirectional")
    resets = {"reset": 7} if name == "GRU" else {}
    assert works == {"input": ways, "recurrence": 7 * ways} | resets
    names = [one.name for one in model.graph.output]
    expected = session(model.SerializeToString()).run(names, {"x": x})
    for one, values in zip(names, expected, strict=True):
        np.testing.assert_allclose(found[one], values, atol=0.03, err_msg=one)
    assert list(network.quantised_on_reading.values()) == [name.split()[0]]


@pytest.mark.prove
@pytest.mark.filterwarnings("ignore")
def test_on_the_simulated_block(run: Run, tmp_path: Path) -> None:
    """Figures count every step."""
    model = quantised(tmp_path, {})
    del model.graph.output[1:]
    onnx.save(model, tmp_path / "m.onnx")
    x = np.random.default_rng(3).normal(size=(4, 3, INPUTS)).astype(F32)
    np.save(tmp_path / "x.npy", x)
    found = run("run", "m.onnx", "--input", "x.npy", "-p", "engine=systolic_os(m=2,n=4)", "-p",
                "data_width=32", "--energy", "none", "--simulate", "all", "--batch", 2,
                "--json")  # fmt: skip
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["simulation_equal"] is True
    inputs, recurrence = facts["layers"]
    assert inputs["macs"] == 3 * 2 * INPUTS * 4 * HIDDEN
    assert recurrence["macs"] == 3 * 2 * HIDDEN * 4 * HIDDEN
    assert len(recurrence["shapes"]) == 3
    assert facts["outputs"][0]["most"] < 1e-5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("activations", "activations must be Sigmoid, Tanh, Tanh, not relu, tanh, tanh"),
        ("scale", "W's scales must be finite and greater than 0"),
        ("hidden", "W must be 1 x K x 16, not (1, 6, 20)"),
    ],
)
def test_refused(run: Run, tmp_path: Path, change: str, says: str) -> None:
    model = quantised(tmp_path, {})
    (node,) = (one for one in model.graph.node if one.op_type == "DynamicQuantizeLSTM")
    if change == "activations":
        node.attribute.append(helper.make_attribute("activations", ["Relu", "Tanh", "Tanh"]))
    if change == "hidden":
        next(one for one in node.attribute if one.name == "hidden_size").i = 4
    if change == "scale":
        tensor = next(one for one in model.graph.initializer if one.name == node.input[8])
        values = onnx.numpy_helper.to_array(tensor) * np.nan
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    onnx.save(model, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros((3, 7, INPUTS), F32))
    found = run("run", "m.onnx", "--input", "x.npy", "--energy", "none", "--simulate", "none")
    assert found.code == 2
    assert says in found.err
    assert found.out == ""
