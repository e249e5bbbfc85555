"""Vector jobs on maps of codes: their operations, and how their sums become codes."""

from dataclasses import replace

import numpy as np

from golden.formats.integer import IntFormat
from golden.npe.elements import add, multiply
from golden.npe.requantiser import Requantisation, RequantiserSpec

__all__ = ["MAPS", "factor_width", "map_requantiser", "maps"]

MAPS = ("map_add", "map_multiply")
"""Operations on maps of codes with zero points, whose sums the build's requantiser rounds."""
_CODE = IntFormat(width=8)
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
    """Add or multiply maps of codes, less their zero points.

    Parameters
    ----------
    operation : of :data:`MAPS`.
    operands : bytes, M x N; of the second one, one row may be for all.
    zeros : the zero point of each.
    factors : what each is multiplied by in a sum.
    unit, to : how that becomes codes; of :func:`map_requantiser`.

    Returns
    -------
    int64 codes, M x N.
    """
    first, second = (_CODE.wrap(codes) - zero for codes, zero in zip(operands, zeros, strict=True))
    second = np.broadcast_to(second, first.shape)
    if operation == "map_multiply":
        return multiply(first, second, unit, to)
    return add(first, second, factors, unit, to)
