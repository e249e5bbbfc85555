"""Decoders in golden's arithmetic, token by token; those of attention, with a cache."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from carrysave.compiler.decoder.units import (
    GOLDEN,
    GROUP,
    SHARE_BITS,
    Units,
    hadamard,
    rotated,
    turns,
)
from carrysave.compiler.front.gguf import CACHE_BITS, Layer, Model
from carrysave.errors import UsageError

__all__ = ["Blocks", "Decoder", "check_room"]


class Blocks(ABC):
    """Tokens to logits, by blocks of a mixer of tokens and a gated feed-forward.

    Products are of weights in groups (of 32, or whole columns), and of activations rounded to the
    model's bits with an exponent for each group: sums of groups are exact integers, scaled and
    added in fp32 as by :func:`golden.lut.scale.scale_groups`. Norms are those of
    :mod:`golden.npe.vector`, SiLU of :mod:`golden.npe.elements`. Gains of norms and residual sums
    are floats.

    Parameters
    ----------
    model : weights.
    cache : tokens that are taken at most, 1..4096, and at most the model's context.
    units : how steps are computed, golden's or others to compare with.
    """

    OUTPUT: ClassVar[str]
    """The mixer's last matrix."""

    def __init__(self, model: Model, *, cache: int, units: Units = GOLDEN):
        most = min(4096, model.shape.context)
        if not 1 <= cache <= most:
            raise UsageError(f"cache must be 1..{most} tokens, not {cache}")
        self.model = model
        self.cache = cache
        self.units = units
        self.length = 0

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """Append tokens; return the logits after each, float32, tokens x words."""
        count = len(tokens)
        check_room(count, self.length, self.cache)
        units = self.units
        x = self.model.embedding[tokens]
        for number, layer in enumerate(self.model.layers):
            mixed = self._mixed(number, layer, self._normed(x, layer.attention_gain))
            if layer.output_gain is not None:
                mixed = self._normed(mixed, layer.output_gain)
            x = x + self._products(layer, mixed, self.OUTPUT)[0]
            h = self._normed(x, layer.feed_gain)
            hidden = units.gated(*self._products(layer, h, "ffn_gate", "ffn_up"))
            if layer.down_gain is not None:
                hidden = self._normed(hidden, layer.down_gain)
            x = x + self._products(layer, hidden, "ffn_down")[0]
        self.length += count
        last = units.aligned(
            self._normed(x, self.model.gain), self.model.bits, self.model.head.group
        )
        return self.model.head.product(*last)

    def _normed(self, x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return self.units.normed(x, gain, self.model.shape.epsilon)

    @abstractmethod
    def _mixed(self, number: int, layer: Layer, h: np.ndarray) -> np.ndarray:
        """Mix rows of a block with those before; without the last matrix."""

    def _products(self, layer: Layer, h: np.ndarray, *names: str) -> list[np.ndarray]:
        """Multiply by matrices of equal groups, and add their biases."""
        group = layer.matrices[names[0]].group
        codes, powers = self.units.aligned(h, self.model.bits, group)
        made = [layer.matrices[name].product(codes, powers) for name in names]
        return [
            y + layer.biases[name] if name in layer.biases else y
            for name, y in zip(names, made, strict=True)
        ]


class Decoder(Blocks):
    """A decoder that mixes tokens by attention, with a cache of keys and values.

    Softmax is that of :mod:`golden.npe.vector`. Products of attention are of integers: int8 queries
    with codes of keys; and probabilities times steps of values, rounded to integers with an
    exponent for each row, with codes of values. Rotary positions, and steps and offsets of the
    cache are floats. Keys of 4 bits are turned by a Hadamard transform first, as are the queries;
    and the mean of the first step's keys, of 32 tokens at most, is subtracted from them, which
    changes all scores of a query by as much, and so no probability.

    Parameters
    ----------
    model, cache, units : as of :class:`Blocks`.
    bits : of a key or value in the cache, 8 or 4.
    """

    OUTPUT = "attn_output"

    def __init__(self, model: Model, *, cache: int, bits: int = 8, units: Units = GOLDEN):
        super().__init__(model, cache=cache, units=units)
        if bits not in CACHE_BITS:
            raise UsageError(f"bits of the cache must be 8 or 4, not {bits}")
        self.bits = bits
        shape = (model.shape.layers, 2, model.shape.shared, cache)
        blocks = 1 if bits == 8 else model.shape.head // GROUP
        self._codes = np.zeros((*shape, model.shape.head))
        self._steps, self._offsets = np.zeros((2, *shape, blocks))
        self._turns = turns(np.arange(cache), model.frequencies)
        self._common = np.zeros((model.shape.layers, model.shape.shared, 1, model.shape.head))

    def _mixed(self, number: int, layer: Layer, h: np.ndarray) -> np.ndarray:
        shape, count, units = self.model.shape, len(h), self.units
        q, k, v = (
            made.reshape(count, -1, shape.head).swapaxes(0, 1)
            for made in self._products(layer, h, "attn_q", "attn_k", "attn_v")
        )
        places = np.arange(self.length, self.length + count)
        q, k = (rotated(x, self._turns[:, places]) for x in (q, k))
        scale = 1 / math.sqrt(shape.head)
        if self.bits == 4:
            q, k = hadamard(q), hadamard(k)
            scale /= shape.head
            if self.length == 0:
                self._common[number] = k[:, :GROUP].mean(axis=1, keepdims=True)
            k = k - self._common[number]
        for side, x in enumerate((k, v)):
            encoded = units.cached(x, self.bits, GROUP)
            for one, values in zip((self._codes, self._steps, self._offsets), encoded, strict=True):
                one[number, side, :, places] = values.swapaxes(0, 1)
        codes, powers = units.aligned(q, 8, shape.head)
        codes = codes.astype(np.float64).reshape(shape.shared, -1, count, shape.head)
        powers = powers.reshape(shape.shared, -1, count)
        made = np.empty(codes.shape)
        for start in range(0, count, units.rows):
            chunk = slice(start, start + units.rows)
            tokens = np.arange(int(places[chunk][-1]) + 1)
            factors = np.ldexp(scale, powers[:, :, chunk])[..., None]
            scores = self._scores(number, codes[:, :, chunk], len(tokens)) * factors
            scores[..., tokens > places[chunk, None]] = -np.inf
            made[:, :, chunk] = self._values(number, units.probabilities(scores))
        return made.reshape(shape.heads, count, shape.head).swapaxes(0, 1).reshape(count, -1)

    def _scores(self, number: int, queries: np.ndarray, count: int) -> np.ndarray:
        """Multiply queries by keys of tokens.

        Parameters
        ----------
        queries : heads with keys x heads of queries x rows x head.

        Returns
        -------
        Heads with keys x heads of queries x rows x tokens.
        """
        codes, steps, offsets = (
            one[number, 0, :, None, None, :count]
            for one in (self._codes, self._steps, self._offsets)
        )
        blocks = steps.shape[-1]
        parts = zip(
            np.split(queries, blocks, axis=-1), np.split(codes, blocks, axis=-1), strict=True
        )
        scores = np.zeros((*queries.shape[:3], count))
        for block, (part, keys) in enumerate(parts):
            sums = _product(part, keys[:, 0, 0].swapaxes(1, 2))
            scores += sums * steps[..., block]
            scores += part.sum(axis=-1, keepdims=True) * offsets[..., block]
        return scores

    def _values(self, number: int, shares: np.ndarray) -> np.ndarray:
        """Add up values of tokens by their shares; arrays as of :meth:`_scores`."""
        count = shares.shape[-1]
        codes, steps, offsets = (
            one[number, 1, :, :count] for one in (self._codes, self._steps, self._offsets)
        )
        made = []
        for block, values in enumerate(np.split(codes, steps.shape[-1], axis=-1)):
            weighted = shares * steps[:, None, None, :, block]
            codes_of_shares, powers = self.units.aligned(weighted, SHARE_BITS, count)
            sums = _product(codes_of_shares.astype(np.float64), values)
            # One after the other, as other processors add them.
            rest = np.cumsum(shares * offsets[:, None, None, :, block], axis=-1)[..., -1:]
            made.append(np.ldexp(sums, powers) + rest)
        return np.concatenate(made, axis=-1)


def check_room(count: int, length: int, cache: int) -> None:
    """Refuse more tokens than are left of those that are taken at most."""
    if not 1 <= count <= cache - length:
        left = cache - length
        raise UsageError(f"prompt must be 1..{left} tokens, what is left of {cache}, not {count}")


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply integers, heads x heads of queries x rows x K by heads x K x N, exactly."""
    flat = a.reshape(len(a), -1, a.shape[-1]) @ b
    return flat.reshape(*a.shape[:-1], b.shape[-1])
