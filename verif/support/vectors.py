"""Operands to test with: corner values of a format, and random codes."""

import numpy as np

from golden.formats.integer import IntFormat

__all__ = ["corners"]


def corners(fmt: IntFormat) -> np.ndarray:
    """Return the codes that break things: extremes, around zero, alternating bits."""
    ones = (1 << fmt.width) - 1
    patterns = np.array([
        fmt.low, fmt.low + 1, fmt.high, fmt.high - 1, 0, 1, ones, ones // 3, ones - ones // 3
    ])  # fmt: skip
    return np.unique(fmt.wrap(patterns))
