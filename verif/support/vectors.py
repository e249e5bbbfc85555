"""Operands to test with: corner values of a format, and ways to requantise."""

import numpy as np

from golden.formats.integer import IntFormat
from golden.npe.requantiser import Requantisation, RequantiserSpec

__all__ = ["corners", "scaling"]


def corners(fmt: IntFormat) -> np.ndarray:
    """Return the codes that break things: extremes, around zero, alternating bits."""
    ones = (1 << fmt.width) - 1
    patterns = np.array([
        fmt.low,
        fmt.low + 1,
        fmt.high,
        fmt.high - 1,
        0,
        1,
        ones,
        ones // 3,
        ones - ones // 3,
    ])
    return np.unique(fmt.wrap(patterns))


def scaling(rng: np.random.Generator, unit: RequantiserSpec, top: int) -> Requantisation:
    """Draw how integers up to `top` become codes: any field may be anything, most codes no limit.

    One of eight shifts is any, and one of eight multipliers is extreme.
    """
    out, width = unit.out_format, unit.multiplier_width
    low, high = sorted(rng.integers(out.low, out.high + 1, 2).tolist())
    if rng.integers(3):
        low, high = out.low, out.high
    multiplier = int(rng.integers(1 << width)) >> int(rng.integers(3))
    if not rng.integers(8):
        multiplier = int(rng.choice([0, 1, (1 << width) - 1]))
    shift = (top * multiplier).bit_length() - unit.out_width + int(rng.integers(-1, 4))
    if not rng.integers(8):
        shift = int(rng.integers(unit.shift_format.high + 1))
    zero_point = int(rng.integers(out.low, out.high + 1)) >> int(rng.integers(9))
    return Requantisation(
        multiplier=np.array([multiplier]),
        shift=np.array([min(max(shift, 0), unit.shift_format.high)]),
        zero_point=np.array([zero_point]),
        low=low,
        high=high,
    )
