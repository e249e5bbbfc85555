"""What is known of a node of attention before the model runs."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto

from carrysave.compiler.graph.graph import MICROSOFT, Graph
from carrysave.compiler.graph.host_attention import GROUP_QUERY, MULTI_HEAD
from carrysave.compiler.graph.kernels import attributes

__all__ = ["Facts", "read"]

_INPUTS = 10
"""Inputs at most."""
_FIXED = {"left_window_size": -1, "right_window_size": -1, "softmax_precision": TensorProto.FLOAT}
"""Attributes of ONNX's operator that must have one value."""
_ANY: dict[str, type] = {
    "is_causal": int,
    "kv_num_heads": int,
    "q_num_heads": int,
    "qk_matmul_output_mode": int,
    "scale": float,
    "softcap": float,
}
"""Others, and their types; the mode is of an output that is not there."""
_ANY_MICROSOFT: dict[str, type] = {"num_heads": int, "scale": float, "unidirectional": int}
_GROUP: dict[str, type | tuple[Any, ...]] = {
    "num_heads": int,
    "kv_num_heads": int,
    "local_window_size": int,
    "scale": float,
    "softcap": float,
    "do_rotary": (0,),
    "rotary_interleaved": (0, 1),
    "smooth_softmax": (-1, 0),
    "causal": (1,),
    "k_quant_type": (b"NONE",),
    "v_quant_type": (b"NONE",),
    "kv_cache_bit_width": (0,),
    "qk_output": (0,),
    "sliding_window_cache": (0,),
}
"""Attributes of onnxruntime's operator of groups: types, or values that they must have."""
_FLAT, _BY_HEAD = 3, 4
"""Axes of tensors whose heads lie along the last axis, and of those with an axis of heads."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Attention of one sequence to another.

    Members
    -------
    flat : heads are along the last axis of queries, keys, values and the result.
    heads, key_heads : of queries; of keys and values, whose number divides that of queries.
    width, value_width : numbers of a head, in queries and keys, and in values.
    scale : of scores.
    cap : limit of scores; 0: none.
    mask : what is added to scores; None: nothing.
    """

    flat: bool
    heads: int
    key_heads: int
    width: int
    value_width: int
    scale: np.float32
    cap: float
    mask: np.ndarray | None


def read(graph: Graph, node: NodeProto) -> Facts | None:
    """Read a node; None: it is no attention, or what it does is not known before it runs.

    Nodes that take or give keys and values of other steps, or give scores, are not read, and those
    with padding, windows or a mask that is computed.
    """
    kind = (node.domain, node.op_type)
    if kind == (MICROSOFT, GROUP_QUERY):
        return _group_query(graph, node)
    if kind not in {("", "Attention"), (MICROSOFT, MULTI_HEAD)}:
        return None
    values, given = attributes(node), [*node.input, *[""] * _INPUTS][:_INPUTS]
    if not (all(given[:3]) and node.output[0]) or any(node.output[1:]) or not _plain(node, values):
        return None
    mask = given.pop(5 if node.domain else 3)
    if any(given[3:]):
        return None
    names = ("num_heads", "num_heads") if node.domain else ("q_num_heads", "kv_num_heads")
    shapes = [graph.shapes.get(name, []) for name in given[:3]]
    sizes = _sizes(shapes, (values.get(names[0], 0), values.get(names[1], 0)))
    if sizes is None or (node.domain and len(shapes[0]) != _FLAT):
        return None
    causal = bool(values.get("unidirectional" if node.domain else "is_causal", 0))
    # Of onnxruntime's operator, the last of more keys than queries is that of the last query.
    square = not node.domain or shapes[0][-2] == shapes[1][-2]
    added = None
    if causal or mask:
        added = _mask(graph, mask, (shapes[0][-2], shapes[1][-2]), causal) if square else None
        if added is None:
            return None
    return Facts(
        flat=len(shapes[0]) == _FLAT,
        **sizes,
        scale=np.float32(values.get("scale", 1 / sqrt(sizes["width"]))),
        cap=values.get("softcap", 0.0),
        mask=added,
    )


