"""Vector jobs whose rows of B are not as those of A: exponents, or codes and factors."""

import numpy as np

from golden.npe.elements import blend, shifted
from golden.npe.requantiser import Requantisation
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import vector_rows

__all__ = ["BLEND", "blended_cycles", "blended_rows", "scaled_rows"]

BLEND = "blend"
"""The vector job that weighs two rows by factors."""


def scaled_rows(
    unit: VectorUnitSpec, rows: np.ndarray, exponents: np.ndarray, how: Requantisation
) -> np.ndarray:
    """Requantise rows as they are, with exponents of theirs, M or one for all."""
    exponents = np.broadcast_to(exponents & 63, len(rows))
    codes = np.empty_like(rows)
    for one in np.unique(exponents).tolist():
        chosen = exponents == one
        by_one = shifted(how, one, unit.scaling)
        codes[chosen] = vector_rows(unit, "scale", rows[chosen], by_one)[0]
    return codes


def blended_cycles(rows: int, columns: int, lanes: int) -> int:
    """Return the cycles of rows: a beat of A, of B and of factors each take one."""
    return 3 * rows * int(-(-columns // lanes))


def blended_rows(rows: np.ndarray, second: np.ndarray, how: Requantisation) -> np.ndarray:
    """Weigh rows of A, M x N, and of B by the factors behind those, M x 2 N or 1 x 2 N.

    The shift of a requantisation is how many bits of a factor are behind the binary point, and its
    limits are those of codes; nothing else of it is looked at.
    """
    b, factors = np.split(np.broadcast_to(second, (len(rows), second.shape[1])), 2, axis=1)
    assert how.low is not None
    assert how.high is not None
    return blend(rows, b, factors, int(np.asarray(how.shift).item()), (how.low, how.high))
