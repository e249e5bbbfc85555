"""Sums along heads, which spread what stands out before keys are rounded to few bits."""

import numpy as np

__all__ = ["hadamard", "hadamard_size"]


def hadamard(x: np.ndarray) -> np.ndarray:
    """Add and subtract along 2^n values of heads, which spreads what stands out; not scaled."""
    size, step = x.shape[-1], 1
    while step < hadamard_size(size):
        pairs = x.reshape(*x.shape[:-1], size // (2 * step), 2, step)
        low, high = pairs[..., 0, :], pairs[..., 1, :]
        x = np.stack([low + high, low - high], axis=-2).reshape(x.shape)
        step *= 2
    return x


def hadamard_size(head: int) -> int:
    """Return of how many values of a head each sum is: the greatest 2^n that divides it."""
    return head & -head
