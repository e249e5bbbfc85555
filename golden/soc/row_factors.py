"""Sums that are continued: the existing C times a factor of each row, before sums are added."""

import numpy as np

__all__ = ["FACTOR_BYTES", "FRACTION", "ONE", "WIDEST", "scaled"]

FACTOR_BYTES = 2
"""Bytes of a factor: 16 bits without a sign, 0 to 2 - 2^-15."""
FRACTION = 15
"""Bits of a factor behind the binary point."""
ONE = 1 << FRACTION
"""The factor 1, which leaves sums as they are."""
WIDEST = 48
"""Most bits of a sum that has factors, with a sign; without, one less: a product with one has 64,
with a sign."""


def scaled(sums: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Multiply rows of integers by factors: floor(C * factor / 2^15 + 1/2).

    It is exact until it is rounded, once: halves up. A factor of 2^(15 - e) shifts a row by e bits
    to the right; a factor of 0 forgets it.

    Parameters
    ----------
    sums : M x N, int64, of :data:`WIDEST` bits or fewer, with their sign.
    factors : M, of 0..65535.

    Returns
    -------
    M x N, int64, of a bit more at most.

    Notes
    -----
    Two formats along K in one product: the part of outliers comes first, the rest continues it
    with the ratio of both parts' scales (LLM.int8(), Dettmers et al. 2022; ResQ, Saxena et al.
    2024; COMET, Liu et al. 2025). A state that decays: C = C * gamma + A x B, with gamma of a row
    of the state (Gated Linear Attention, Yang et al. 2023).
    """
    return (sums.astype(np.int64) * factors.astype(np.int64)[:, None] + ONE // 2) >> FRACTION
