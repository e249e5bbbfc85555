"""Attention between quantisers: scores of codes are products of the block."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.graph import MICROSOFT, Graph
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.attention import attention
from carrysave.compiler.passes.pipeline import lower
from verif.networks.attending import (
    BATCH,
    ROWS,
    WIDTH,
    Coded,
    attend,
    joined,
    projected,
)
from verif.networks.comparing import TARGET, compare, draw, multiplier


def check(coded: Coded, products: list[str], **how: Any) -> Lowered:
    """Compare with onnxruntime and, if it is said how, with numpy; in hardware, too."""
    x = draw(np.random.default_rng(3), coded.shape, coded.kind)
    model = coded.model()
    network = lower(Graph(model), TARGET) if products else Lowered(Graph(model), model)
    assert [one.name for one in network.products] == products
    ours = evaluate(network, {"x": x}, multiplier(True))["y"]
    (theirs,) = session(model.SerializeToString()).run(["y"], {"x": x})
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=3e-6)
    q, k, v = coded.floats(x)
    expected = attend(q, k, v, **how)
    expected = expected if coded.by_head else joined(expected)
    np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=3e-6)
    return network


TWO_HEADS = {"q_num_heads": 2, "kv_num_heads": 2}
CAUSAL = np.tri(ROWS, dtype=bool)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("operator", ["Attention", "MultiHeadAttention"])
@pytest.mark.parametrize("causal", [0, 1])
def test_two_heads(operator: str, causal: int, kind: Any) -> None:
    onnx_own = operator == "Attention"
    values: dict[str, Any] = dict(TWO_HEADS if onnx_own else {"num_heads": 2})
    values["is_causal" if onnx_own else "unidirectional"] = causal
    coded = Coded(kind=kind, opset=23 if onnx_own else 17).add(operator, **values)
    network = check(coded, ["a/scores"], seen=CAUSAL if causal else True)
    # The shares have no codes: their product is one of floats, and said to be.
    assert network.floats == {"MatMul": 1}
    assert operator not in network.host


SHAPES: dict[str, dict[str, Any]] = {
    "groups": {"heads": 4, "key_heads": 2},
    "one_key_head": {"heads": 4, "key_heads": 1},
    "longer_values": {"heads": 2, "value_width": 7},
    "fewer_keys": {"heads": 2, "keys": 3},
    "opset_24": {"heads": 2, "opset": 24},
    "opset_25": {"heads": 2, "opset": 25},
}


@pytest.mark.parametrize("by_head", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, by_head: bool) -> None:
    coded = Coded(**SHAPES[name], by_head=by_head)
    heads: dict[str, Any] = {"q_num_heads": coded.heads, "kv_num_heads": coded.key_heads}
    heads = {} if by_head else heads
    seen = np.tri(ROWS, coded.keys or ROWS, dtype=bool)
    check(coded.add("Attention", **heads, is_causal=1), ["a/scores"], seen=seen)


def masks(name: str) -> tuple[np.ndarray, dict[str, Any]]:
    """Return a mask that the model has, and how numpy reads it."""
    rng = np.random.default_rng(5)
    if name == "bool":
        mask = CAUSAL[::-1, ::-1]
        return mask, {"seen": mask}
    if name == "hidden":
        mask = np.where(np.eye(ROWS, k=1, dtype=bool), np.float32(-np.inf), np.float32(0))
        return mask, {"added": mask}
    mask = rng.normal(size=(2, ROWS, ROWS)).astype(np.float32)
    return mask, {"added": mask}


@pytest.mark.parametrize(
    ("operator", "name"),
    [
        *(("Attention", name) for name in ("bool", "hidden", "of_heads")),
        *(("MultiHeadAttention", name) for name in ("hidden", "of_heads")),
    ],
)
def test_masks(operator: str, name: str) -> None:
    onnx_own = operator == "Attention"
    heads: dict[str, Any] = TWO_HEADS if onnx_own else {"num_heads": 2}
    coded = Coded()
    mask, how = masks(name)
    if not onnx_own:
        mask = np.broadcast_to(mask, (1, 1, ROWS, ROWS)) if mask.ndim == 2 else mask[None]
    given = coded.b.constant(mask, mask.dtype)
    more = [given] if onnx_own else ["", "", given]
    check(coded.add(operator, more, **heads), ["a/scores"], **how)


@pytest.mark.parametrize(
    ("values", "how"),
    [
        ({"scale": 0.25}, {"scale": 0.25}),
        ({"softcap": 0.5}, {"cap": 0.5}),
        ({"qk_matmul_output_mode": 3, "softmax_precision": 1}, {}),
        ({"softcap": 0.5, "scale": 2.0, "is_causal": 1}, {"cap": 0.5, "scale": 2, "seen": CAUSAL}),
    ],
)
def test_numbers(values: dict[str, Any], how: dict[str, Any]) -> None:
    coded = Coded().add("Attention", q_num_heads=2, kv_num_heads=2, **values)
    check(coded, ["a/scores"], **how)


def test_softcap_before_the_mask() -> None:
    coded = Coded()
    mask, how = masks("of_heads")
    given = coded.b.constant(mask)
    coded.add("Attention", [given], q_num_heads=2, kv_num_heads=2, softcap=0.5)
    check(coded, ["a/scores"], cap=0.5, **how)


def _hidden(coded: Coded) -> str:
    """Return a mask that hides all keys from a query."""
    mask = CAUSAL.copy()
    mask[2] = False
    return coded.b.constant(mask, bool)


def _scores(coded: Coded) -> str:
    """Return a mask that is computed."""
    turned = coded.b.node("Transpose", ["k"], "turned", perm=[0, 2, 1])
    return coded.b.node("MatMul", ["q", turned], "mask")


STAYS: dict[str, tuple[str, Callable[[Coded], list[str]], dict[str, Any]]] = {
    "hidden": ("Attention", lambda coded: [_hidden(coded)], {}),
    "computed": ("Attention", lambda coded: [_scores(coded)], {}),
    "mode": ("Attention", lambda coded: [], {"outputs": ["y", "", "", "scores"]}),
    "precision": ("Attention", lambda coded: [], {"softmax_precision": 11}),
    "past": (
        "Attention",
        lambda coded: ["", *(coded.b.constant(np.zeros((BATCH, 2, 3, WIDTH))) for _ in "kv")],
        {"outputs": ["y", "key", "value"]},
    ),
    "lengths": (
        "Attention",
        lambda coded: ["", "", "", coded.b.constant([3, 4], np.int64)],
        {},
    ),
    "bias": ("MultiHeadAttention", lambda coded: [coded.b.constant(np.ones(24))], {}),
    "padding": (
        "MultiHeadAttention",
        lambda coded: ["", coded.b.constant(CAUSAL[2:4], np.int32)],
        {},
    ),
    "filter": ("MultiHeadAttention", lambda coded: [], {"mask_filter_value": -3.0}),
    "fewer_keys": ("MultiHeadAttention", lambda coded: [], {"unidirectional": 1}),
    "zero_scale": ("MultiHeadAttention", lambda coded: [], {"scale": 0.0}),
}


@pytest.mark.parametrize("name", STAYS)
def test_others_stay_on_the_host(name: str) -> None:
    """And are what onnxruntime makes of them."""
    operator, more, values = STAYS[name]
    coded = Coded(opset=24, keys=3 if name == "fewer_keys" else None)
    onnx_own = operator == "Attention"
    heads: dict[str, Any] = TWO_HEADS if onnx_own else {"num_heads": 2}
    coded.add(operator, more(coded), **heads, **values)
    model = coded.model()
    graph = Graph(model)
    assert attention(graph) is graph
    x = draw(np.random.default_rng(3), coded.shape, coded.kind)
    ours = evaluate(Lowered(graph, model), {"x": x}, multiplier(True))["y"]
    (theirs,) = session(model.SerializeToString()).run(["y"], {"x": x})
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=3e-6)


def test_windows_stay_on_the_host() -> None:
    coded = Coded(opset=25)
    coded.add("Attention", q_num_heads=2, kv_num_heads=2, left_window_size=1)
    graph = Graph(coded.model())
    assert attention(graph) is graph


def test_attention_behind_attention() -> None:
    """What follows onnxruntime's operator has sizes only when that one is replaced."""
    coded = Coded()
    coded.add("MultiHeadAttention", outputs=["first"], num_heads=2)
    b = coded.b
    step = [b.constant(0.01), b.constant(128, np.uint8)]
    b.node("QuantizeLinear", ["first", *step], "codes")
    b.node("DequantizeLinear", ["codes", *step], "z")
    b.node("MultiHeadAttention", ["z", "z", "z"], "y", num_heads=2, domain=MICROSOFT)
    x = draw(np.random.default_rng(3), coded.shape, np.uint8)
    network = lower(Graph(coded.model()), TARGET)
    assert [one.name for one in network.products] == ["a/scores", "MultiHeadAttention_y/scores"]
    ours = evaluate(network, {"x": x}, multiplier(True))["y"]
    (theirs,) = session(coded.model().SerializeToString()).run(["y"], {"x": x})
    # Codes between them may differ by one.
    np.testing.assert_allclose(ours, theirs, atol=0.02)


@pytest.mark.parametrize("causal", [0, 1])
def test_between_quantisers(causal: int) -> None:
    """Projections, scores and the last product: codes are onnxruntime's, and are compared."""
    model, x = projected(causal)
    network = lower(Graph(model), TARGET)
    assert len(network.products) == 5
    compare(network, x)
    whole = lower(Graph(model), TARGET, program=True)
    assert len(whole.products) == 4
    assert whole.floats == {"Attention": 1}
