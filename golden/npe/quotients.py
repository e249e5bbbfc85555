"""Powers of two over integers, where the power may be beyond 64 bits and the quotient is not."""

import numpy as np

__all__ = ["quotients"]

_MOST = 62
"""The greatest exponent of a power of two in int64."""


def quotients(powers: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    """Divide 2^`powers` by `divisors`, rounded down; quotients have 62 bits at most."""
    large = powers > _MOST
    made = (np.int64(1) << np.where(large, 0, powers)) // divisors
    for place in zip(*np.nonzero(large), strict=True):
        made[place] = (1 << int(powers[place])) // int(divisors[place])
    return np.asarray(made)
