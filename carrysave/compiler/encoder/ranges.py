"""What a calibration looks at: how large the values of a text encoder get, in floats."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.front.encoder_weights import Encoder

__all__ = ["BlockRanges", "Ranges", "ranges"]


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockRanges:
    """Largest magnitudes in a block, of each column unless said.

    Members
    -------
    q, v : of queries and values.
    k : of keys, from ``k_middle``.
    k_middle : the middle between their least and largest, which no softmax sees.
    context : of any value of it, as a share of the largest of its column of v.
    sum, all : of any value.
    attention, feed : of the norms, without what they add.
    gate : of any value.
    """

    q: np.ndarray
    k: np.ndarray
    k_middle: np.ndarray
    v: np.ndarray
    context: float
    sum: float
    all: float
    attention: np.ndarray
    feed: np.ndarray
    gate: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranges:
    """Largest magnitudes in an encoder.

    Members
    -------
    embedding : of the first norm, without what it adds, of each column.
    blocks : of its blocks.
    """

    embedding: np.ndarray
    blocks: tuple[BlockRanges, ...]


def ranges(encoder: Encoder, sentences: list[np.ndarray]) -> Ranges:
    """Compute sentences in floats, and look at what is inside.

    Parameters
    ----------
    encoder : the model.
    sentences : numbers of the tokens of each.

    Raises
    ------
    ValueError
        Numbers inside that are too large.
    """
    low: dict[str, np.ndarray] = {}
    high: dict[str, np.ndarray] = {}

    def look(name: str, values: np.ndarray) -> None:
        if not name.endswith("scores"):
            low[name], high[name] = values.min(axis=0), values.max(axis=0)

    with np.errstate(all="ignore"):
        encode(encoder, sentences, look)
    for name, values in (*low.items(), *high.items()):
        most = float(np.abs(values).max())
        if not most <= _MOST:
            raise ValueError(f"{name!r} inside the encoder must be {_MOST:g} at most, not {most:g}")

    def largest(name: str, about: np.ndarray | float = 0.0) -> np.ndarray:
        return np.maximum(np.maximum(high[name] - about, about - low[name]), _LEAST)

    def block(number: int) -> BlockRanges:
        weights, b = encoder.blocks[number], f"{number}."
        middle = (low[f"{b}k"] + high[f"{b}k"]) / 2
        v = largest(f"{b}v")
        return BlockRanges(
            q=largest(f"{b}q"),
            k=largest(f"{b}k", middle),
            k_middle=middle,
            v=v,
            context=float((largest(f"{b}context") / v).max()),
            sum=float(largest(f"{b}sum").max()),
            all=float(largest(f"{b}all").max()),
            attention=largest(f"{b}attention", weights.attention.beta),
            feed=largest(f"{b}feed", weights.feed.beta),
            gate=float(high[f"{b}gate"].max()),
        )

    return Ranges(
        embedding=largest("embedding", encoder.norm.beta),
        blocks=tuple(map(block, range(len(encoder.blocks)))),
    )


_MOST = 1e12
"""Of any number inside."""
_LEAST = 1e-6
"""Of a range, where all values are zeros."""
