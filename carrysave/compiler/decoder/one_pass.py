"""Decoders that attend in one pass: shares by blocks of keys, whose sums are added up in floats."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from carrysave.compiler.decoder.attention import Decoder, product
from carrysave.compiler.decoder.units import GOLDEN, GROUP, VECTOR, Units, times, unit_for
from carrysave.compiler.front.decoder import Layer, Model
from golden.npe.exps import Shares, exps
from golden.npe.vector import VectorUnitSpec

__all__ = [
    "BLOCK", "DIGIT", "LEAST", "MOST", "OnePassDecoder", "ScoreScale", "one_pass_unit",
    "score_scale", "side_of", "value_power", "why_not_one_pass",
]  # fmt: skip

BLOCK = GROUP
"""Keys whose shares have one exponent."""
DIGIT = 7
"""Bits of the second digit of a value; both have a sign."""
LEAST, MOST = -87 << VECTOR.scale_width, 60 << VECTOR.scale_width
"""Limits of codes of scores: exponents of their shares are those of normal floats of 32 bits, with
room for sums of all keys. A key that is not seen has the least."""
_MARGIN = 1.1
"""By how much rounding may make values greater than rows of root mean square 1 do."""


def one_pass_unit(tokens: int) -> VectorUnitSpec:
    """Return the vector unit of a block that attends in one pass to so many tokens."""
    return replace(unit_for(tokens), operations="rms_norm,silu,exps,divide", block=BLOCK)


def side_of(head: int) -> int:
    """Return how many numbers of a key have one exponent: a power of two."""
    return min(head & -head, GROUP)


def why_not_one_pass(model: Model, bits: int) -> str:
    """Return why a model does not attend in one pass; empty: it does."""
    if model.form != "attention":
        return "attention must be host: the model has none"
    if bits != 8:
        return f"attention must be host with a cache of {bits} bits: one pass has keys of 8 bits"
    if any(layer.attention_gain is None for layer in model.layers):
        return (
            "attention must be host: one pass takes values of rows that are normed, which these"
            " are not"
        )
    return ""


@dataclass(frozen=True)
class ScoreScale:
    """What products of queries and keys are multiplied by.

    Members
    -------
    factor : of queries, before they are rounded.
    shift : of the products, a power of two.
    """

    factor: float
    shift: int


def score_scale(model: Model) -> ScoreScale:
    """Return how scores are scaled: by a power of two, if these have no cap."""
    scale = model.shape.score_scale or 1 / math.sqrt(model.shape.head)
    if model.shape.score_cap:
        return ScoreScale(scale, 0)
    mantissa, exponent = math.frexp(scale)
    return ScoreScale(2 * mantissa, exponent - 1)


def value_power(model: Model, layer: Layer) -> int:
    """Return p: values of a layer are integers of two digits times 2^p, whatever a text is.

    A value is a row of the matrix times a row of root mean square 1 times gains, and a bias: by
    Cauchy and Schwarz it is at most the root of the width times the norm of the row of products of
    weights and gains.
    """
    matrix, gain = layer.matrices["attn_v"], layer.attention_gain
    assert gain is not None
    weights = matrix.floats(np.arange(matrix.shape[2])).astype(np.float64)
    weights *= matrix.ordered(gain.astype(np.float64)[None])
    most = np.sqrt(np.square(weights).sum(axis=1) * model.shape.width) * _MARGIN
    most += np.abs(layer.biases.get("attn_v", 0.0))
    return math.frexp(float(most.max()) / 127)[1] - DIGIT


class OnePassDecoder(Decoder):
    """A decoder that attends in one pass over scores, as FuseMax (Nayak et al., 2024) does.

    Queries and keys are of int8, with an exponent for each :func:`side_of` numbers; sums of these
    are scaled, and added in float32. Scores of 16 bits, :data:`LEAST` .. :data:`MOST`, become
    shares by :func:`golden.npe.exps.exps`: codes of 7 bits, with an exponent for each
    :data:`BLOCK` keys, so that no row is read for its greatest score, or its sum, first. Sums of a
    block's shares times values, and of the shares, are exact integers; scaled, they are added in
    float32, block by block, and divided at the end. Values are of 15 bits, in two digits, with an
    exponent of the layer.

    Parameters
    ----------
    model : one of which :func:`why_not_one_pass` says nothing.
    cache, units : as of :class:`carrysave.compiler.decoder.blocks.Blocks`.
    """

    ROOMS: ClassVar[tuple[str, ...]] = ("codes", "steps", "digits")

    def __init__(self, model: Model, *, cache: int, units: Units = GOLDEN):
        super().__init__(model, cache=cache, bits=8, units=units)
        shape, side = model.shape, side_of(model.shape.head)
        rooms = shape.layers, 1, shape.shared, 0
        self._codes = np.zeros((*rooms, shape.head), np.int8)
        self._steps = np.zeros((*rooms, shape.head // side), np.float32)
        self._digits = np.zeros((*rooms, 2 * shape.head), np.int8)
        self._powers = [value_power(model, layer) for layer in model.layers]
        self._unit, self._side = one_pass_unit(cache), side

    @property
    def scheme(self) -> int | str:
        """What keys and values are, as a saved chat says it."""
        return "8, values of 15"

    def _keep(self, number: int, places: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
        codes, powers = self.units.aligned(k, 8, self._side)
        steps = np.ldexp(1.0, powers).astype(np.float16)
        high, low = digits_of(v, self._powers[number])
        self._codes[number, 0, :, places] = codes.swapaxes(0, 1)
        self._steps[number, 0, :, places] = steps.swapaxes(0, 1)
        self._digits[number, 0, :, places] = np.concatenate([high, low], -1).swapaxes(0, 1)

    def _attended(self, number: int, layer: Layer, q: np.ndarray) -> np.ndarray:
        shape, count = self.model.shape, q.shape[1]
        codes, powers = self.units.aligned(times(q, score_scale(self.model).factor), 8, self._side)
        codes = codes.astype(np.float64).reshape(shape.shared, -1, count, shape.head)
        powers = powers.reshape(shape.shared, -1, count, shape.head // self._side)
        made = np.empty(codes.shape)
        for start in range(0, count, self.units.rows):
            rows = slice(start, min(start + self.units.rows, count))
            places = self.length + np.arange(rows.start, rows.stop)
            seen = slice(int(places[-1]) + 1)
            scores = self._grouped(number, codes[:, :, rows], powers[:, :, rows], seen)
            shares = self._exps(layer, scores, places)
            sums, ones = self._added_up(number, shares)
            made[:, :, rows] = np.ldexp(sums / ones, self._powers[number])
        return made

    def _grouped(
        self, number: int, queries: np.ndarray, powers: np.ndarray, seen: slice
    ) -> np.ndarray:
        """Multiply queries by keys, as :meth:`_scores`, in groups that are added in float32."""
        keys, steps = (one[number, 0, :, seen] for one in (self._codes, self._steps))
        scores = np.zeros((*queries.shape[:3], keys.shape[1]), np.float32)
        for group in range(steps.shape[-1]):
            part = slice(group * self._side, (group + 1) * self._side)
            sums = product(queries[..., part], keys[..., part].astype(np.float64).swapaxes(1, 2))
            terms = np.ldexp(sums.astype(np.float32), powers[..., group, None])
            scores += terms * steps[:, None, None, :, group]
        return scores

    def _exps(self, layer: Layer, scores: np.ndarray, places: np.ndarray) -> Shares:
        """Return shares of whole blocks of keys; of blocks behind a query's own there are none."""
        if self.model.shape.score_cap:
            scores = self.units.capped(scores, self.model.shape.score_cap)
        shift = VECTOR.scale_width + score_scale(self.model).shift
        tokens = np.arange(scores.shape[-1])
        codes = np.clip(np.rint(np.ldexp(scores.astype(np.float64), shift)), LEAST, MOST)
        hidden = tokens > places[:, None]
        if layer.window:
            hidden |= tokens <= places[:, None] - layer.window
        codes[..., hidden] = LEAST
        behind = [(0, 0)] * 3 + [(0, -len(tokens) % BLOCK)]
        shares = exps(self._unit, np.pad(codes.astype(np.int64), behind, constant_values=LEAST))
        blocks = np.arange(shares.codes.shape[-1]) // BLOCK
        return Shares(
            np.where(blocks > places[:, None] // BLOCK, 0, shares.codes), shares.exponents
        )

    def _added_up(self, number: int, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
        """Add up values, in units of the layer's, by shares; and the shares, in float32."""
        head, each = self.model.shape.head, np.float32(1 << DIGIT)
        rows, room = shares.codes.shape[:3], self._digits.shape[3]
        sums, ones = np.zeros((*rows, 2 * head), np.float32), np.zeros((*rows, 1), np.float32)
        for block, powers in enumerate(np.moveaxis(shares.exponents, -1, 0)):
            seen = slice(block * BLOCK, min((block + 1) * BLOCK, room))
            part = shares.codes[..., block * BLOCK : seen.stop].astype(np.float64)
            values = self._digits[number, 0, :, seen].astype(np.float64)
            terms = np.ldexp(product(part, values).astype(np.float32), powers[..., None])
            terms[..., :head] *= each
            sums += terms
            ones += np.ldexp(part.sum(axis=-1, keepdims=True).astype(np.float32), powers[..., None])
        return sums[..., :head].astype(np.float64) + sums[..., head:], ones.astype(np.float64)


def digits_of(values: np.ndarray, power: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both digits of values, in units of two to the power: -127..127."""
    exact = values.astype(np.float64)
    high = np.clip(np.rint(np.ldexp(exact, -power - DIGIT)), -127, 127)
    low = np.rint(np.ldexp(exact - np.ldexp(high, power + DIGIT), -power))
    return high, np.clip(low, -127, 127)
