"""Beats of words of codes, for the bench of a lane."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from carrysave.sim.cocotb.streams import generator
from carrysave.sim.parameters import bench_spec

__all__ = [
    "Beats",
    "all_pairs",
    "codes",
    "corners",
    "draw",
    "ends",
    "extreme",
    "make",
    "pairs",
]

SPEC = bench_spec()

Beats = np.ndarray
"""Beats x fields: a, b, a_format, b_format, last."""


def make(words: Sequence[np.ndarray], pair: tuple[Any, Any], last: np.ndarray, seed: int) -> Beats:
    """Make beats; after the first of a sum, whatever the formats are does not count."""
    first = np.concatenate(([True], last[:-1]))
    noise = generator(seed, 3).integers(0, 1 << SPEC.format_width, (2, len(last)))
    formats = [np.where(first, own, other) for own, other in zip(pair, noise, strict=True)]
    return np.stack([*words, *formats, last], axis=1).astype(np.int64)


def ends(lengths: np.ndarray) -> np.ndarray:
    """Mark the last words of each run."""
    last = np.zeros(lengths.sum(), dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    return last


def draw(rng: np.random.Generator, lengths: np.ndarray, seed: int) -> Beats:
    """Draw words and formats for runs of these lengths; some words are extreme."""
    total = lengths.sum()
    words = rng.integers(0, 1 << SPEC.word_width, (2, total))
    edge = rng.random(words.shape) < 0.2
    # Extreme in each 8 bits; as a whole if there are 16.
    extremes = np.array([0, 1, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF, 0x88, 0x77])
    words[edge] = rng.choice(extremes, edge.sum())
    if SPEC.word_width == 16:
        words[edge] |= rng.choice([0, 0x7F, 0x80, 0xFF], edge.sum()) << 8
    pairs = rng.integers(0, len(SPEC.names), (2, len(lengths)))
    a, b = np.repeat(pairs, lengths, axis=1)
    return make(list(words), (a, b), ends(lengths), seed)


def codes(index: int) -> np.ndarray:
    """Return all codes of a format."""
    fmt = SPEC.elements[index]
    return np.arange(fmt.low, fmt.high + 1)


def extreme(index: int, pair: tuple[int, int], sign: int) -> int:
    """Return the word whose codes are all greatest or least."""
    values = SPEC.elements[index].decode(codes(index)).fixed(SPEC.elements[index].lsb)
    code = codes(index)[np.argmax(sign * values)]
    return int(SPEC.pack(np.full(SPEC.codes(*pair), code), index, SPEC.pitch(*pair))[0])


def all_pairs(rng: np.random.Generator, pair: tuple[int, int], most: int) -> Beats:
    """Return words with every pair of codes in each slot, in random order, `most` of them."""
    grid = [axis.reshape(-1) for axis in np.meshgrid(*(codes(index) for index in pair))]
    pitch = SPEC.pitch(*pair)
    orders = [rng.permutation(len(grid[0])) for _ in range(SPEC.codes(*pair))]
    at = np.stack(orders, axis=1)[:most]
    a, b = (SPEC.pack(side[at], index, pitch)[:, 0] for side, index in zip(grid, pair, strict=True))
    return make([a, b], pair, ends_at(rng, len(a)), 10)


def pairs(rng: np.random.Generator, pair: tuple[int, int], count: int) -> Beats:
    """Return words of 16 bits with random pairs of codes; each word of a, and of b, at most once.

    So 65,536 of them have every code on both sides.
    """
    a, b = (rng.permutation(1 << SPEC.word_width)[:count] for _ in pair)
    return make([a, b], pair, ends_at(rng, count), 11)


def corners(rng: np.random.Generator, pair: tuple[int, int]) -> Beats:
    """Return words of one code with every pair of corners of both formats.

    Of 16 bits these are runs of ones and of zeros, and their neighbours: they are powers of two,
    least and greatest fractions of each regime of a posit, and codes that are no numbers. Of
    shorter formats they are all codes.
    """
    found = []
    for index in pair:
        if SPEC.container(index) < 16:
            found.append(codes(index) & (1 << SPEC.elements[index].width) - 1)
        else:
            powers = 1 << np.arange(16)
            near = np.concatenate([sign * powers + by for sign in (1, -1) for by in (-1, 0, 1)])
            found.append(np.unique(near & 0xFFFF))
    a, b = (grid.reshape(-1) for grid in np.meshgrid(*found))
    order = rng.permutation(len(a))
    return make([a[order], b[order]], pair, ends_at(rng, len(a)), 12)


def ends_at(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw ends of short runs."""
    last = rng.random(count) < 0.2
    last[-1] = True
    return last
