"""Operands to test with: corner values of a format, and random codes."""

import numpy as np

from golden.formats.integer import IntFormat

__all__ = ["corners", "normal", "uniform"]


def corners(fmt: IntFormat) -> np.ndarray:
    """Return the codes that break things: extremes, around zero, alternating bits."""
    ones = (1 << fmt.width) - 1
    patterns = np.array([
        fmt.low, fmt.low + 1, fmt.high, fmt.high - 1, 0, 1, ones, ones // 3, ones - ones // 3
    ])  # fmt: skip
    return np.unique(fmt.wrap(patterns))


def uniform(rng: np.random.Generator, fmt: IntFormat, shape: int | tuple[int, ...]) -> np.ndarray:
    """Draw codes, each as likely as any other."""
    return rng.integers(fmt.low, fmt.high, shape, endpoint=True)


def normal(rng: np.random.Generator, fmt: IntFormat, shape: int | tuple[int, ...]) -> np.ndarray:
    """Draw codes as in neural networks: normal, standard deviation 20 where width is 8."""
    deviation = 20 * 2.0 ** (fmt.width - 8)
    centre = 0 if fmt.signed else (fmt.high + 1) // 2
    codes = np.rint(rng.normal(centre, deviation, shape)).astype(np.int64)
    return np.clip(codes, fmt.low, fmt.high)
