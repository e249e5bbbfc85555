"""The vector unit: an operation of :mod:`golden.npe.vector` on a row, and its cycles."""

import math

import numpy as np

from golden.npe.vector import VectorUnitSpec, norm, normalised, softmax

__all__ = ["cycles", "vector_unit"]

_PASS = 5
"""Cycles of a pass beyond one for each beat."""


def vector_unit(spec: VectorUnitSpec, operation: str, x: np.ndarray) -> tuple[np.ndarray, int]:
    """Compute a row of codes.

    Parameters
    ----------
    spec : the unit.
    operation : one of `spec.operations`.
    x : of `spec.in_format`, 1 .. length values.

    Returns
    -------
    int64 codes, as many as values, and n: a code represents its value times 2^-n.
    """
    spec.check_operation(operation)
    if operation == "softmax":
        codes, exponent = softmax(spec, x)
        return codes, int(exponent)
    return norm(spec, x, centred=operation == "layer_norm"), spec.norm_fraction


def cycles(spec: VectorUnitSpec, operation: str, x: np.ndarray) -> int:
    """Count the cycles from the first beat of a row to its last codes, both included.

    Parameters
    ----------
    spec : the unit.
    operation : one of `spec.operations`.
    x : of `spec.in_format`, 1 .. length values; the beats and the codes flow without stalls.
    """
    spec.check_operation(operation)
    beats = -(-x.size // spec.lanes)
    if operation == "softmax":
        _, exponent = softmax(spec, x)
        # Digits of the reciprocal, after the zeros of as many octaves as the sum has.
        return 3 * beats + int(exponent) + 8 + _PASS * 2
    centred = operation == "layer_norm"
    total, count_width = abs(int(x.sum())), spec.length.bit_length()
    power = x.size * int((x * x).sum()) - total * total * centred
    magnitude_width = spec.width - 1 + count_width
    steps = x.size.bit_length() + 1 + total.bit_length() * centred + 1
    if power:
        root_width = spec.ROOT_FRACTION + (count_width + 2 * spec.width + count_width) // 2
        root = math.isqrt(power << 2 * spec.ROOT_FRACTION)
        shift = normalised(x.size, root, spec.reciprocal_width)[1]
        steps += root_width + magnitude_width + spec.MEAN_FRACTION + shift + count_width
    passes = 2 + centred
    return (passes + 1) * beats + steps + 3 + _PASS * passes
