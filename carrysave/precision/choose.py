"""Choice of a format per layer: an integer program, as in HAWQ-V3 (Yao et al., ICML 2021)."""

from collections.abc import Mapping

import numpy as np

__all__ = ["choose"]

_RANGE = 1e4
_TIE = 1e-5


def choose(
    noise: np.ndarray, costs: Mapping[str, np.ndarray], limits: Mapping[str, float]
) -> np.ndarray:
    """Pick an option per layer that minimises the total noise under all limits.

    Ties go to the cheaper pick.

    Parameters
    ----------
    noise : layers x options; infinite for missing options.
    costs : for each kind, layers x options, 0 or more; ignored for missing options.
    limits : for each kind, the maximum total cost.

    Returns
    -------
    The option of each layer.

    Raises
    ------
    ValueError
        No pick meets the limits; states the minimum cost for the first limit that is too low.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load

    layers, options = noise.shape
    there = np.isfinite(noise)
    costs = {kind: np.where(there, cost, 0.0) for kind, cost in costs.items()}
    for kind, limit in limits.items():
        least = np.where(there, costs[kind], np.inf).min(axis=1).sum()
        if least > limit:
            raise ValueError(f"{kind} must be {least:.6g} or more, not {limit:.6g}")
    # The solver's tolerances are absolute; values far below them are ignored.
    objective = np.where(there, noise, 0.0) * (_RANGE / (noise[there].max() or 1.0))
    for kind in limits:
        objective = objective + _TIE * costs[kind] / (costs[kind].max() * layers or 1.0)
    each = np.kron(np.eye(layers), np.ones(options))
    rules = [LinearConstraint(each, 1, 1)]
    rules += [
        LinearConstraint((costs[kind] / limit).reshape(1, -1), -np.inf, 1)
        for kind, limit in limits.items()
        if limit > 0
    ]
    solved = milp(
        objective.reshape(-1),
        integrality=np.ones(noise.size),
        bounds=Bounds(0, there.reshape(-1).astype(float)),
        constraints=rules,
        options={"mip_rel_gap": 0},
    )
    if solved.x is None:
        raise ValueError(f"no choice of formats keeps all of {', '.join(limits)}")
    return solved.x.reshape(layers, options).argmax(axis=1)
