"""The vector unit: an operation of :mod:`golden.npe.vector` on a row, and its cycles."""

import math
from collections.abc import Sequence

import numpy as np

from golden.npe.vector import VectorUnitSpec, norm, normalised, softmax

__all__ = ["PASS", "cycles", "vector_unit"]

PASS = 5
"""Cycles of a pass beyond one for each beat."""

SUMS = {"softmax": 1, "layer_norm": 2, "rms_norm": 1}
"""Passes over a row before that which makes its codes."""


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


def cycles(spec: VectorUnitSpec, rows: Sequence[tuple[str, np.ndarray]]) -> int:
    """Count the cycles from the first beat of the first row to the last codes, both included.

    A row is written to one of two banks, read for each of its sums, and read once more to be
    scaled, when its scale is found. Passes do not overlap each other; a row's pass for sums does
    not wait while the scale of the row before it is being found. Of rows of one length and many
    beats, each takes n passes of beats + 6 cycles, or a few less.

    Parameters
    ----------
    spec : the unit.
    rows : operation, and 1 .. length values of `spec.in_format`; beats and codes flow without
        stalls.
    """
    beats = free = written = scaled = found = 0
    left = -2
    """Cycle in which a row begins to leave its bank, to the row after the next."""
    known = None
    """Cycle in which the last pass of the row before can begin."""
    for operation, x in rows:
        spec.check_operation(operation)
        before, beats = beats, -(-x.size // spec.lanes)
        written = max(written, left + 2) + beats
        begin = max(free, written, found)
        if known is not None and known <= begin:
            left = max(free, known)
            scaled = free = left + before + PASS + 1
            begin, known = max(free, begin), None
        summed = begin + SUMS[operation] * (beats + PASS) + 1
        free = summed
        if known is not None:
            left = max(free, known)
            scaled = free = left + before + PASS + 1
        found = max(summed, scaled) + 1
        known = found + _scale_cycles(spec, operation, x)
    return max(free, known or 0) + beats + PASS + 2


def _scale_cycles(spec: VectorUnitSpec, operation: str, x: np.ndarray) -> int:
    """Count the cycles in which the scale of a row is found."""
    if operation == "softmax":
        _, exponent = softmax(spec, x)
        # Digits of the reciprocal, after the zeros of as many octaves as the sum has.
        return int(exponent) + PASS
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
    return steps
