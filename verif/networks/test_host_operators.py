"""Operators between products, on the host: all that ONNX has, by its own cases and onnxruntime."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.refusals import check_host
from verif.networks.comparing import draw, lowered, multiplier
from verif.networks.graphs import Builder

WITH_GRAPHS = {"If", "Loop", "Scan", "SequenceMap"}
DRAWN = {"Bernoulli", "RandomUniformLike"}
"""Operators of random numbers, which cannot be those of the case."""
NOT_A_NUMBER = {
    "test_cast_FLOAT_to_BFLOAT16",
    "test_castlike_FLOAT_to_BFLOAT16",
    "test_castlike_FLOAT_to_BFLOAT16_expanded",
}
"""Cases with other bits of a NaN."""


def test_unknown() -> None:
    """An operator that ONNX has not is named."""
    graph = helper.make_graph([helper.make_node("Gelus", ["x"], ["y"])], "none", [], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    with pytest.raises(ValueError, match="Gelus 'y': the host has no such operator"):
        check_host(Graph(model))


@pytest.mark.prove
@pytest.mark.filterwarnings("ignore")
def test_cases_of_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outputs of ONNX's own cases, as its evaluator runs them or as we do."""
    monkeypatch.setattr("carrysave.compiler.graph.host_runtime.installed", lambda name: False)
    done: Counter[str] = Counter()
    for case in collect_testcases(None):
        assert case.model is not None
        graph = case.model.graph
        kinds = {node.op_type for node in graph.node}
        foreign = any(node.domain for node in graph.node)
        if foreign or kinds & (WITH_GRAPHS | DRAWN) or case.name in NOT_A_NUMBER:
            continue
        network = Lowered(Graph(case.model), case.model)
        for inputs, outputs in case.data_sets or ():
            names = [one.name for one in graph.input]
            given = dict(zip(names, map(_array, inputs), strict=True))
            found = evaluate(network, given, multiplier(True))
            for one, expected in zip(graph.output, map(_array, outputs), strict=True):
                _check(found[one.name], expected, case.name)
        done.update(kinds)
    assert len(done) > 180
    for name in (
        "Gelu",
        "RMSNormalization",
        "Attention",
        "RotaryEmbedding",
        "GroupNormalization",
        "QuantizeLinear",
        "DequantizeLinear",
        "DynamicQuantizeLinear",
    ):
        assert done[name]


def _array(given: Any) -> Any:
    return numpy_helper.to_array(given) if isinstance(given, TensorProto) else given


def _check(found: Any, expected: Any, name: str) -> None:
    if not isinstance(expected, np.ndarray):
        return
    assert found.dtype == expected.dtype or expected.dtype.kind in "OSU", name
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5, err_msg=name)
    elif expected.dtype.kind == "V":
        kind = f"u{expected.itemsize}"
        np.testing.assert_array_equal(found.view(kind), expected.view(kind), name)
    else:
        np.testing.assert_array_equal(found, expected, name)


def test_of_transformers() -> None:
    """Behind a product, whose type ONNX does not know: as onnxruntime has them."""
    rng = np.random.default_rng(1)
    b = Builder(rng, opset=23)
    scale, zero = b.scale(), b.zero(np.uint8)
    b.node("MatMulInteger", ["x", b.judged_weights((8, 16)), zero], "sums")
    b.node("Cast", ["sums"], "floats", to=1)
    now = b.node("Mul", ["floats", scale], "a")
    now = b.node("Gelu", [now], "b", approximate="tanh")
    ends = [b.constant(rng.normal(size=16)), b.constant(rng.normal(size=16))]
    now = b.node("LayerNormalization", [now, *ends], "c")
    now = b.node("RMSNormalization", [now, ends[0]], "d")
    now = b.node("Gelu", [now], "e")
    now = b.node("Attention", [now, now, now], "f", q_num_heads=4, kv_num_heads=4)
    now = b.node("HardSwish", [now], "g")
    now = b.node("Mish", [now], "h")
    b.node("Softmax", [now], "y")
    x = draw(rng, (2, 5, 8), np.uint8)
    model = b.model(x.shape, np.uint8, np.float32, (2, 5, 16))
    network = lowered(b, x.shape, np.uint8, np.float32)
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    found = evaluate(network, {"x": x}, multiplier(True))["y"]
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "shapes", "attributes"),
    [
        ("GlobalLpPool", [(2, 3, 4, 5)], {}),
        ("GlobalLpPool", [(2, 3, 7)], {"p": 3}),
        ("GlobalMaxPool", [(2, 3, 7)], {}),
        ("MaxRoiPool", [(2, 3, 9, 8), (6, 5)], {"pooled_shape": [2, 3], "spatial_scale": 0.5}),
        ("MaxRoiPool", [(2, 3, 9, 8), (6, 5)], {"pooled_shape": [4, 4]}),
    ],
)
def test_of_our_own(kind: str, shapes: list[Any], attributes: dict[str, Any]) -> None:
    """Those that ONNX's evaluator has not, or not right, are onnxruntime's."""
    rng = np.random.default_rng(2)
    b = Builder(rng, opset=11)
    inputs = ["x"]
    if kind == "MaxRoiPool":
        # Some regions are turned around, or lie outside.
        regions = rng.integers(-3, 20, shapes[1]).astype(np.float32)
        regions[:, 0] = rng.integers(0, 2, len(regions))
        regions[0, 1:] = 1, 2, 6, 7
        inputs.append(b.constant(regions))
    b.node(kind, inputs, "y", **attributes)
    model = b.model(shapes[0], np.float32, np.float32)
    x = rng.normal(size=shapes[0]).astype(np.float32)
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    found = evaluate(Lowered(Graph(model), model), {"x": x}, multiplier(True))["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_draws() -> None:
    """Classes come as often as their weights say, again with the same seed."""
    b = Builder(np.random.default_rng(3), opset=11)
    b.node("Multinomial", ["x"], "y", sample_size=4000, seed=3.0, dtype=7)
    model = b.model((2, 3), np.float32, np.int64)
    weights = np.array([[0.5, 0.25, 0.25], [0, 0.9, 0.1]], np.float32)
    with np.errstate(divide="ignore"):
        x = np.log(weights)
    network = Lowered(Graph(model), model)
    first, again = (evaluate(network, {"x": x}, multiplier(True))["y"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (2, 4000)
    assert first.dtype == np.int64
    for drawn, own in zip(first, weights, strict=True):
        shares = np.bincount(drawn, minlength=3) / 4000
        np.testing.assert_allclose(shares, own, atol=0.03)
        assert not shares[own == 0].any()


def test_scatter() -> None:
    b = Builder(np.random.default_rng(4), opset=9)
    places, values = b.constant([[1, 0]], np.int64), b.constant([[5.0, 6.0]])
    b.node("Scatter", ["x", places, values], "y", axis=1)
    model = b.model((1, 3), np.float32, np.float32)
    network = Lowered(Graph(model), model)
    found = evaluate(network, {"x": np.zeros((1, 3), np.float32)}, multiplier(True))["y"]
    np.testing.assert_array_equal(found, [[6, 5, 0]])
