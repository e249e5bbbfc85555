"""Random operands: uniform, or as in neural networks."""

import numpy as np

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.posit import PositFormat

__all__ = ["uniform", "normal"]


def uniform(
    rng: np.random.Generator, fmt: ElementFormat, shape: int | tuple[int, ...]
) -> np.ndarray:
    """Draw codes of numbers, uniformly."""
    if isinstance(fmt, IntFormat):
        return rng.integers(fmt.low, fmt.high, shape, endpoint=True)
    codes = np.arange(fmt.low, fmt.high + 1)
    return rng.choice(codes[np.isfinite(fmt.to_float(codes))], shape)


def normal(
    rng: np.random.Generator, fmt: ElementFormat, shape: int | tuple[int, ...]
) -> np.ndarray:
    """Draw codes as in neural networks: normal, standard deviation 20/128 of the largest number.

    That is 20 for int8. For posits it is 1, around which their precision is.

    A draw in the tail takes a logarithm of the C library, whose last bit may be another on another
    processor; that is lost when the number is rounded to a code, and no result depends on it.
    """
    if not isinstance(fmt, IntFormat):
        greatest = float(fmt.bounds[1]) * 2.0**fmt.lsb
        deviation = 1.0 if isinstance(fmt, PositFormat) else greatest * 20 / 128
        return fmt.encode(rng.normal(0, deviation, shape))
    deviation = 20 * 2.0 ** (fmt.width - 8)
    centre = 0 if fmt.signed else (fmt.high + 1) // 2
    codes = np.rint(rng.normal(centre, deviation, shape)).astype(np.int64)
    return np.clip(codes, fmt.low, fmt.high)
