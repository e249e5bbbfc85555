"""Requantisations to test with: corners and random ones, and sums that they bring to a tie."""

import numpy as np

from carrysave.sim.operands import uniform
from golden.npe.requantiser import Requantisation, RequantiserSpec
from verif.support.vectors import corners

__all__ = ["draw", "unit"]


def draw(
    rng: np.random.Generator, spec: RequantiserSpec, number: int, shift: int | None = None
) -> Requantisation:
    """Draw a requantisation, of another kind for each of 12 numbers; with this shift or any.

    Multipliers are the greatest, a power of two, zero among them, or random; shifts mostly ones
    with which sums become codes.
    """
    top = spec.multiplier_format.high
    multiplier = uniform(rng, spec.multiplier_format, spec.scales)
    if number % 4 == 1:
        multiplier[:] = top
    elif number % 4 == 2:
        multiplier = 1 << rng.integers(spec.multiplier_width, size=spec.scales)
    elif number % 4 == 3:
        multiplier |= (top + 1) >> 1
    least = max(0, spec.multiplier_width - 4)
    most = min(spec.width + spec.multiplier_width, 63)
    shifts = rng.integers(least, most, spec.scales, endpoint=True)
    if shift is not None:
        shifts[:] = shift
    zero_point = uniform(rng, spec.out_format, spec.scales)
    if number % 3 == 0:
        zero_point = rng.choice(corners(spec.out_format), spec.scales)
    low, high = spec.out_format.low, spec.out_format.high
    relu = number % 6 < 2
    if number % 2 and not relu:
        low, high = sorted(uniform(rng, spec.out_format, 2).tolist())
    return Requantisation(
        multiplier=multiplier,
        shift=shifts,
        zero_point=zero_point,
        bias=uniform(rng, spec.sum_format, spec.n) if spec.bias else None,
        low=low,
        high=high,
        relu=relu,
    )


def unit(
    rng: np.random.Generator, spec: RequantiserSpec, how: Requantisation, shape: tuple[int, ...]
) -> np.ndarray:
    """Draw sums, less the bias, whose codes before zero point and limits are small: ties often.

    They are multiples of half a code, to the nearest; not reduced to the format.
    """
    scale = np.ldexp(np.maximum(how.multiplier, 1).astype(np.float64), -how.shift)
    halves = rng.integers(-1 << spec.out_width + 1, 1 << spec.out_width + 1, shape) / 2
    sums = np.clip(halves / scale, -(2.0**62), 2.0**62).astype(np.int64)
    return sums if how.bias is None else sums - how.bias
