"""Linear attention in numpy, in double precision, and small models of it."""

from typing import Any

import numpy as np
import onnx
from onnx import helper

from verif.networks.attending import WIDTH, joined, split
from verif.networks.graphs import Builder

__all__ = ["Linear", "attended", "projected"]


def attended(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, decay: np.ndarray | None, state: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return results and the last state, token by token, in double precision.

    Parameters
    ----------
    q, k, v : batch x heads x tokens x width.
    decay : the same of keys, logarithms, or with a width of 1; None: there is none.
    state : batch x heads of keys x width x width.
    """
    made = []
    for token in range(q.shape[2]):
        if decay is not None:
            state = state * np.exp(decay[:, :, token, :, None])
        state = state + k[:, :, token, :, None] * v[:, :, token, None]
        wide = np.repeat(state, q.shape[1] // k.shape[1], axis=1)
        made.append(np.einsum("bhk,bhkv->bhv", q[:, :, token], wide))
    return np.stack(made, axis=2), state


class Linear:
    """A model of one LinearAttention, whose queries, keys and values are codes of one input.

    Parameters
    ----------
    tokens : of each of two samples.
    heads : of queries, and of keys and values; values are one wider than keys.
    past : there is a past state, of integers.
    by_number : each number of a key has a decay of its own, of such a mean; 0: a head has one.
    moved : tokens are moved between codes and attention.
    coding : type and zero point of codes.
    values : attributes.
    steps : of queries, keys and values.
    """

    def __init__(
        self,
        *,
        tokens: int = 10,
        heads: tuple[int, int] = (2, 1),
        past: bool = False,
        by_number: float = 0,
        moved: bool = False,
        coding: tuple[Any, int] = (np.int8, 0),
        steps: tuple[float, ...] = (1, 1, 1),
        **values: Any,
    ) -> None:
        self.heads, self.coding, self.steps = (heads[0], heads[1], heads[1]), coding, steps
        self.widths = [heads[0] * WIDTH, heads[1] * WIDTH, heads[1] * (WIDTH + 1)]
        self.shape = (2, tokens, sum(self.widths))
        self.values: dict[str, Any] = {
            "update_rule": "linear",
            "chunk_size": 4,
            "scale": 1.0,
            **values,
        }
        self.b = Builder(np.random.default_rng(7), opset=27)
        self._parts(moved)
        rng = np.random.default_rng(3)
        states = (2, heads[1], WIDTH, WIDTH + 1)
        self.past = rng.integers(-900, 900, states) if past else np.zeros(states)
        self.decay: np.ndarray | None = None
        inputs = ["q", "k", "v", self.b.constant(self.past) if past else ""]
        if self.values["update_rule"] in ("gated", "gated_delta"):
            size = heads[1] * (WIDTH if by_number else 1)
            self.decay = -rng.exponential(by_number or 0.1, (2, tokens, size)).astype(np.float32)
            inputs.append(self.b.constant(self.decay))
        if "delta" in self.values["update_rule"]:
            inputs += ["", self.b.constant(np.ones((2, tokens, 1)))][len(inputs) - 4 :]
        self.values |= {"q_num_heads": heads[0], "kv_num_heads": heads[1]}
        node = helper.make_node("LinearAttention", inputs, ["y", "s"], "a", **self.values)
        self.b.nodes.append(node)

    def _parts(self, moved: bool) -> None:
        """Cut codes of the input, and dequantise them."""
        ends = np.cumsum([0, *self.widths])
        for name, start, end, step in zip("qkv", ends[:-1], ends[1:], self.steps, strict=True):
            places = (self.b.constant([one], np.int64) for one in (start, end, 2))
            self.b.node("Slice", ["x", *places], f"{name}codes")
            how = self.b.constant(step), self.b.constant(self.coding[1], self.coding[0])
            last = f"{name}floats" if moved else name
            self.b.node("DequantizeLinear", [f"{name}codes", *how], last)
            if moved:
                self.b.node("Transpose", [last], f"{name}turned", perm=[2, 1, 0])
                self.b.node("Transpose", [f"{name}turned"], name, perm=[2, 1, 0])

    def model(self) -> onnx.ModelProto:
        """Return it; its outputs are y and the state, s."""
        model = self.b.model(self.shape, self.coding[0], np.float32, list("abc"))
        model.graph.output.append(helper.make_tensor_value_info("s", 1, list("defg")))
        return model

    def expected(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return y and s in double precision."""
        ends = np.cumsum(self.widths)[:-1]
        parts = [
            split((one.astype(np.float64) - self.coding[1]) * step, count)
            for one, step, count in zip(
                np.split(x, ends, axis=2), self.steps, self.heads, strict=True
            )
        ]
        decay = None
        if self.decay is not None:
            decay = split(self.decay.astype(np.float64), self.heads[1])
        y, state = attended(parts[0], parts[1], parts[2], decay, self.past.astype(np.float64))
        scale = self.values["scale"] or parts[0].shape[-1] ** -0.5
        return joined(y) * scale, state


def projected(channels: int = 8) -> onnx.ModelProto:
    """Return a network of a causal convolution and linear attention between products of codes.

    Steps are powers of two, so that sums of attention are exact in floats of 32 bits.
    """
    b = Builder(np.random.default_rng(1), opset=27)
    step, zero = b.constant(2.0**-4), b.constant(128, np.uint8)

    def coded(source: str, name: str) -> str:
        b.node("QuantizeLinear", [source, step, zero], f"{name}/codes")
        return b.node("DequantizeLinear", [f"{name}/codes", step, zero], name)

    def weights(shape: tuple[int, ...], name: str) -> str:
        given = [b.judged_weights(shape), b.constant(2.0**-9), b.constant(0, np.int8)]
        return b.node("DequantizeLinear", given, f"{name}/weights")

    b.node("DequantizeLinear", ["x", step, zero], "f")
    given = ["f", weights((channels, 1, 4), "conv")]
    b.nodes.append(helper.make_node("CausalConvWithState", given, ["conv", "behind"], "conv"))
    b.node("Transpose", [coded("conv", "mixed")], "rows", perm=[0, 2, 1])
    rows = coded("rows", "tokens")
    parts = [
        coded(b.node("MatMul", [rows, weights((channels, channels), one)], f"{one}/sums"), one)
        for one in "qkv"
    ]
    how: dict[str, Any] = {"q_num_heads": 2, "kv_num_heads": 2, "chunk_size": 4}
    node = helper.make_node(
        "LinearAttention", parts, ["a", "s"], "lin", update_rule="linear", **how
    )
    b.nodes.append(node)
    last = coded("a", "attended")
    b.node("MatMul", [last, weights((channels, channels), "o")], "o/sums")
    b.node("QuantizeLinear", ["o/sums", step, zero], "y")
    return b.model((2, channels, 6), np.uint8, np.uint8, [2, 6, channels])
