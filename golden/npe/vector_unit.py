"""The vector unit: an operation of :mod:`golden.npe.vector` on a row, and its cycles."""

import math
from collections.abc import Sequence

import numpy as np

from golden.npe.elements import add, gate, multiply, scale
from golden.npe.exps import divide, exps, reciprocals
from golden.npe.norms import norm, normalised
from golden.npe.requantiser import Requantisation
from golden.npe.vector import PAIRS, SCALED, SUMS, VectorUnitSpec, softmax

__all__ = ["PASS", "cycles", "vector_rows", "vector_unit"]

PASS = VectorUnitSpec.PASS
"""Cycles of a pass beyond one for each beat."""


def vector_unit(
    spec: VectorUnitSpec,
    operation: str,
    x: np.ndarray,
    to: Requantisation | None = None,
    other: np.ndarray | None = None,
) -> tuple[np.ndarray, int]:
    """Compute a row of codes; see :func:`vector_rows`. Not of `exps`, which has more exponents.

    Returns
    -------
    int64 codes, as many as values, and n: a code represents its value times 2^-n. It is 0 of those
    that are requantised.
    """
    codes, exponents = vector_rows(spec, operation, x, to, other)
    return codes, int(exponents)


def vector_rows(
    spec: VectorUnitSpec,
    operation: str,
    x: np.ndarray,
    to: Requantisation | None = None,
    other: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute rows of codes, each by itself.

    Parameters
    ----------
    spec : the unit.
    operation : one of `spec.operations`.
    x : of `spec.in_format`, rows along the last axis, 1 .. `spec.most(operation)` values each.
    to : of gates, sums, products, and values as they are: how these become codes, by
        `spec.scaling`.
    other : of sums and products: the other operand, as `x`.

    Returns
    -------
    int64 codes, as many as values, and the exponent of each row; of `exps`, of each of its blocks.
    """
    spec.check_operation(operation)
    for name, given, needed in (("to", to, SCALED), ("other", other, PAIRS)):
        if (given is None) == (operation in needed):
            raise ValueError(f"{name} must be given for {', '.join(needed)}, not for {operation}")
    if operation == "softmax":
        return softmax(spec, x)
    if operation == "exps":
        return exps(spec, x)
    if to is None:
        codes = norm(spec, x, centred=operation == "layer_norm")
        return codes, np.full(x.shape[:-1], spec.norm_fraction)
    for name, rows in (("x", x), ("other", x if other is None else other)):
        spec.in_format.check(name, rows)
        if not 1 <= rows.shape[-1] <= spec.most(operation):
            raise ValueError(
                f"rows must be of 1..{spec.most(operation)} values, not {rows.shape[-1]}"
            )
    if operation == "divide":
        codes = divide(spec, x, to)
    elif operation == "scale":
        codes = scale(x, spec.scaling, to)
    elif other is None:
        codes = gate(spec, operation, x, spec.scaling, to)
    elif operation == "add":
        codes = add(x, other, (1, 1), spec.scaling, to)
    else:
        codes = multiply(x, other, spec.scaling, to)
    return codes, np.zeros(x.shape[:-1], np.int64)


def cycles(spec: VectorUnitSpec, rows: Sequence[tuple[str, np.ndarray]]) -> int:
    """Count the cycles from the first beat of the first row to the last codes, both included.

    A row is written to one of two banks, read for each of its sums, and read once more to be
    scaled, when its scale is found. Passes do not overlap each other; a row's pass for sums does
    not wait while the scale of the row before it is being found. Of rows of one length and many
    beats, each takes n passes of beats + :data:`PASS` + 1 cycles, or a few less.

    Parameters
    ----------
    spec : the unit.
    rows : operation, and 1 .. length values of `spec.in_format`; beats and codes flow without
        stalls.
    """
    free = written = scaled = free_sums = 0
    left = -2
    """Cycle in which a row begins to leave its bank, to the row after the next."""
    known: int | None = None
    """Cycle in which the last pass of the row before can begin."""
    before = ("", 0)

    def leave(start: int) -> tuple[int, int, int]:
        """Return when a bank can be written, when the last pass ends, and when the next can begin.

        That is, when the scale of the next row can be found.
        """
        name, count = before
        reads, ends = spec.last_pass(name, count)
        scales = start + 2 if name == "divide" else start + ends
        return start + (0 if name in SUMS else reads - 1), start + ends, scales

    for operation, x in rows:
        spec.check_operation(operation)
        beats = -(-x.size // spec.lanes)
        written = max(written, left + 2) + beats * (2 if operation in PAIRS else 1)
        # A division waits for no pass to find its scale.
        passes = operation != "divide"
        begin = max(free * passes, written, free_sums)
        if known is not None and known <= begin:
            left, free, scaled = leave(max(free, known))
            begin, known = max(free * passes, begin), None
        sums = SUMS.get(operation, 0)
        summed = begin + sums * (beats + PASS) + 1
        free = summed if sums else max(free, begin * passes)
        if known is not None:
            left, free, scaled = leave(max(free, known))
        before = operation, beats
        free_sums = max(summed, scaled) + 1
        known = free_sums + _scale_cycles(spec, operation, x)
    return leave(max(free, known or 0))[1] + 1


def _scale_cycles(spec: VectorUnitSpec, operation: str, x: np.ndarray) -> int:
    """Count the cycles in which the scale of a row is found."""
    if operation == "softmax":
        return spec.scale_cycles(operation, x.size, int(softmax(spec, x)[1]), 0)
    if operation == "divide":
        return spec.scale_cycles(operation, x.size, int(reciprocals(spec, x[-1])[1]), 0)
    if operation not in SUMS:
        return 0
    centred = operation == "layer_norm"
    total = abs(int(x.sum())) * centred
    power = x.size * int((x * x).sum()) - total * total
    root = math.isqrt(power << 2 * spec.ROOT_FRACTION)
    digits = normalised(x.size, root, spec.reciprocal_width)[1] if power else -1
    return spec.scale_cycles(operation, x.size, digits, total.bit_length())
