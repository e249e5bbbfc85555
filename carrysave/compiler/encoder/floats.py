"""A text encoder in floats, the same on every processor: ranges of codes come of it."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from carrysave.compiler.front.encoder_weights import EPSILON, Dense, Encoder, Norm
from golden.elementary import exp
from golden.pe.chances import normal_below
from golden.portable_product import product

__all__ = ["Multiply", "Observe", "encode", "multiplied", "rows_of"]

Observe = Callable[[str, np.ndarray], None]
"""Gets tensors by name, as they are made: rows of tokens, or a sentence's rows of a head."""

Multiply = Callable[[str, Dense, np.ndarray], np.ndarray]
"""Computes the product of a layer by name, ``b.qkv``, ``b.out``, ``b.up`` or ``b.down``."""


def multiplied(name: str, layer: Dense, x: np.ndarray) -> np.ndarray:
    """Multiply in floats."""
    del name
    return product(x, layer.weights) + layer.bias


def encode(
    encoder: Encoder,
    sentences: list[np.ndarray],
    observe: Observe = lambda name, values: None,
    multiply: Multiply = multiplied,
) -> np.ndarray:
    """Compute the vectors of sentences.

    Names are ``embedding``, and of block b ``b.q``, ``b.k``, ``b.v``, ``b.scores`` (divided by the
    root of a head's width), ``b.context``, ``b.out``, ``b.sum``, ``b.attention``, ``b.up``,
    ``b.gate``, ``b.down``, ``b.all`` and ``b.feed``.

    Parameters
    ----------
    encoder : the model.
    sentences : numbers of the tokens of each.
    observe : gets what is inside.
    multiply : what products of weights are.

    Returns
    -------
    Sentences x width doubles, of length 1.
    """
    encoder.check(sentences)
    places = list(rows_of(sentences))
    x = np.concatenate([encoder.words[one] + encoder.positions[: one.size] for one in sentences])
    observe("sums", x)
    x = _norm(encoder.norm, x)
    observe("embedding", x)
    width = encoder.width // encoder.heads
    root = math.sqrt(width)
    for number, block in enumerate(encoder.blocks):

        def show(name: str, values: np.ndarray, number: int = number) -> np.ndarray:
            observe(f"{number}.{name}", values)
            return values

        parts = np.split(multiply(f"{number}.qkv", block.qkv, x), 3, axis=1)
        q, k, v = (show(name, part) for name, part in zip("qkv", parts, strict=True))
        context = np.empty_like(x)
        for rows in places:
            for head in range(encoder.heads):
                columns = slice(head * width, (head + 1) * width)
                scores = show("scores", product(q[rows, columns], k[rows, columns].T) / root)
                shares = exp(scores - scores.max(axis=1, keepdims=True))
                shares /= shares.sum(axis=1, keepdims=True)
                context[rows, columns] = product(shares, v[rows, columns])
        made = show("out", multiply(f"{number}.out", block.out, show("context", context)))
        x = show("attention", _norm(block.attention, show("sum", x + made)))
        up = show("up", multiply(f"{number}.up", block.up, x))
        silu = encoder.activation == "silu"
        gate = show("gate", up / (1 + exp(-up)) if silu else up * normal_below(up))
        made = show("down", multiply(f"{number}.down", block.down, gate))
        x = show("feed", _norm(block.feed, show("all", x + made)))
    means = np.stack([x[rows].mean(axis=0) for rows in places])
    return means / np.sqrt((means * means).sum(axis=1, keepdims=True))


def rows_of(sentences: list[np.ndarray]) -> Iterator[slice]:
    """Return the rows of each sentence, if they follow each other."""
    start = 0
    for one in sentences:
        yield slice(start, start + one.size)
        start += one.size


def _norm(norm: Norm, x: np.ndarray) -> np.ndarray:
    x = x - x.mean(axis=1, keepdims=True)
    power = (x * x).mean(axis=1, keepdims=True)
    return x / np.sqrt(power + EPSILON) * norm.gamma + norm.beta
