"""A language model as it runs: its shape, its weights, and what its layers do."""

from dataclasses import dataclass, field

import numpy as np

from carrysave.compiler.front.embedding import Embedding
from golden.elementary import power
from golden.lut.grouped import FastWeights

__all__ = [
    "ACTIVATIONS",
    "CACHE_BITS",
    "FEED",
    "FORMS",
    "KEYS",
    "MOST_TOKENS",
    "Experts",
    "Layer",
    "Model",
    "Rope",
    "Shape",
    "Skip",
    "plain_rope",
]

FORMS = {
    "attention": ("attn_q", "attn_k", "attn_v", "attn_output"),
    "recurrent": ("mix_forget", "mix_candidate", "mix_gate", "mix_output"),
}
"""What mixes tokens, and its matrices."""
FEED = ("ffn_gate", "ffn_up", "ffn_down")
"""Matrices of the feed-forward."""
MOST_TOKENS = 1 << 17
"""Of a cache: rows of scores of as many keys are those that arithmetic has."""
KEYS = ("tokens", "channels")
"""What has a step and an offset of keys of 4 bits: 32 values of a token, or one of 32 tokens."""
CACHE_BITS = (8, 4)
"""Of a key or value in the cache."""
ACTIVATIONS = ("silu", "gelu", "relu2")
"""Of the feed-forward's gates: GELU by a hyperbolic tangent; the square of what is above 0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rope:
    """Rotary positions of a layer.

    Members
    -------
    frequencies : angles of a position, one for each pair of a head's values; 0: it is not turned.
    factor : by which what is turned is multiplied.
    """

    frequencies: np.ndarray
    factor: float = 1.0


def plain_rope(base: float, head: int) -> Rope:
    """Return rotary positions of all pairs of a head."""
    return Rope(frequencies=power(base, -np.arange(0, head, 2) / head))


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of a decoder, and what is the same in all of its layers.

    Members
    -------
    layers, width, hidden : blocks; values of a row; values inside of the feed-forward.
    heads, shared : heads of queries, and of keys and values.
    head : values of a head.
    words : tokens of the vocabulary.
    context : tokens for which the model was made.
    epsilon : added to mean squares in norms.
    activation : of :data:`ACTIVATIONS`.
    score_scale : of queries times keys; 0: 1 / sqrt(head).
    score_cap, logit_cap : y = cap * tanh(x / cap), of scores and of logits; 0: y = x.
    residual_scale, logit_scale : of what is added to a row, and of what comes out.
    """

    layers: int
    width: int
    hidden: int
    heads: int
    shared: int
    head: int
    words: int
    context: int
    epsilon: float = 0.0
    activation: str = "silu"
    score_scale: float = 0.0
    score_cap: float = 0.0
    logit_cap: float = 0.0
    residual_scale: float = 1.0
    logit_scale: float = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Experts:
    """Feed-forwards of which a token takes a few, added up by the softmax of a router.

    Members
    -------
    router, scales : integers of 16 bits, experts x width, and what each row is multiplied by.
    used : experts of a token.
    renormalised : shares of those used add up to 1.
    each : matrices of an expert, by the names of :data:`FEED`.
    """

    router: np.ndarray
    scales: np.ndarray
    used: int
    renormalised: bool
    each: tuple[dict[str, FastWeights], ...]


@dataclass(frozen=True, kw_only=True)
class Skip:
    """Magnitudes up to which what a feed-forward multiplies by weights counts as zero.

    Members
    -------
    inputs, hidden : of gate and up, and of down; numbers of float32.
    """

    inputs: float
    hidden: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """A block's matrices by name, inputs x outputs, the gains of its norms, and its attention.

    Norms come before what mixes tokens and before the feed-forward; before the last matrix of each
    (`output_gain`, `down_gain`); behind each (`mixed_gain`, `fed_gain`); and of queries and keys,
    of each head, or of all together. A gain that is None has no norm. Some matrices may have a
    bias, float32, that is added to their products.

    Members
    -------
    rope : None: queries and keys are not turned.
    window : keys that a query sees, its own the last of them; 0: all before it.
    experts : in place of the feed-forward's matrices.
    skip : what the feed-forward leaves out; None: nothing.
    """

    matrices: dict[str, FastWeights]
    attention_gain: np.ndarray | None
    feed_gain: np.ndarray | None
    output_gain: np.ndarray | None = None
    down_gain: np.ndarray | None = None
    mixed_gain: np.ndarray | None = None
    fed_gain: np.ndarray | None = None
    query_gain: np.ndarray | None = None
    key_gain: np.ndarray | None = None
    biases: dict[str, np.ndarray] = field(default_factory=dict)
    rope: Rope | None = None
    window: int = 0
    experts: Experts | None = None
    skip: Skip | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """A decoder.

    Members
    -------
    embedding : words x width, float32, scaled.
    layers : blocks.
    gain : of the last norm.
    head : matrix to the words.
    form : of :data:`FORMS`; "recurrent" has no cache.
    bits : of activations that meet weights.
    cache_bits : for which the cache was made, 8 or 4.
    weight_format : width and kind of all weights, which a core must have; None: any, as digits.
    embedding_scale : by which the file's embedding was multiplied, in float32.
    """

    shape: Shape
    embedding: np.ndarray | Embedding
    layers: list[Layer]
    gain: np.ndarray
    head: FastWeights
    form: str = "attention"
    bits: int = 8
    cache_bits: int = 8
    weight_format: tuple[int, str] | None = None
    embedding_scale: float = 1.0

    def matrices(self) -> list[FastWeights]:
        """Return all weights that a product may have, experts' too."""
        every = [self.head]
        for layer in self.layers:
            every += layer.matrices.values()
            for one in layer.experts.each if layer.experts else ():
                every += one.values()
        return every

    def longest(self, tokens: int) -> int:
        """Return the largest K of a product, of so many tokens at most.

        By weights; by keys and values, too, where there are any.
        """
        cached = (self.shape.head, tokens) if self.form == "attention" else ()
        return max(*(one.group for one in self.matrices()), *cached)
