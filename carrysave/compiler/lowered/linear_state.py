"""Linear attention of codes: chunks of tokens and a state, as products of the co-processor."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from carrysave.compiler.lowered.layer import Layer, Product
from carrysave.compiler.lowered.linear_chunks import Chunks
from carrysave.compiler.lowered.linear_tokens import Tokens
from carrysave.compiler.lowered.operands import Operands

__all__ = ["Codes", "LinearState"]

_FORGOTTEN = -1000.0
"""Logarithm of a factor that is 0 in double precision; differences of -inf would be no numbers."""


@dataclass(frozen=True, kw_only=True)
class Codes:
    """What a tensor of codes stands for.

    Members
    -------
    name : of its tensor.
    zero, step : zero point and scale.
    ends : least and greatest integer, codes less the zero point.
    """

    name: str
    zero: int
    step: float
    ends: tuple[int, int]

    @property
    def kind(self) -> "np.dtype[Any]":
        """Type of the codes, of a byte."""
        return np.dtype(np.int8 if self.ends[0] + self.zero < 0 else np.uint8)

    @property
    def most(self) -> int:
        """The greatest magnitude."""
        return max(map(abs, self.ends))


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearState(Layer):
    """ONNX's LinearAttention, with update rules linear and gated.

    A chunk has four products, by head: Q K^T, of which what is not causal becomes 0, times V; Q S;
    and S = gamma * S + K^T V. Integers wider than the engine's are digits, so that each product is
    exact. A single token adds to S first, and then reads Q S. Where each number of a key has its
    own decay, queries and keys are weighted by that from the middle of the chunk, which is as short
    as keeps weights within 2^-3 and 2^3.

    Without decay results are rounded once, to float32, and nothing else is. With decay, gamma is
    rounded to 2^-15, weighted queries and keys to 2^-4 of a step or less, scores to the product of
    two steps or less, and the state, at each chunk, to units of its digits.

    Parameters
    ----------
    codes : of queries, keys and values.
    heads, key_heads : of queries; of keys and values.
    scale : of results; 0: 1 / sqrt(width of a key).
    chunk : tokens of a chunk, at most.
    gated : there is a decay.
    chunks : how chunks are multiplied.
    more : those of :class:`.layer.Layer`.

    Notes
    -----
    The chunks are those of Gated Linear Attention (Yang et al., 2023) and of Lightning Attention
    (Qin et al., 2024).
    """

    codes: tuple[Codes, Codes, Codes]
    heads: int
    key_heads: int
    scale: float
    chunk: int
    gated: bool
    chunks: Chunks

    @property
    def products(self) -> Sequence[Operands]:
        """Those of a chunk."""
        chunks = self.chunks
        return [chunks.state, chunks.read, chunks.scores, chunks.context]

    @property
    def inputs(self) -> Sequence[str]:
        """Codes of queries, keys and values; past state; decay."""
        given = [*self.node.input, "", ""]
        return [*(one.name for one in self.codes), *given[3:5]]

    @property
    def why(self) -> str:
        """Why outputs may differ from onnxruntime's."""
        how = "sums of codes are exact; onnxruntime adds floats"
        how += ", and factors of decay have 15 bits" if self.gated else ""
        return f"{how}. Counted in units in the last place of the largest"

    def run(self, multiply: Product, *given: Any) -> tuple[np.ndarray, ...]:
        """Return the results, batch x tokens x numbers, and the state behind."""
        q, k, v, past, decay = (*given, None, None)[:5]
        whole = self._tokens(q, k, v, decay)
        batch, count = q.shape[:2]
        unit = self.codes[1].step * self.codes[2].step
        state = None if past is None else self._state(past, whole, unit)
        most = count * self.codes[1].most * self.codes[2].most
        if state is not None:
            most += int(np.abs(state).max(initial=0)) >> self.chunks.weighted.bits
        chunk = whole.chunk(min(self.chunk, count))
        made = []
        # All whole chunks, and what is left.
        ends = count // chunk * chunk, count
        for start, end in ((0, ends[0]), ends):
            if start < end:
                part = whole.part(start, end, min(chunk, end - start))
                results, state = self.chunks.run(multiply, part, state, most)
                made.append(results)
        assert state is not None
        scale = self.scale or 1 / sqrt(whole.keys.shape[-1])
        y = np.concatenate(made, axis=2) * (scale * unit * self.codes[0].step)
        y = y.reshape(batch, self.heads, count, -1).transpose(0, 2, 1, 3)
        behind = state * (unit / (1 << self.chunks.weighted.bits))
        behind = behind.reshape(batch, self.key_heads, *state.shape[1:])
        return y.reshape(batch, count, -1).astype(np.float32), behind.astype(np.float32)

    def _tokens(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, decay: np.ndarray | None
    ) -> Tokens:
        """Return integers by head.

        Raises
        ------
        ValueError
            Tensors that do not fit, or a decay above 0.
        """
        if not q.ndim == k.ndim == v.ndim == 3 or not q.size or not v.size:
            sizes = ", ".join(str(one.shape) for one in (q, k, v))
            raise ValueError(f"query, key and value must be batch x tokens x numbers, not {sizes}")
        heads = (self.heads, self.key_heads, self.key_heads)
        widths = [one.shape[2] // count for one, count in zip((q, k, v), heads, strict=True)]
        for name, array, count, width in zip(
            ("query", "key", "value"),
            (q, k, v),
            heads,
            (widths[0], widths[0], widths[2]),
            strict=True,
        ):
            wanted = (*q.shape[:2], count * width)
            if array.shape != wanted:
                raise ValueError(f"{name} must be {wanted}, not {array.shape}")
        split = [
            _by_head(array.astype(np.int64) - one.zero, count)
            for array, one, count in zip((q, k, v), self.codes, heads, strict=True)
        ]
        queries = split[0].reshape(len(split[1]), -1, *split[0].shape[1:])
        if decay is not None:
            legal = [(*q.shape[:2], self.key_heads * width) for width in (1, widths[0])]
            if decay.shape not in legal:
                raise ValueError(f"decay must be {legal[0]} or {legal[1]}, not {decay.shape}")
            if not (decay <= 0).all():
                raise ValueError(f"decay must be 0 at most, not {decay.max()}")
            decay = _by_head(decay.astype(np.float64), self.key_heads)
            decay = np.maximum(decay, _FORGOTTEN)
        return Tokens(queries=queries, keys=split[1], values=split[2], decay=decay)

    def _state(self, past: np.ndarray, tokens: Tokens, unit: float) -> np.ndarray:
        """Return a given state as integers.

        Raises
        ------
        ValueError
            It does not fit.
        """
        chains, size = len(tokens.keys), tokens.keys.shape[-1]
        wanted = (chains // self.key_heads, self.key_heads, size, tokens.values.shape[-1])
        if past.shape != wanted:
            raise ValueError(f"past_state must be {wanted}, not {past.shape}")
        units = np.rint(past.astype(np.float64) / unit * (1 << self.chunks.weighted.bits))
        if not (np.abs(units) < 1 << 62).all():
            raise ValueError(f"past_state must be finite, and less than 2^62 units of {unit}")
        return units.astype(np.int64).reshape(chains, *wanted[2:])


def _by_head(array: np.ndarray, heads: int) -> np.ndarray:
    """Return batch x tokens x numbers as chains x tokens x width, a chain for each head."""
    parts = array.reshape(*array.shape[:2], heads, -1).transpose(0, 2, 1, 3)
    return parts.reshape(-1, *parts.shape[2:])
