"""Vector jobs on maps of codes: their operations, and how their sums become codes."""

from dataclasses import replace

import numpy as np

from golden.formats.integer import IntFormat
from golden.npe.elements import add, multiply, scale
from golden.npe.requantiser import Requantisation, RequantiserSpec

__all__ = ["MAPS", "cycles", "factor_width", "map_requantiser", "maps"]

MAPS = ("map_add", "map_multiply", "map_max")
"""Operations on maps of codes with zero points, whose sums the build's requantiser rounds."""
_CODE = IntFormat(width=8)
_STORED = 3
"""Least cycles of a row: what is stored of it is used by the next one."""
_FACTOR = 24
"""Most bits of a factor."""


def factor_width(requantiser: RequantiserSpec) -> int:
    """Return the bits of a factor of a job that adds maps, two's complement: any sum fits."""
    return min(_FACTOR, requantiser.width - _CODE.width - 1)


def map_requantiser(requantiser: RequantiserSpec) -> RequantiserSpec:
    """Return how sums of a job on maps become codes, by a build's requantiser."""
    return replace(requantiser, n=1, out_width=_CODE.width, per_column=False)


def maps(
    operation: str,
    operands: tuple[np.ndarray, np.ndarray],
    zeros: tuple[int, int],
    factors: tuple[int, int],
    unit: RequantiserSpec,
    to: Requantisation,
) -> np.ndarray:
    """Add or multiply maps of codes, less their zero points, or take the greater code of each two.

    Parameters
    ----------
    operation : of :data:`MAPS`.
    operands : bytes, M x N; of the second one, one row may be for all.
    zeros : the zero point of each.
    factors : what each is multiplied by in a sum, and before they are compared.
    unit, to : how that becomes codes; of :func:`map_requantiser`.

    Returns
    -------
    int64 codes, M x N.
    """
    first, second = (_CODE.wrap(codes) - zero for codes, zero in zip(operands, zeros, strict=True))
    second = np.broadcast_to(second, first.shape)
    if operation == "map_multiply":
        return multiply(first, second, unit, to)
    if operation == "map_max":
        return scale(np.maximum(first * factors[0], second * factors[1]), unit, to)
    return add(first, second, factors, unit, to)


def cycles(rows: int, columns: int, lanes: int, *, one_row: bool) -> int:
    """Count the cycles in which rows of maps are taken, of operands that come without stalls.

    Parameters
    ----------
    rows, columns : of A, one or more each.
    lanes : codes that are taken in a cycle.
    one_row : B is one row, which is taken once.
    """
    row = max(-(-columns // lanes), _STORED)
    return row * (rows + (1 if one_row else rows))
