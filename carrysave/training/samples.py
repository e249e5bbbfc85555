"""What networks learn from, in which order, and where they begin: the same for all formats."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

__all__ = ["batches", "first_weights"]


def batches(count: int, batch: int, steps: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the numbers of the samples of each step; each sample once, then all again.

    Parameters
    ----------
    count : of samples.
    batch : of a step.
    """
    rng, left = np.random.default_rng([seed, 1]), np.zeros(0, np.int64)
    for _ in range(steps):
        while len(left) < batch:
            left = np.concatenate([left, rng.permutation(count)])
        chosen, left = left[:batch], left[batch:]
        yield chosen


def first_weights(sizes: Sequence[int], seed: int) -> list[np.ndarray]:
    """Draw weights, K x N of each layer, evenly up to the root of 6 / K (He and others, 2015)."""
    rng = np.random.default_rng([seed, 0])
    return [np.sqrt(6 / k) * rng.uniform(-1, 1, (k, n)) for k, n in pairwise(sizes)]
