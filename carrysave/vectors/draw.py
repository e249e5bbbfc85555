"""Codes and numbers to make vectors of: the same with every numpy and on every processor."""

import hashlib
from collections.abc import Iterator
from itertools import count

import numpy as np

from golden.formats.element import ElementFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.posit import PositFormat

__all__ = ["codes_of", "drawn", "numbers", "thresholds"]

_SOME = 2048
"""Codes that are drawn of a format with too many."""


def drawn(seed: str, bound: int) -> Iterator[int]:
    """Yield integers 0 .. bound - 1 without end, of hashes."""
    for number in count():
        data = hashlib.sha256(f"{seed} {number}".encode()).digest()
        for start in range(0, len(data), 8):
            yield int.from_bytes(data[start : start + 8], "little") % bound


def codes_of(fmt: ElementFormat, most: int) -> np.ndarray:
    """Return codes of a format, ascending: all, or the corners of each binade and some drawn.

    Parameters
    ----------
    fmt : a format.
    most : its codes are all taken if they are no more.
    """
    if fmt.width <= 62 and fmt.high - fmt.low < most:
        return np.arange(fmt.low, fmt.high + 1)
    patterns = {0, 1, 2, fmt.high, fmt.high - 1, fmt.low, fmt.low + 1}
    step = fmt.mantissa_bits if isinstance(fmt, MinifloatFormat) else 1
    for bit in range(fmt.width if step == 1 else 1 << fmt.width - step):
        at = fmt.low + (1 << bit if step == 1 else bit << step)
        patterns |= {at - 1, at, at + 1}
    choice = drawn(fmt.name, fmt.high - fmt.low + 1)
    patterns |= {fmt.low + next(choice) for _ in range(_SOME)}
    return np.array(sorted(one for one in patterns if fmt.low <= one <= fmt.high))


def thresholds(fmt: ElementFormat, codes: np.ndarray) -> np.ndarray:
    """Return doubles where rounding changes, and their neighbours, ascending; no NaN.

    Parameters
    ----------
    fmt : a format.
    codes : whose values, and the way to the next value, are looked at.
    """
    following = np.minimum(codes + 1, fmt.high)
    values, above = fmt.to_float(codes), fmt.to_float(following)
    both = np.isfinite(values) & np.isfinite(above)
    marks = [values[np.isfinite(values)], (values[both] + above[both]) / 2]
    if isinstance(fmt, PositFormat) and fmt.width < 32:
        # They are rounded on the bit string: to a code with one more bit.
        longer = PositFormat(width=fmt.width + 1, exponent_bits=fmt.exponent_bits)
        marks.append(longer.to_float(2 * codes[codes != fmt.nan_code] + 1))
    top = float(max(map(abs, fmt.bounds))) * 2.0**fmt.lsb
    least = 2.0**fmt.lsb
    ends = np.array([
        top * 1.25,
        top * 2,
        top * 1e3,
        least / 2,
        least / 4,
        least * 0.75,
        1 / 3,
        1e-300,
        1e300,
        np.inf,
        0.0,
    ])
    # Overflow begins half a step above the largest number.
    exponent = int(np.frexp(top)[1]) - 1
    halves = np.arange(1, fmt.significand_width + 2)
    ends = np.concatenate([ends, top + np.ldexp(1.0, exponent - halves)])
    every = np.concatenate([*marks, ends, -ends])
    near = [np.nextafter(every, way) for way in (-np.inf, np.inf)]
    return _ascending(np.concatenate([every, *near]))


def _ascending(values: np.ndarray) -> np.ndarray:
    """Return different doubles, ascending, -0 before 0.

    They are sorted by their bits: 0 and -0 are equal, so that their order among doubles would be
    that of the processor's own sort.
    """
    bits = values.view(np.int64)
    flip = np.iinfo(np.int64).max  # of negative numbers: their bits descend
    order = np.unique(np.where(bits < 0, bits ^ flip, bits))
    return np.where(order < 0, order ^ flip, order).view(np.float64)


def numbers(seed: str, shape: tuple[int, int], spread: int) -> np.ndarray:
    """Return rows of doubles of similar size, of very different size from row to row.

    Parameters
    ----------
    seed : another one, other numbers.
    shape : rows and columns.
    spread : exponents of rows are within +- so many.
    """
    size, exponent = drawn(f"{seed} size", 1 << 24), drawn(f"{seed} place", 2 * spread + 1)
    rows = [[next(size) - (1 << 23) for _ in range(shape[1])] for _ in range(shape[0])]
    exponents = np.array([[next(exponent) - spread - 23] for _ in range(shape[0])])
    return np.ldexp(np.array(rows, dtype=np.float64), exponents)
