"""Lane of 8-bit words: integers, minifloats and posits of up to 8 bits, summed exactly."""

from dataclasses import dataclass

import numpy as np

from golden.npe.lane import LaneSpec, lane_sums

__all__ = ["Sl8Spec", "cycles", "sl8"]


@dataclass(frozen=True, kw_only=True)
class Sl8Spec(LaneSpec):
    """A lane of 8-bit words: a beat is two products where both formats have 4 bits, else one."""


def sl8(
    spec: Sl8Spec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: np.ndarray | int,
    b_format: np.ndarray | int,
    last: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum the products of each run of words; see :func:`golden.npe.lane.lane_sums`.

    Parameters
    ----------
    spec : formats and width of sums.
    a, b : words, one for each beat.
    a_format, b_format : indices of formats; those of the first beat of a run count.
    last : booleans, one for each beat.

    Returns
    -------
    sums, invalid, overflow : one for each `last`.
    """
    return lane_sums(spec, a, b, a_format, b_format, last)


def cycles(
    spec: Sl8Spec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: np.ndarray | int,
    b_format: np.ndarray | int,
    last: np.ndarray,
) -> np.ndarray:
    """Count the cycles that each beat occupies the lane: one.

    Parameters
    ----------
    spec, a, b, a_format, b_format, last : as :func:`sl8`'s; operands and sums flow without stalls.

    Returns
    -------
    int64 cycles, one for each beat. A beat's sum comes the component's latency after its last.
    """
    return np.ones(len(last), dtype=np.int64)
