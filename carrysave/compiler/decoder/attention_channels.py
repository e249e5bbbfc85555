"""Decoders whose keys of 4 bits have a step for each channel of 32 tokens, not for each token."""

from collections.abc import Mapping

import numpy as np

from carrysave.compiler.decoder.attention import Decoder, product
from carrysave.compiler.decoder.units import GOLDEN, GROUP, Cached, Units
from carrysave.compiler.front.decoder import Layer, Model
from carrysave.errors import UsageError

__all__ = ["ChannelDecoder"]

_BITS = 4


class ChannelDecoder(Decoder):
    """A decoder with keys and values of 4 bits, as KIVI (Liu et al., 2024) has them.

    The tokens of a text are in groups of 32. A query takes keys and values of its own group as they
    come, of 8 bits with an exponent for each head. When a group is full, its keys are rounded to 4
    bits, with a step and an offset of fp16 for each channel, of those that stand out, too, which
    are the same for many tokens; and its values for 32 channels of each token. For each group a
    query is multiplied by the steps, and rounded to int8; sums with codes are exact integers.

    Parameters
    ----------
    model, cache, units : as of :class:`carrysave.compiler.decoder.blocks.Blocks`.
    """

    def __init__(self, model: Model, *, cache: int, units: Units = GOLDEN):
        super().__init__(model, cache=cache, bits=8, units=units)
        if (head := model.shape.head) % GROUP:
            raise UsageError(
                f"heads must be of 32, 64, ... values for a cache of 4 bits, not {head}"
            )
        self._keys: list[list[Cached]] = [[] for _ in range(model.shape.layers)]
        self._rounded: list[list[Cached]] = [[] for _ in range(model.shape.layers)]

    @property
    def scheme(self) -> int | str:
        """What keys and values are, as a saved chat says it."""
        return "4, keys by channels"

    def restore(self, length: int, state: Mapping[str, np.ndarray]) -> None:
        """Go on behind so many tokens; full groups are rounded once more, to the same."""
        super().restore(length, state)
        for every in (*self._keys, *self._rounded):
            every.clear()

    def _attended(self, number: int, layer: Layer, q: np.ndarray) -> np.ndarray:
        shape, count, units = self.model.shape, q.shape[1], self.units
        self._round(number, self.length + count)
        q = q.astype(np.float64).reshape(shape.shared, -1, count, shape.head)
        made, start = np.empty(q.shape), 0
        while start < count:
            full = (self.length + start) // GROUP * GROUP
            last = min(full + GROUP - self.length, count)
            part, seen = q[:, :, start:last], slice(full, self.length + last)
            codes, powers = units.aligned(part, 8, shape.head)
            latest = np.ldexp(self._scores(number, codes.astype(np.float64), seen), powers)
            scores = np.concatenate([self._by_channels(number, part, full), latest], axis=-1)
            places = np.arange(self.length + start, self.length + last)
            shares = self._shares(layer, scores * self._scale, places)
            made[:, :, start:last] = self._values(number, shares[..., full:], seen)
            if full:
                before = self._before(number, full)
                made[:, :, start:last] += self._added(shares[..., :full], before)
            start = last
        return made

    def _round(self, number: int, length: int) -> None:
        """Round keys and values of groups that are full by now."""
        for group in range(len(self._keys[number]), length // GROUP):
            some = slice(group * GROUP, (group + 1) * GROUP)
            keys, values = (
                self._codes[number, side, :, some] * self._steps[number, side, :, some]
                for side in range(2)
            )
            self._keys[number].append(self.units.cached(keys.swapaxes(1, 2), _BITS, GROUP))
            self._rounded[number].append(self.units.cached(values, _BITS, GROUP))

    def _before(self, number: int, full: int) -> Cached:
        """Return the values of groups, of so many tokens."""
        every = self._rounded[number][: full // GROUP]
        codes, steps, offsets = (np.concatenate(one, axis=1) for one in zip(*every, strict=True))
        return codes, steps, offsets

    def _by_channels(self, number: int, queries: np.ndarray, full: int) -> np.ndarray:
        """Multiply queries by the keys of groups, of so many tokens; arrays as of `_scores`."""
        each = [np.zeros((*queries.shape[:3], 0))]
        for codes, steps, offsets in self._keys[number][: full // GROUP]:
            turned, powers = self.units.aligned(
                queries * steps[:, None, None, :, 0], 8, queries.shape[-1]
            )
            sums = product(turned.astype(np.float64), codes.astype(np.float64))
            # One after the other, as other processors add them.
            rest = np.cumsum(queries * offsets[:, None, None, :, 0], axis=-1)[..., -1:]
            each.append(np.ldexp(sums, powers) + rest)
        return np.concatenate(each, axis=-1)
