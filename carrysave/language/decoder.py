"""A decoder in golden's arithmetic, token by token, with a cache of keys and values."""

import numpy as np

from carrysave.errors import UsageError
from carrysave.language.model import Layer, Model
from carrysave.language.units import GOLDEN, GROUP, Units, hadamard, rotated
from golden.lut.grouped import FastWeights

__all__ = ["CACHE_BITS", "Decoder"]

CACHE_BITS = (8, 4)


class Decoder:
    """Tokens to logits.

    Products are of 4-bit (or 5-, 8-bit) weights in groups of 32, and of activations rounded to int8
    with an exponent for each group: sums of groups are exact integers, scaled and added in fp32 as
    by :func:`golden.lut.scale.scale_groups`. Norms, softmax and SiLU are those of
    :mod:`golden.npe.vector`; products of attention are exact. Gains of norms, rotary positions and
    residual sums are float32. Keys of 4 bits are turned by a Hadamard transform first, as are the
    queries.

    Parameters
    ----------
    model : weights.
    cache : tokens that the cache holds, 1..4096, and at most the model's context.
    bits : of a key or value in the cache, 8 or 4.
    units : how steps are computed, golden's or others to compare with.
    """

    def __init__(self, model: Model, *, cache: int, bits: int = 8, units: Units = GOLDEN):
        most = min(4096, model.shape.context)
        if not 1 <= cache <= most:
            raise UsageError(f"cache must be 1..{most} tokens, not {cache}")
        if bits not in CACHE_BITS:
            raise UsageError(f"bits of the cache must be 8 or 4, not {bits}")
        self.model = model
        self.cache = cache
        self.bits = bits
        self.units = units
        self.length = 0
        shape = (model.shape.layers, 2, model.shape.shared, cache, model.shape.head)
        self._kept = np.zeros(shape)

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """Append tokens; return the logits after each, float32, tokens x words."""
        count = len(tokens)
        if not 1 <= count <= self.cache - self.length:
            raise UsageError(
                f"prompt must be 1..{self.cache - self.length} tokens, what the cache holds, "
                f"not {count}"
            )
        units = self.units
        x = self.model.embedding[tokens]
        for number, layer in enumerate(self.model.layers):
            x = x + self._attention(number, layer, units.normed(x, layer.attention_gain))
            h = units.normed(x, layer.feed_gain)
            hidden = units.gated(*self._products(layer, h, "ffn_gate", "ffn_up"))
            x = x + self._product(layer.matrices["ffn_down"], hidden)
        self.length += count
        return self._product(self.model.head, units.normed(x, self.model.gain))

    def _products(self, layer: Layer, h: np.ndarray, *names: str) -> list[np.ndarray]:
        codes, powers = self.units.aligned(h)
        return [layer.matrices[name].product(codes, powers) for name in names]

    def _attention(self, number: int, layer: Layer, h: np.ndarray) -> np.ndarray:
        shape, count, units = self.model.shape, len(h), self.units
        q, k, v = (
            made.reshape(count, -1, shape.head).swapaxes(0, 1)
            for made in self._products(layer, h, "attn_q", "attn_k", "attn_v")
        )
        places = np.arange(self.length, self.length + count)
        q, k = (rotated(x, places, shape.base) for x in (q, k))
        scale = shape.head**-0.5
        if self.bits == 4:
            q, k = hadamard(q), hadamard(k)
            scale /= shape.head
        own = self._kept[number]
        own[0, :, places] = units.kept(k, self.bits, GROUP).swapaxes(0, 1)
        own[1, :, places] = units.kept(v, self.bits, GROUP).swapaxes(0, 1)
        codes, powers = units.aligned(q, 8, shape.head)
        queries = np.ldexp(codes.astype(np.float64), powers)
        queries = queries.reshape(shape.shared, -1, count, shape.head)
        made = np.empty(queries.shape)
        for row, place in enumerate(places):
            keys, values = own[:, :, : place + 1]
            scores = queries[:, :, row] @ keys.swapaxes(1, 2) * scale
            made[:, :, row] = units.probabilities(scores) @ values
        rows = made.reshape(shape.heads, count, shape.head).swapaxes(0, 1).reshape(count, -1)
        return self._product(layer.matrices["attn_output"], rows)

    def _product(self, weights: FastWeights, h: np.ndarray) -> np.ndarray:
        return weights.product(*self.units.aligned(h))
