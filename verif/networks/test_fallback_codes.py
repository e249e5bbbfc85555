"""Products of codes that fall back on onnxruntime: exact, where its kernels would saturate."""

from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, helper

from carrysave.compiler.graph import fallback
from carrysave.compiler.graph.fallback import Fallback, check_graphs
from carrysave.compiler.graph.graph import MICROSOFT
from carrysave.compiler.graph.reference_runtime import session

ONE = np.float32(1)
FULL = np.full((16, 64), 255, np.uint8)
HIGH = np.full((64, 16), 127, np.int8)
"""Sums of two products by these leave 16 bits."""
OPSETS = {"": 17, MICROSOFT: 1}

Case = tuple[list[Any], np.ndarray]


def _cases() -> dict[str, Case]:
    """Return inputs of operators, and exact results."""
    rng = np.random.default_rng(1)
    weights = np.where(rng.integers(0, 4, HIGH.shape) > 0, HIGH, -128).astype(np.int8)
    zero, signed = np.uint8(3), np.int8(-7)
    whole = (FULL.astype(np.int64) - 3) @ (weights.astype(np.int64) + 7)
    plain = (FULL.astype(np.int64) - 3) @ weights.astype(np.int64)
    step = np.float32(2.0**-13)
    rounded = np.clip(np.rint(whole * 2.0**-13) + 100, 0, 255).astype(np.uint8)
    image, filters = FULL.reshape(1, 64, 4, 4), weights.T.reshape(16, 64, 1, 1)
    convolved = (252 * (filters.astype(np.int64) + 7)).sum(axis=1)[None] * np.ones((4, 4), int)
    quantised = np.clip(np.rint(convolved * 2.0**-13) + 100, 0, 255).astype(np.uint8)
    low, high = np.full_like(FULL, -128, np.int8), (weights.astype(np.int16) + 128).astype(np.uint8)
    turned = -121 * (high.astype(np.int64) - 3).sum(axis=0)
    linear = [FULL, step, zero, weights, ONE, signed, ONE, np.uint8(100)]
    return {
        "MatMulInteger": ([FULL, weights, zero, signed], whole.astype(np.int32)),
        "MatMulInteger/no zero": ([FULL, weights, zero], plain.astype(np.int32)),
        "ConvInteger": ([image, filters, zero, signed], convolved.astype(np.int32)),
        "MatMulInteger/signed": (
            [low, high, signed, zero],
            np.broadcast_to(turned, (16, 16)).astype(np.int32),
        ),
        "ConvInteger/signed": (
            [low.reshape(image.shape), high.T.reshape(filters.shape), signed, zero],
            np.broadcast_to(turned[None, :, None, None], (1, 16, 4, 4)).astype(np.int32),
        ),
        "QLinearMatMul": (linear, rounded),
        "QLinearConv": (
            [image, step, zero, filters, ONE, signed, ONE, np.uint8(100)],
            quantised,
        ),
        "QGemm": (
            [FULL, step, zero, weights, ONE, signed, None, ONE, np.uint8(100)],
            rounded,
        ),
        "MatMulIntegerToFloat": (
            [FULL, weights, ONE, ONE, zero, signed],
            whole.astype(np.float32),
        ),
        "MatMulIntegerToFloat/no zero": (
            [FULL, weights, ONE, ONE, zero],
            plain.astype(np.float32),
        ),
        # Rows of 0 and 255 have a scale of 1 and a zero point of 0.
        "DynamicQuantizeMatMul": (
            [_rows(), weights, ONE, signed],
            (_rows().astype(np.int64) @ (weights.astype(np.int64) + 7)).astype(np.float32),
        ),
        "DynamicQuantizeMatMul/no zero": (
            [_rows(), weights, ONE],
            (_rows().astype(np.int64) @ weights).astype(np.float32),
        ),
    }


def _rows() -> np.ndarray:
    rows = FULL.astype(np.float32)
    rows[:, :5] = 0
    return rows


CASES = _cases()


def _node(name: str, given: list[Any], **more: Any) -> NodeProto:
    operator = name.partition("/")[0]
    standard = operator in ("MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv")
    names = ["" if one is None else f"i{at}" for at, one in enumerate(given)]
    return helper.make_node(
        operator, names, ["y"], name, domain="" if standard else MICROSOFT, **more
    )


