"""Requantisations of works: float32 scales, exactly."""

import numpy as np

from carrysave.compiler.lowered.operands import Operands
from carrysave.driver import Requantisation
from golden.npe.requantiser import dyadic

__all__ = ["requantised"]


def requantised(
    product: Operands, scale: np.ndarray, rights: list[np.ndarray], ends: tuple[int, int, int]
) -> list[Requantisation]:
    """Make requantisations for the columns of each work.

    Parameters
    ----------
    product : says which columns a work has.
    scale : float32, 1 or N.
    rights : B of each work.
    ends : the zero point, and the least and the greatest code, as the co-processor has them.
    """
    zero, low, high = ends
    multiplier, shift = (product.per_column(one) for one in dyadic(scale))
    one = len(shift) == 1
    multipliers, shifts = (
        [values] * len(rights) if one else product.split(values, rights)
        for values in (multiplier, shift)
    )
    return [
        Requantisation(
            multiplier=int(factor[0]) if len(factor) == 1 else factor,
            shift=int(places[0]) if len(places) == 1 else places,
            zero_point=zero,
            low=low,
            high=high,
        )
        for factor, places in zip(multipliers, shifts, strict=True)
    ]
