"""Decoders that mix tokens by attention, with a cache, in golden's arithmetic."""

import math
from typing import ClassVar

import numpy as np

from carrysave.compiler.decoder.blocks import Blocks
from carrysave.compiler.decoder.hadamard import hadamard, hadamard_size
from carrysave.compiler.decoder.units import (
    GOLDEN,
    GROUP,
    SHARE_BITS,
    Cached,
    Units,
    rotated,
    turns,
)
from carrysave.compiler.front.decoder import CACHE_BITS, Layer, Model
from carrysave.errors import UsageError

__all__ = ["Decoder", "product"]

_FIRST = 128
"""Tokens for which there is room at first."""


class Decoder(Blocks):
    """A decoder that mixes tokens by attention, with a cache of keys and values.

    Softmax is that of :mod:`golden.npe.vector`. Products of attention are of integers: int8 queries
    with codes of keys; and probabilities times steps of values, rounded to integers with an
    exponent for each row, with codes of values. Rotary positions, and steps and offsets of the
    cache are floats. Keys of 4 bits are turned by a Hadamard transform first, as are the queries;
    and the mean of the first step's keys, of 32 tokens at most, is subtracted from them, which
    changes all scores of a query by as much, and so no probability, if scores have no cap.

    Parameters
    ----------
    model, cache, units : as of :class:`Blocks`.
    bits : of a key or value in the cache, 8 or 4.
    """

    OUTPUT = "attn_output"
    ROOMS: ClassVar[tuple[str, ...]] = ("codes", "steps", "offsets")
    """Of keys and values: members, with a `_` before, of layers x sides x heads x tokens x some."""

    def __init__(self, model: Model, *, cache: int, bits: int = 8, units: Units = GOLDEN):
        super().__init__(model, cache=cache, units=units)
        if bits not in CACHE_BITS:
            raise UsageError(f"bits of the cache must be 8 or 4, not {bits}")
        if bits == 4 and model.shape.head % GROUP:
            size = model.shape.head
            raise UsageError(
                f"heads must be of 32, 64, ... values for a cache of 4 bits, not {size}"
            )
        self.bits = bits
        shape = (model.shape.layers, 2, model.shape.shared, 0)
        blocks = 1 if bits == 8 else model.shape.head // GROUP
        kind = units.cached(np.zeros((1, model.shape.head)), bits, GROUP)[0].dtype
        self._codes = np.zeros((*shape, model.shape.head), kind)
        self._steps, self._offsets = np.zeros((2, *shape, blocks))
        ropes = {layer.rope for layer in model.layers if layer.rope is not None}
        self._turns = {rope: np.zeros((2, 0, len(rope.frequencies)), np.float32) for rope in ropes}
        self._common = np.zeros((model.shape.layers, model.shape.shared, 1, model.shape.head))

    @property
    def scheme(self) -> int | str:
        """What keys and values are, as a saved chat says it."""
        return self.bits

    def left(self, length: int) -> dict[str, np.ndarray]:
        """Return codes, steps and offsets of keys and values, and what keys are less."""
        self._make_room(length)
        rows = {name: getattr(self, f"_{name}")[:, :, :, :length] for name in self.ROOMS}
        return {**rows, "common": self._common}

    def _make_room(self, length: int) -> None:
        """Take memory for so many tokens: twice as much as before at least, up to the cache's."""
        there = self._codes.shape[3]
        if length <= there:
            return
        more = min(max(length, 2 * there, _FIRST), self.cache) - there
        for name in self.ROOMS:
            whole = np.pad(getattr(self, f"_{name}"), [(0, 0)] * 3 + [(0, more), (0, 0)])
            setattr(self, f"_{name}", whole)
        places = np.arange(there, there + more)
        for rope, known in self._turns.items():
            fresh = turns(places, rope.frequencies, rope.factor)
            self._turns[rope] = np.concatenate([known, fresh], axis=1)

    def _mixed(self, number: int, layer: Layer, h: np.ndarray) -> np.ndarray:
        shape, count = self.model.shape, len(h)
        self._make_room(self.length + count)
        q, k, v = self._products(layer, h, "attn_q", "attn_k", "attn_v")
        q, k = self._heads(q, layer.query_gain), self._heads(k, layer.key_gain)
        v = self._heads(v, None)
        places = np.arange(self.length, self.length + count)
        if layer.rope is not None:
            q, k = (rotated(x, self._turns[layer.rope][:, places]) for x in (q, k))
        if self.bits == 4:
            q, k = hadamard(q), hadamard(k)
            if self.length == 0 and not shape.score_cap:
                self._common[number] = k[:, :GROUP].mean(axis=1, keepdims=True)
            k = k - self._common[number]
        self._keep(number, places, k, v)
        made = self._attended(number, layer, q)
        return made.reshape(shape.heads, count, shape.head).swapaxes(0, 1).reshape(count, -1)

    @property
    def _scale(self) -> float:
        """What products of queries and keys, as they are here, are multiplied by."""
        size = self.model.shape.head
        scale = self.model.shape.score_scale or 1 / math.sqrt(size)
        return scale / hadamard_size(size) if self.bits == 4 else scale

    def _keep(self, number: int, places: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
        """Write keys and values of tokens, heads x tokens x head, to the cache."""
        for side, x in enumerate((k, v)):
            encoded = self.units.cached(x, self.bits, GROUP)
            for one, values in zip((self._codes, self._steps, self._offsets), encoded, strict=True):
                one[number, side, :, places] = values.swapaxes(0, 1)

    def _attended(self, number: int, layer: Layer, q: np.ndarray) -> np.ndarray:
        """Add up values by the softmax of scores.

        Parameters
        ----------
        q : queries of the last tokens, heads x rows x head.

        Returns
        -------
        Heads with keys x heads of queries x rows x head.
        """
        shape, count, units = self.model.shape, q.shape[1], self.units
        places = np.arange(self.length, self.length + count)
        codes, powers = units.aligned(q, 8, shape.head)
        codes = codes.astype(np.float64).reshape(shape.shared, -1, count, shape.head)
        powers = powers.reshape(shape.shared, -1, count)
        made = np.empty(codes.shape)
        for start in range(0, count, units.rows):
            chunk = slice(start, start + units.rows)
            seen = slice(int(places[chunk][-1]) + 1)
            factors = np.ldexp(self._scale, powers[:, :, chunk])[..., None]
            scores = self._scores(number, codes[:, :, chunk], seen) * factors
            shares = self._shares(layer, scores, places[chunk])
            made[:, :, chunk] = self._values(number, shares, seen)
        return made

    def _shares(self, layer: Layer, scores: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return probabilities of the tokens that queries at places see."""
        shape, tokens = self.model.shape, np.arange(scores.shape[-1])
        if shape.score_cap:
            scores = self.units.capped(scores, shape.score_cap)
        scores[..., tokens > places[:, None]] = -np.inf
        if layer.window:
            scores[..., tokens <= places[:, None] - layer.window] = -np.inf
        return self.units.probabilities(scores, self.cache)

    def _heads(self, x: np.ndarray, gain: np.ndarray | None) -> np.ndarray:
        """Norm rows, or heads, and return heads x rows x values."""
        size = self.model.shape.head
        if gain is not None and gain.size != size:
            x = self._normed(x, gain)
        heads = x.reshape(len(x), -1, size).swapaxes(0, 1)
        return self._normed(heads, gain) if gain is not None and gain.size == size else heads

    def _scores(self, number: int, queries: np.ndarray, seen: slice) -> np.ndarray:
        """Multiply queries by keys of tokens.

        Parameters
        ----------
        queries : heads with keys x heads of queries x rows x head.
        seen : which tokens.

        Returns
        -------
        Heads with keys x heads of queries x rows x tokens.
        """
        codes, steps, offsets = (
            one[number, 0, :, None, None, seen] for one in (self._codes, self._steps, self._offsets)
        )
        blocks = steps.shape[-1]
        parts = zip(
            np.split(queries, blocks, axis=-1), np.split(codes, blocks, axis=-1), strict=True
        )
        scores = np.zeros((*queries.shape[:3], codes.shape[3]))
        for block, (part, keys) in enumerate(parts):
            sums = product(part, keys[:, 0, 0].astype(np.float64).swapaxes(1, 2))
            scores += sums * steps[..., block]
            scores += part.sum(axis=-1, keepdims=True) * offsets[..., block]
        return scores

    def _values(self, number: int, shares: np.ndarray, seen: slice) -> np.ndarray:
        """Add up values of tokens by their shares; arrays as of :meth:`_scores`."""
        codes, steps, offsets = (
            one[number, 1, :, seen] for one in (self._codes, self._steps, self._offsets)
        )
        return self._added(shares, (codes, steps, offsets))

    def _added(self, shares: np.ndarray, cached: Cached) -> np.ndarray:
        """Add up values by their shares; codes are heads with keys x tokens x head."""
        (codes, steps, offsets), count, made = cached, shares.shape[-1], []
        for block, values in enumerate(np.split(codes, steps.shape[-1], axis=-1)):
            weighted = shares * steps[:, None, None, :, block]
            codes_of_shares, powers = self.units.aligned(weighted, SHARE_BITS, count)
            sums = product(codes_of_shares.astype(np.float64), values.astype(np.float64))
            # One after the other, as other processors add them.
            rest = np.cumsum(shares * offsets[:, None, None, :, block], axis=-1)[..., -1:]
            made.append(np.ldexp(sums, powers) + rest)
        return np.concatenate(made, axis=-1)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply integers, heads x heads of queries x rows x K by heads x K x N, exactly."""
    flat = a.reshape(len(a), -1, a.shape[-1]) @ b
    return flat.reshape(*a.shape[:-1], b.shape[-1])
