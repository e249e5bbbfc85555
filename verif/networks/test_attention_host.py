"""Attention of onnxruntime on the host, against numpy: attributes and inputs do their parts."""

from typing import Any

import numpy as np
import pytest
from onnx import helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.host_versions import refusal
from carrysave.compiler.graph.host_work import operations
from carrysave.compiler.lowered.evaluate import evaluate, no_product
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.refusals import RefusedError, check_host
from verif.networks.attending import BATCH, ROWS, WIDTH, attend, joined, rotated, split


def node_model(
    kind: str, given: dict[str, np.ndarray | None], outputs: list[str], **attributes: Any
) -> Lowered:
    """Make a model of one node of onnxruntime; an input of None is left out."""
    inputs = [name if array is not None else "" for name, array in given.items()]
    node = helper.make_node(kind, inputs, outputs, "a", domain="com.microsoft", **attributes)
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for name, one in given.items()
        if one is not None
    ]
    made = [helper.make_tensor_value_info(name, 1, None) for name in outputs if name]
    graph = helper.make_graph([node], "attention", values, made)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return Lowered(Graph(model), model)


def run(
    kind: str, given: dict[str, np.ndarray | None], outputs: list[str], **attributes: Any
) -> list[np.ndarray]:
    network = node_model(kind, given, outputs, **attributes)
    check_host(network.graph)
    made = evaluate(
        network, {name: one for name, one in given.items() if one is not None}, no_product
    )
    return [made[name] for name in outputs]


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


CAUSAL = np.tri(ROWS, dtype=bool)
MULTI = ["plain", "scale", "unidirectional", "bias", "padding", "filter", "added", "past"]


@pytest.mark.parametrize("name", MULTI)
def test_multi_head(name: str) -> None:
    rng = np.random.default_rng(MULTI.index(name))
    heads = 3
    q, k, v = (floats(rng, BATCH, ROWS, heads * WIDTH) for _ in range(3))
    given: dict[str, np.ndarray | None] = {"query": q, "key": k, "value": v}
    given |= dict.fromkeys(("bias", "mask", "added", "past_key", "past_value"))
    values: dict[str, Any] = {"num_heads": heads}
    how: dict[str, Any] = {}
    outputs = ["y"]
    if name == "scale":
        values["scale"] = how["scale"] = 0.3
    elif name == "unidirectional":
        values["unidirectional"], how["seen"] = 1, CAUSAL
    elif name == "bias":
        bias = given["bias"] = floats(rng, 3 * heads * WIDTH)
        q, k, v = (one + part for one, part in zip((q, k, v), np.split(bias, 3), strict=True))
    elif name in ("padding", "filter"):
        mask = given["mask"] = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)
        filtered = -10000.0
        if name == "filter":
            values["mask_filter_value"] = filtered = -1.5
        how["added"] = filtered * (1 - mask)[:, None, None]
    elif name == "added":
        given["added"] = how["added"] = floats(rng, 1, heads, ROWS, ROWS)
    left, keys, kept = (split(one, heads) for one in (q, k, v))
    if name == "past":
        past = floats(rng, BATCH, heads, 2, WIDTH), floats(rng, BATCH, heads, 2, WIDTH)
        given["past_key"], given["past_value"] = past
        keys, kept = (np.concatenate(one, axis=2) for one in zip(past, (keys, kept), strict=True))
        outputs += ["key", "value"]
    y, *present = run("MultiHeadAttention", given, outputs, **values)
    close(y, joined(attend(left, keys, kept, **how)))
    for ours, theirs in zip(present, (keys, kept), strict=False):
        np.testing.assert_array_equal(ours, theirs)


GROUPED: dict[str, dict[str, Any]] = {
    "plain": {},
    "one": {"kv_num_heads": 1},
    "scale": {"scale": 0.7},
    "softcap": {"softcap": 0.5},
    "window": {"local_window_size": 2},
    "smooth": {"smooth_softmax": 1},
    "sink": {},
    "added": {},
    "rotary": {"do_rotary": 1},
    "interleaved": {"do_rotary": 1, "rotary_interleaved": 1},
    "positions": {"do_rotary": 1},
    "past": {},
    "past_rotary": {"do_rotary": 1},
    "past_window": {"local_window_size": 3},
    "packed": {},
}


