"""Which experts a token takes, and how much of each."""

import numpy as np

from carrysave.compiler.decoder.units import Units
from carrysave.compiler.front.decoder import Experts
from golden.elementary import exp

__all__ = ["routed"]

_BITS = 16


def routed(experts: Experts, h: np.ndarray, units: Units) -> np.ndarray:
    """Return shares of experts, rows x experts; of those that a row does not take, 0.

    Sums are exact integers, of rows in 16 bits with an exponent for each. Of equal ones the first
    experts are taken. The softmax is of doubles.
    """
    codes, powers = units.aligned(h, _BITS, h.shape[-1])
    sums = codes.astype(np.float64) @ experts.router.T.astype(np.float64)
    scores = np.ldexp(sums, powers) * experts.scales
    shares = exp(scores - scores.max(axis=1, keepdims=True))
    shares /= np.cumsum(shares, axis=1)[:, -1:]
    left = np.argsort(-scores, axis=1, kind="stable")[:, experts.used :]
    np.put_along_axis(shares, left, 0.0, axis=1)
    if experts.renormalised:
        shares /= np.cumsum(shares, axis=1)[:, -1:]
    return shares
