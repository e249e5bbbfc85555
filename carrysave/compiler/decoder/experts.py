"""Which experts a token takes, and how much of each."""

import numpy as np

from carrysave.compiler.decoder.units import Units
from carrysave.compiler.front.decoder import Experts
from golden import single

__all__ = ["ROUTER_BITS", "SCORE_BITS", "routed"]

ROUTER_BITS = 16
"""Of activations that meet the router."""
SCORE_BITS = 16
"""Of an expert's score, with an exponent for all of a token: as jobs compare them."""


def routed(experts: Experts, h: np.ndarray, units: Units) -> tuple[np.ndarray, np.ndarray]:
    """Return which experts each row takes, the greatest score first, and their shares.

    Sums are exact integers, of rows in 16 bits with an exponent for each. Scores are rounded to 16
    bits, with one exponent for each row; of equal ones the first experts are taken. Powers of e are
    of 32 bits, their sum and quotients are doubles.

    Returns
    -------
    Experts, and shares, rows x experts of a token.
    """
    codes, powers = units.aligned(h, ROUTER_BITS, h.shape[-1])
    sums = codes.astype(np.float64) @ experts.router.T.astype(np.float64)
    scores = np.ldexp(sums, powers) * experts.scales
    ranks, steps = units.aligned(scores, SCORE_BITS, scores.shape[-1])
    differences = np.ldexp((ranks - ranks.max(axis=1, keepdims=True)).astype(np.float64), steps)
    every = single.exp(differences.astype(np.float32)).astype(np.float64)
    chosen = np.argsort(-ranks, axis=1, kind="stable")[:, : experts.used]
    some = np.take_along_axis(every, chosen, axis=1)
    whole = some if experts.renormalised else every
    return chosen, some / np.cumsum(whole, axis=1)[:, -1:]
