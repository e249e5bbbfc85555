"""Multiplier recoding: integers as signed radix-4 digits, many of them zero.

A recoder turns codes of any shape into an array with one more axis: the digits, lowest first,
each in {-2, -1, 0, 1, 2}. Every recoder makes (width + 1) // 2 digits for signed codes and
width // 2 + 1 for unsigned ones.
"""

import numpy as np

from golden.formats.integer import IntFormat

__all__ = ["booth", "ent", "ent_direct", "naf", "naf_bits", "nonzero", "value"]


def booth(codes: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Recode by overlapping groups of three bits (Booth 1951, modified by MacSorley 1961).

    Parameters
    ----------
    codes : integers of `fmt`.
    fmt : width and sign.

    Returns
    -------
    int8 digits, one axis more than `codes`.
    """
    doubled = fmt.check("codes", codes)[..., None] << 1
    at = 2 * np.arange(_count(fmt))
    below, low, high = (doubled >> (at + offset) & 1 for offset in range(3))
    return (below + low - 2 * high).astype(np.int8)


def ent(codes: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Recode the magnitude in digits -1 .. 2 and give them the sign of the code (EN-T, 2024).

    Parameters and result: as :func:`booth`.
    """
    values = fmt.check("codes", codes)
    digits = _least_positive(np.abs(values), _count(fmt))
    return np.where(values[..., None] < 0, -digits, digits)


def ent_direct(codes: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Recode in digits -1 .. 2, of which the last may be -2 for signed codes (EN-T, no sign).

    Parameters and result: as :func:`booth`.
    """
    return _least_positive(fmt.check("codes", codes), _count(fmt))


def naf_bits(codes: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Recode in radix 2 with digits -1 .. 1, no two neighbours both non-zero (Reitwiesner 1960).

    This non-adjacent form is unique and has the fewest non-zero digits of all.

    Parameters
    ----------
    codes : integers of `fmt`.
    fmt : width and sign.

    Returns
    -------
    int8 digits, two for each one of :func:`naf`.
    """
    values = fmt.check("codes", codes)[..., None]
    at = np.arange(1, 2 * _count(fmt) + 1)
    return ((3 * values >> at & 1) - (values >> at & 1)).astype(np.int8)


def naf(codes: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Recode in the fewest non-zero digits: those of the non-adjacent form, two in one.

    Parameters and result: as :func:`booth`.
    """
    bits = naf_bits(codes, fmt)
    return bits[..., 0::2] + 2 * bits[..., 1::2]


def value(digits: np.ndarray, radix: int = 4) -> np.ndarray:
    """Return the int64 values of digits, lowest digit first on the last axis."""
    digits = np.asarray(digits, dtype=np.int64)
    return digits @ np.int64(radix) ** np.arange(digits.shape[-1])


def nonzero(digits: np.ndarray) -> np.ndarray:
    """Count the digits that are not zero, over the last axis."""
    return np.count_nonzero(digits, axis=-1)


def _count(fmt: IntFormat) -> int:
    """Digits of a code."""
    if fmt.width > 32:
        raise ValueError(f"fmt must be of 1..32 bits, not {fmt.name}")
    return (fmt.width + 1) // 2 if fmt.signed else fmt.width // 2 + 1


def _least_positive(values: np.ndarray, count: int) -> np.ndarray:
    """Recode in digits -1 .. 2, and the rest in the last digit."""
    digits = np.empty((*values.shape, count), dtype=np.int8)
    for digit in range(count - 1):
        # A 3 becomes -1 and a carry.
        digits[..., digit] = (values + 1 & 3) - 1
        values = values + 1 >> 2
    digits[..., count - 1] = values
    return digits
