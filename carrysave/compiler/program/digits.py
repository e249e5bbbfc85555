"""Weights that are wider than an engine's, as several matrices of its codes."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.target.target import Target
from carrysave.driver import Mode, Number
from golden.tpe.ternary_core import TernaryCoreSpec

__all__ = ["Digit", "by_byte", "digits", "packed", "weight_range"]


@dataclass(frozen=True, eq=False)
class Digit:
    """A part of weights: they are the sum of (codes + offset) * 2^shift of all parts.

    Members
    -------
    codes : K x N, that the engine has.
    shift, offset : integers.
    """

    codes: np.ndarray
    shift: int
    offset: int


def weight_range(target: Target) -> tuple[int, int]:
    """Return the least and the greatest weight of an engine: of two bits -2 may be none."""
    low, high = target.mode.b.low, target.mode.b.high
    return (-1 if isinstance(target.spec.engine, TernaryCoreSpec) else low), high


def digits(weights: np.ndarray, low: int, high: int) -> list[Digit]:
    """Take integers apart, from the lowest bits on.

    Parameters
    ----------
    weights : K x N.
    low, high : range of a code; digits of more than one part are less an offset.
    """
    width = (high - low + 1).bit_length() - 1
    parts: list[Digit] = []
    while True:
        least, most, shift = int(weights.min()), int(weights.max()), len(parts) * width
        if most - least <= high - low:
            offset = max(min(0, least - low), most - high)
            return [*parts, Digit(weights - offset, shift, offset)]
        parts.append(Digit((weights & (1 << width) - 1) + low, shift, -low))
        weights = weights >> width


def packed(mode: Mode, codes: np.ndarray) -> np.ndarray:
    """Return the bytes of B in memory, rows x bytes."""
    stored: Number = mode.b_stored
    return stored.pack(mode.words(codes.astype(np.int64)).astype(stored.dtype))


def by_byte(rows: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
    """Return weights by the bytes of B; None: a byte is not one weight, or more than its digits.

    Parameters
    ----------
    rows : bytes of B.
    weights : K x N.

    Returns
    -------
    The weight of each byte from -128 on, as two's complement; 0 of bytes that are not there.
    """
    if rows.shape != weights.shape:
        return None
    values = np.zeros(256, np.int64)
    codes = rows.view(np.int8).astype(np.int64) + 128
    values[codes] = weights
    return values if np.array_equal(values[codes], weights) else None
