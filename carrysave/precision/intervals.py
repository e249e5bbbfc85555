"""Intervals of figures that come from a sample of inputs, 95 % each."""

import math

import numpy as np

__all__ = ["LEVEL", "Interval", "around", "change", "ratio", "wilson"]

LEVEL = 0.95
"""How often an interval has the figure of all inputs that there could be."""
_Z = 1.9599639845400536
"""Quantile of the normal distribution for it, on both sides."""

Interval = tuple[float, float]
"""From, to."""


def around(middle: float, error: float) -> Interval:
    """Return the interval of a figure whose standard error is known, by the normal distribution."""
    return middle - _Z * error, middle + _Z * error


def wilson(count: int, total: int) -> Interval:
    """Return Wilson's interval of a proportion (Wilson, J. Am. Stat. Assoc. 22, 1927).

    Parameters
    ----------
    count : inputs that have the property, 0..total.
    total : inputs, 1 or more.
    """
    if not 0 <= count <= total or total < 1:
        raise ValueError(f"count must be 0..{total} of 1 or more inputs, not {count}")
    share, square = count / total, _Z * _Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    spread = share * (1 - share) / total + square / (4 * total * total)
    half = _Z * math.sqrt(spread) / (1 + square / total)
    # At the ends exactly, where rounding would leave a little beyond.
    return (0.0 if count == 0 else middle - half, 1.0 if count == total else middle + half)


def change(more: int, less: int, total: int) -> Interval:
    """Return the interval of the difference of two proportions of the same inputs.

    Wald's for matched pairs, with half an input added to each of the four cells (Agresti and Min,
    Statistics in Medicine 24, 2005): it holds for few inputs too, and is never empty.

    Parameters
    ----------
    more, less : inputs that only the first has right, and that only the second has.
    total : inputs.
    """
    if total < 1 or min(more, less) < 0 or more + less > total:
        raise ValueError(f"more and less must be 0..{total} together, not {more} and {less}")
    middle = (more - less) / (total + 2)
    square = more + less + 1 - (more - less) * (more - less) / (total + 2)
    half = _Z * math.sqrt(square) / (total + 2)
    return max(middle - half, -1.0), min(middle + half, 1.0)


def ratio(parts: np.ndarray, wholes: np.ndarray) -> Interval:
    """Return the interval of the sum of `parts` over that of `wholes`, by its standard error.

    The standard error is that of a ratio estimator (Cochran, Sampling Techniques, 1977, 2.9);
    with wholes of 1, that of a mean.

    Parameters
    ----------
    parts, wholes : for each input; wholes add up to more than 0.
    """
    count, whole = len(parts), float(wholes.sum())
    middle = float(parts.sum()) / whole
    square = float(np.square(parts - middle * wholes).sum()) * count / max(count - 1, 1)
    return around(middle, math.sqrt(square) / whole)