def _group_query(graph: Graph, node: NodeProto) -> Facts | None:
    """Read a node whose keys and values are all in its inputs, of sequences as long as the queries.

    They are causal; a window is of so many keys, each query's own among them.
    """
    values, given = attributes(node), [*node.input, *[""] * _INPUTS]
    past, (lengths, total), rest = given[3:5], given[5:7], given[7:]
    later = any(name in graph.readers or name in graph.outputs for name in node.output[1:] if name)
    if not all(given[:3]) or any(past) or any(rest) or later or not node.output[0]:
        return None
    for name, value in values.items():
        legal = _GROUP.get(name, ())
        if value not in legal if isinstance(legal, tuple) else not isinstance(value, legal):
            return None
    shapes = [graph.shapes.get(name, []) for name in given[:3]]
    sizes = _sizes(shapes, (values.get("num_heads", 0), values.get("kv_num_heads", 0)))
    if sizes is None or len(shapes[0]) != _FLAT or shapes[0][-2] != shapes[1][-2]:
        return None
    rows, scale, cap = shapes[0][-2], values.get("scale", 0.0), values.get("softcap", 0.0)
    if not rows or not (0 <= scale < np.inf > cap >= 0):
        return None
    if not (_all(graph, lengths, rows - 1) and _all(graph, total, rows)):
        return None
    window, places = values.get("local_window_size", -1), np.arange(rows)
    behind = places[:, None] - places
    seen = (behind >= 0) & ((behind < window) | (window < 1))
    return Facts(
        flat=True,
        **sizes,
        scale=np.float32(scale or 1 / sqrt(sizes["width"])),
        cap=cap,
        mask=np.where(seen, np.float32(0), np.float32(-np.inf)),
    )


def _all(graph: Graph, name: str, number: int) -> bool:
    """Return whether a tensor is a constant of one number."""
    known = graph.constants.get(name)
    return known is not None and bool((known == number).all())


def _plain(node: NodeProto, values: dict[str, Any]) -> bool:
    """Return whether all attributes are known, of their types, and within their ranges."""
    legal = _ANY_MICROSOFT if node.domain else _ANY
    fixed = {} if node.domain else _FIXED
    for name, value in values.items():
        if name in fixed and value != fixed[name]:
            return False
        if name not in fixed and not isinstance(value, legal.get(name, ())):
            return False
    scale, cap = values.get("scale", 1.0), values.get("softcap", 0.0)
    return bool(0 < scale < np.inf and 0 <= cap < np.inf)


def _sizes(shapes: list[list[int | None]], said: tuple[int, int]) -> dict[str, int] | None:
    """Return heads and widths; None: they are not known, or do not fit."""
    if {len(one) for one in shapes} not in ({_FLAT}, {_BY_HEAD}):
        return None
    parts = said
    if len(shapes[0]) == _BY_HEAD:
        axes = [shape[1] or 0 for shape in shapes]
        if said not in ((0, 0), (axes[0], axes[1])) or axes[1] != axes[2]:
            return None
        said, parts = (axes[0], axes[1]), (1, 1)
    heads, key_heads = said
    if min(said) < 1 or heads % key_heads:
        return None
    widths = []
    for shape, count in zip(shapes, (parts[0], parts[1], parts[1]), strict=True):
        if not shape[-1] or shape[-1] % count:
            return None
        widths.append(shape[-1] // count)
    if widths[0] != widths[1]:
        return None
    return {"heads": heads, "key_heads": key_heads, "width": widths[0], "value_width": widths[2]}


def _mask(
    graph: Graph, name: str, sizes: tuple[int | None, int | None], causal: bool
) -> np.ndarray | None:
    """Return what is added to scores; None: not known, or it leaves a query without keys."""
    rows, columns = sizes
    if not rows or not columns:
        return None
    mask = np.zeros((rows, columns), np.float32)
    if name:
        given = graph.constants.get(name)
        if given is None or given.ndim < len(sizes) or given.shape[-2:] != sizes:
            return None
        if given.dtype == np.bool_:
            given = np.where(given, np.float32(0), np.float32(-np.inf))
        if given.dtype != np.float32:
            return None
        mask = given
    if causal:
        mask = np.where(np.tri(rows, columns, dtype=bool), mask, np.float32(-np.inf))
    return mask if np.isfinite(mask.max(axis=-1)).all() else None