@pytest.mark.parametrize("name", GROUPED)
def test_group_query(name: str) -> None:
    rng = np.random.default_rng(list(GROUPED).index(name))
    values: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2, **GROUPED[name]}
    heads, width = (values["num_heads"], values["kv_num_heads"]), 16  # rotated, by 16
    past = 3 if name.startswith("past") or name == "positions" else 0
    rows = 1 if name in ("past_rotary", "positions") else ROWS
    batch = 1 if past and rows > 1 else BATCH
    q, k, v = (floats(rng, batch, rows, count * width) for count in (heads[0], *[heads[1]] * 2))
    total = past + rows
    before = [floats(rng, batch, heads[1], past, width) for _ in "kv"]
    given: dict[str, np.ndarray | None] = {"query": q, "key": k, "value": v}
    if name == "packed":
        given = {"query": np.concatenate([q, k, v], axis=-1), "key": None, "value": None}
    given |= dict(zip(("past_key", "past_value"), before if past else (None, None), strict=True))
    given["seqlens_k"] = np.full(batch, total - 1, np.int32)
    given["total"] = np.array(total, np.int32)
    given |= dict.fromkeys(("cos", "sin", "positions", "added", "sink"))
    left, keys, kept = (
        split(one, count) for one, count in zip((q, k, v), (heads[0], *[heads[1]] * 2), strict=True)
    )
    if values.get("do_rotary"):
        angles = rng.uniform(0, 6, (16, width // 2))
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        given |= {"cos": cos, "sin": sin}
        places = np.broadcast_to(past + np.arange(rows), (batch, rows))
        if name == "positions":
            places = np.array([[4], [7]])
            given["positions"] = places.astype(np.int64)
        turn = values.get("rotary_interleaved", 0)
        left, keys = (rotated(one, cos, sin, places, turn) for one in (left, keys))
    keys, kept = (np.concatenate(one, axis=2) for one in zip(before, (keys, kept), strict=True))
    place, column = past + np.arange(rows)[:, None], np.arange(total)
    seen = column <= place
    if "local_window_size" in values:
        seen = seen & (column > place - values["local_window_size"])
    how: dict[str, Any] = {"cap": values.get("softcap", 0), "scale": values.get("scale", 0)}
    if name == "smooth":
        how["sink"] = np.zeros(heads[0])
    if name == "sink":
        given["sink"] = how["sink"] = floats(rng, heads[0])
    if name == "added":
        given["added"] = how["added"] = floats(rng, 1, heads[0], rows, total)
    y, *present = run("GroupQueryAttention", given, ["y", "key", "value"], **values)
    close(y, joined(attend(left, keys, kept, seen=seen, **how)))
    for ours, theirs in zip(present, (keys, kept), strict=True):
        close(ours, theirs)


GROUP_INPUTS = (
    *("query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length"),
    *("cos_cache", "sin_cache", "position_ids", "attention_bias", "head_sink", "k_scale"),
    *("v_scale", "q_norm_weight", "k_norm_weight", "query_seqlens"),
)


@pytest.mark.parametrize(
    ("kind", "inputs", "values", "message"),
    [
        ("MultiHeadAttention", "abcdefghi", {}, "its input past_sequence_length is not supported"),
        ("MultiHeadAttention", ["a", "b", "c", *[""] * 6, "i"], {}, "its input cache_indirection"),
        ("MultiHeadAttention", "abcdefghijk", {}, "its input past_sequence_length"),
        ("MultiHeadAttention", ["a", *[""] * 9, "k"], {}, "at most 10 inputs, not 11"),
        ("MultiHeadAttention", "abc", {"window": 3}, "its attribute window is not supported"),
        ("GroupQueryAttention", "abc", {"causal": 0}, "causal must be 1, not 0"),
        ("GroupQueryAttention", "abc", {"qk_output": 1}, "qk_output must be 0, not 1"),
        ("GroupQueryAttention", "abc", {"k_quant_type": "PER_TENSOR"}, "k_quant_type must be NONE"),
        ("GroupQueryAttention", "abc", {"sliding_window_cache": 1}, "sliding_window_cache must"),
        ("GroupQueryAttention", "abc", {"kv_cache_bit_width": 4}, "kv_cache_bit_width must be 0"),
        ("GroupQueryAttention", "abc", {"q_norm_epsilon": 0.1}, "its attribute q_norm_epsilon"),
        *(
            ("GroupQueryAttention", [*[""] * place, "n"], {}, f"its input {name} is not supported")
            for place, name in enumerate(GROUP_INPUTS)
            if place > 11
        ),
    ],
)
def test_refused_by_name(kind: str, inputs: Any, values: dict[str, Any], message: str) -> None:
    given = {one or f"none{at}": np.zeros(1, np.float32) for at, one in enumerate(inputs)}
    named = {name: None if name.startswith("none") else one for name, one in given.items()}
    with pytest.raises(RefusedError, match=f"{kind} 'a': .*{message}"):
        check_host(node_model(kind, named, ["y"], num_heads=1, **values).graph)


@pytest.mark.parametrize("kind", ["MultiHeadAttention", "GroupQueryAttention"])
def test_scores_and_hosts_without_onnxruntime(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, np.ndarray | None] = {name: np.zeros((1, 2, 4), np.float32) for name in "abc"}
    scores = node_model(kind, given, ["y", "k", "v", "scores"], num_heads=1)
    with pytest.raises(RefusedError, match="its output of scores is not supported"):
        check_host(scores.graph)
    monkeypatch.setattr("carrysave.compiler.graph.host_attention.installed", lambda name: False)
    with pytest.raises(RefusedError, match=f"{kind} 'a': the host needs .*onnxruntime"):
        check_host(node_model(kind, given, ["y"], num_heads=1).graph)


@pytest.mark.parametrize(("mode", "cap"), [(0, 0.5), (1, 0.5), (0, 0.0)])
def test_raw_scores_of_onnx(mode: int, cap: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX's evaluator gives them capped: without onnxruntime they are refused."""
    values: dict[str, Any] = {"qk_matmul_output_mode": mode, "softcap": cap}
    node = helper.make_node("Attention", ["q", "k", "v"], ["y", "", "", "s"], "a", **values)
    assert not refusal(node, 25)
    monkeypatch.setattr("carrysave.compiler.graph.host_versions.installed", lambda name: False)
    assert ("onnxruntime" in refusal(node, 25)) == (mode == 0 and cap > 0)


def test_what_the_kernel_refuses_names_the_node() -> None:
    given: dict[str, np.ndarray | None] = {name: np.zeros((1, 2, 5), np.float32) for name in "abc"}
    with pytest.raises(ValueError, match="MultiHeadAttention 'a': cannot run on this"):
        run("MultiHeadAttention", given, ["y"], num_heads=2)


def test_work() -> None:
    """Both products, of 12 queries and results, with 7 keys of which 2 are of before."""
    sizes = {"q": (1, 3, 4), "k": (1, 5, 4), "v": (1, 5, 4), "p": (1, 2, 2, 2), "o": (1, 2, 2, 2)}
    tensors = {name: np.zeros(one) for name, one in sizes.items()}
    made = [np.zeros((1, 3, 4))]
    for kind, domain, places in (
        ("Attention", "", ["q", "k", "v", "", "p", "o"]),
        ("MultiHeadAttention", "com.microsoft", ["q", "k", "v", "", "", "", "p", "o"]),
        ("GroupQueryAttention", "com.microsoft", ["q", "k", "v", "p", "o"]),
    ):
        node = helper.make_node(kind, places, ["y"], domain=domain)
        given = [tensors.get(name) for name in places]
        assert operations(node, given, made) == 2 * (12 + 12) * 7
