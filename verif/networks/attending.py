"""Attention in numpy, in double precision, and small models of it."""

from typing import Any

import numpy as np
import onnx
from onnx import helper

from carrysave.compiler.graph.graph import MICROSOFT
from verif.networks.comparing import draw
from verif.networks.graphs import Builder

__all__ = [
    "BATCH",
    "ROWS",
    "WIDTH",
    "Coded",
    "attend",
    "grouped",
    "joined",
    "projected",
    "rotated",
    "split",
]

BATCH, ROWS, WIDTH = 2, 5, 4
"""Sizes of models: of the batch, of rows, and of a head."""


def split(x: np.ndarray, heads: int) -> np.ndarray:
    """Return heads of rows: batch x heads x rows x width."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def joined(x: np.ndarray) -> np.ndarray:
    """Put heads side by side again."""
    turned = x.transpose(0, 2, 1, 3)
    return turned.reshape(*turned.shape[:2], -1)


def attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    scale: float = 0,
    cap: float = 0,
    added: Any = 0,
    seen: Any = True,
    sink: np.ndarray | None = None,
) -> np.ndarray:
    """Return the shares of keys times values, head by head; queries may be of more heads.

    Parameters
    ----------
    added : to scores, behind their limit.
    seen : which keys each query sees.
    sink : a score of each head beside those of keys, with no value.
    """
    q, k, v = (one.astype(np.float64) for one in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(one, group, axis=1) for one in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    scores = cap * np.tanh(scores / cap) if cap else scores
    scores = np.where(seen, scores + added, -np.inf)
    shares = np.exp(scores)
    sums = shares.sum(axis=-1, keepdims=True)
    if sink is not None:
        sums = sums + np.exp(sink.astype(np.float64)).reshape(1, -1, 1, 1)
    return shares / sums @ v


def rotated(
    x: np.ndarray, cos: np.ndarray, sin: np.ndarray, positions: np.ndarray, interleaved: int
) -> np.ndarray:
    """Rotate pairs of numbers of each row by its position."""
    cos, sin = (one[positions].reshape(-1, 1, *one[positions].shape[-2:]) for one in (cos, sin))
    half = x.shape[-1] // 2
    left, right = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    pair = left * cos - right * sin, right * cos + left * sin
    if interleaved:
        return np.stack(pair, axis=-1).reshape(x.shape)
    return np.concatenate(pair, axis=-1)


def projected(causal: int) -> tuple[onnx.ModelProto, np.ndarray]:
    """Return a network of attention between products, all between quantisers, and its input."""
    b = Builder(np.random.default_rng(1), opset=23)
    b.node("DequantizeLinear", ["x", b.constant(0.02), b.constant(128, np.uint8)], "f")
    step = [b.constant(0.1), b.constant(120, np.uint8)]

    def product(source: str, name: str, codes: str) -> str:
        given = [b.judged_weights((8, 8)), b.constant(0.01), b.constant(0, np.int8)]
        b.node("MatMul", [source, b.node("DequantizeLinear", given, f"{name}w")], f"{name}m")
        return b.node("QuantizeLinear", [f"{name}m", *step], codes)

    parts = [
        b.node("DequantizeLinear", [product("f", one, f"{one}c"), *step], one) for one in "qkv"
    ]
    b.node("Attention", parts, "a", q_num_heads=2, kv_num_heads=2, is_causal=causal)
    b.node("QuantizeLinear", ["a", *step], "ac")
    product(b.node("DequantizeLinear", ["ac", *step], "af"), "o", "y")
    x = draw(np.random.default_rng(3), (2, 5, 8), np.uint8)
    return b.model(x.shape, np.uint8, np.uint8, [2, 5, 8]), x


class Coded:
    """A model of one attention, whose queries, keys and values are codes of one input.

    Parameters
    ----------
    heads, key_heads : of queries, and of keys and values.
    by_head : heads have an axis.
    keys : rows of keys; None: all of the input's.
    width, value_width : numbers of a head of queries and keys, and of values; None: as many.
    """

    def __init__(
        self,
        heads: int = 2,
        key_heads: int = 0,
        *,
        by_head: bool = False,
        keys: int | None = None,
        width: int = WIDTH,
        value_width: int | None = None,
        kind: Any = np.uint8,
        opset: int = 23,
    ) -> None:
        self.heads, self.key_heads = heads, key_heads or heads
        self.b = Builder(np.random.default_rng(7), opset=opset)
        self.kind, self.by_head, self.keys = kind, by_head, keys
        self.widths = {"q": heads * width, "k": self.key_heads * width}
        self.widths["v"] = self.key_heads * (width if value_width is None else value_width)
        self.shape = (BATCH, ROWS, sum(self.widths.values()))
        starts = np.cumsum([0, *self.widths.values()])
        for name, start, end in zip("qkv", starts[:-1], starts[1:], strict=True):
            self._part(name, [start, end])

    def _part(self, name: str, ends: list[Any]) -> None:
        """Cut codes of the input, and dequantise them."""
        b = self.b
        rows = self.keys if self.keys and name != "q" else ROWS
        first, last, axes = (
            b.constant(one, np.int64) for one in ([0, ends[0]], [rows, ends[1]], [1, 2])
        )
        step, zero = b.constant({"q": 0.03, "k": 0.02, "v": 0.01}[name]), b.constant(9, self.kind)
        b.node("Slice", ["x", first, last, axes], f"{name}codes")
        last_name = f"{name}flat" if self.by_head else name
        b.node("DequantizeLinear", [f"{name}codes", step, zero], last_name)
        if self.by_head:
            heads = self.heads if name == "q" else self.key_heads
            sizes = b.constant([0, 0, heads, -1], np.int64)
            b.node("Reshape", [last_name, sizes], f"{name}heads")
            b.node("Transpose", [f"{name}heads"], name, perm=[0, 2, 1, 3])

    def add(self, operator: str, more: list[str] | None = None, **values: Any) -> "Coded":
        """Add the operator; its outputs are y and, if they are said, others."""
        outputs = values.pop("outputs", ["y"])
        domain = MICROSOFT if operator != "Attention" else ""
        inputs = ["q", "k", "v", *(more or [])]
        self.b.nodes.append(
            helper.make_node(operator, inputs, outputs, "a", domain=domain, **values)
        )
        return self

    def model(self) -> onnx.ModelProto:
        sizes = list("abcd" if self.by_head else "abc")
        return self.b.model(self.shape, self.kind, np.float32, sizes)

    def floats(self, x: np.ndarray) -> list[np.ndarray]:
        """Return queries, keys and values by head, as they are in the model."""
        made = []
        start = 0
        for name, step in (("q", 0.03), ("k", 0.02), ("v", 0.01)):
            rows = self.keys if self.keys and name != "q" else ROWS
            part = x[:, :rows, start : start + self.widths[name]]
            start += self.widths[name]
            heads = self.heads if name == "q" else self.key_heads
            made.append(split((part.astype(np.float64) - 9) * step, heads))
        return made


def grouped(
    heads: int = 4, key_heads: int = 2, less: int = 0, sink: bool = False, **values: Any
) -> Coded:
    """Return a model of onnxruntime's attention of groups, of whole sequences of its rows.

    Parameters
    ----------
    less : by how much the last sequence is shorter.
    sink : heads have a score besides.
    """
    coded = Coded(heads, key_heads, width=8, opset=17)
    lengths = coded.b.constant([ROWS - 1] * (BATCH - 1) + [ROWS - 1 - less], np.int32)
    more = ["", "", lengths, coded.b.constant(ROWS, np.int32)]
    more += [*[""] * 4, coded.b.constant(np.ones(heads))] if sink else []
    counts = {"num_heads": heads, "kv_num_heads": key_heads}
    return coded.add("GroupQueryAttention", more, **counts, **values)