@pytest.mark.parametrize("name", CASES)
def test_exact(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a processor with VNNI; and no kernel gets an unsigned and a signed operand."""
    given, right = CASES[name]
    kinds: list[set[str]] = []

    def seen(model: bytes, **more: Any) -> Any:
        found = session(model, **more)
        inner = found.run

        def run(names: Any, values: Any) -> Any:
            kinds.append({str(one.dtype) for one in values.values() if one.itemsize == 1})
            return inner(names, values)

        monkeypatch.setattr(found, "run", run)
        return found

    monkeypatch.setattr(fallback, "session", seen)
    own = Fallback(_node(name, given), "", OPSETS)
    arrays = [None if one is None else np.asarray(one) for one in given]
    for _ in range(2):
        (found,) = own.run(arrays)
        np.testing.assert_array_equal(found, right)
    assert kinds == [{"uint8"}] * 2


def test_signed_operands_and_shared_tensors_stay() -> None:
    """Of two signed operands no kernel saturates; a tensor that is twice an operand is kept."""
    a = np.full((64, 64), -128, np.int8)
    node = helper.make_node("MatMulInteger", ["a", "a"], ["y"])
    (found,) = Fallback(node, "", OPSETS).run([a, a])
    np.testing.assert_array_equal(found, np.full((64, 64), 64 << 14))
    made, values = fallback._unsigned(node, {"a": a})
    assert made == node
    assert list(values) == ["a"]


def _layers() -> dict[str, tuple[NodeProto, list[Any]]]:
    """Layers with more than a product, by weights so small that no kernel saturates."""
    rng = np.random.default_rng(2)
    x, step = rng.normal(size=(5, 2, 8)).astype(np.float32), np.full(1, 0.01, np.float32)

    def codes(*shape: int) -> np.ndarray:
        return rng.integers(-60, 61, shape).astype(np.int8)

    zero = np.array([5], np.int8)
    lstm = [x, codes(1, 8, 24), codes(1, 6, 24), None, None, None, None, None, step, zero, step,
            zero]  # fmt: skip
    bytes_ = rng.integers(0, 256, (2, 5, 8)).astype(np.uint8)
    attention = [
        bytes_,
        codes(8, 24),
        np.zeros(24, np.float32),
        step[0],
        step[0],
        None,
        np.uint8(128),
        zero[0],
    ]
    cases: dict[str, tuple[list[Any], dict[str, Any]]] = {
        "DynamicQuantizeLSTM": (lstm, {"hidden_size": 6}),
        "QAttention": (attention, {"num_heads": 2}),
    }
    return {
        name: (
            _node(name, given, **more),
            [None if one is None else np.asarray(one) for one in given],
        )
        for name, (given, more) in cases.items()
    }


LAYERS = _layers()


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    node, given = LAYERS[name]
    (found,) = Fallback(node, "", OPSETS).run(given)
    monkeypatch.setattr(fallback, "_SIGNED", {})
    (plain,) = Fallback(node, "", OPSETS).run(given)
    np.testing.assert_array_equal(found, plain)


def test_floats_of_subgraphs_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product between quantisers in a branch is one of floats: no kernel of codes takes it."""
    asked: list[Any] = []

    def seen(model: bytes, **more: Any) -> Any:
        asked.append(more["codes"])
        return session(model, **more)

    monkeypatch.setattr(fallback, "session", seen)
    steps = [
        helper.make_node("DequantizeLinear", ["a", "one"], ["x"]),
        helper.make_node("DequantizeLinear", ["b", "one"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("QuantizeLinear", ["product", "large", "zero"], ["c"]),
    ]
    branch = helper.make_graph(steps, "branch", [], [helper.make_tensor_value_info("c", 2, None)])
    node = helper.make_node("If", ["p"], ["y"], "If", then_branch=branch, else_branch=branch)
    given = {
        "p": np.bool_(True),
        "a": FULL,
        "b": HIGH,
        "one": ONE,
        "large": np.float32(8192),
        "zero": np.uint8(0),
    }
    one = Fallback(node, "", OPSETS)
    (found,) = one.run([np.asarray(given[name]) for name in one.inputs])
    np.testing.assert_array_equal(found, np.full((16, 16), 253))  # 64 x 255 x 127 / 8192
    assert asked == [False]


def test_every_operator_is_tried() -> None:
    assert set(fallback._SIGNED) == {name.partition("/")[0] for name in (*CASES, *LAYERS)}


@pytest.mark.parametrize("operator", fallback._SIGNED)
def test_in_subgraphs_refused(operator: str) -> None:
    inner = helper.make_node(operator, ["a", "b"], ["c"], "inner")
    branch = helper.make_graph([inner], "branch", [], [helper.make_tensor_value_info("c", 6, None)])
    outer = helper.make_node("If", ["p"], ["y"], "If_a", then_branch=branch, else_branch=branch)
    around = helper.make_graph([outer], "around", [], [helper.make_tensor_value_info("y", 6, None)])
    twice = helper.make_node("If", ["p"], ["z"], "If_b", then_branch=around, else_branch=around)
    for node in (outer, twice):
        with pytest.raises(ValueError, match=f"{operator} 'inner': in a subgraph"):
            check_graphs(node)
