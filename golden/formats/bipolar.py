"""Bipolar codes: every bit is a sign."""

import numpy as np

__all__ = ["bipolar_codes", "odd"]


def odd(codes: np.ndarray, width: int) -> np.ndarray:
    """Return the odd integers 2 u - (2^width - 1) of codes u: the sum of signs times 2^place."""
    return 2 * codes - ((1 << width) - 1)


def bipolar_codes(name: str, numbers: np.ndarray, most: int) -> np.ndarray:
    """Return the codes 0..most of odd integers, the inverse of :func:`odd`; refuse others."""
    numbers = np.asarray(numbers).astype(np.int64)
    wrong = numbers[(np.abs(numbers) > most) | (numbers & 1 == 0)]
    if wrong.size:
        legal = "-1 or 1" if most == 1 else f"odd, {-most}..{most},"
        raise ValueError(f"{name} must be {legal} where the engine is bipolar, not {wrong[0]}")
    return numbers + most >> 1
