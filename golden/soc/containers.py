"""Numbers in memory: the bits that they take, and integers modulo these."""

import numpy as np

__all__ = ["container", "wrap"]

_BITS = (1, 2, 4, 8, 16, 32, 64, 128)


def container(width: int) -> int:
    """Bits of a number in memory: the next power of two."""
    return next(bits for bits in _BITS if bits >= width)


def wrap(values: np.ndarray, width: int, signed: bool) -> np.ndarray:
    """Reduce integers modulo 2^width; int64, or Python integers if they need more bits."""
    # Python integers are slow.
    exact = values.dtype == np.int64 and width <= 62
    rest = (values if exact else values.astype(object)) & (1 << width) - 1
    if signed:
        rest = rest - ((rest >> width - 1) << width)
    return rest if width > 63 else rest.astype(np.int64)
