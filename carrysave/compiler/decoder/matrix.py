"""Matrices of weights in groups in a decoder's program, and products by them."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program import group_jobs
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.build import Builder, Weights
from carrysave.compiler.program.floats import Format, Operation
from golden.lut.grouped import FastWeights

__all__ = ["F32", "F64", "I8", "I16", "I32", "SUMS", "Matrix", "multiplied", "placed"]

F32, F64, I8, I16, I32 = Format.F32, Format.F64, Format.I8, Format.I16, Format.I32
SUMS = {16: I16, 32: I32}
"""By their bits in memory."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix in memory.

    Members
    -------
    weights : what it is.
    codes : as the engine takes them.
    scales, offsets : groups x columns, fp16; no offsets: None.
    grouped : the co-processor scales sums of groups, and adds them up: no step on floats does.
    """

    weights: FastWeights
    codes: Weights
    scales: Buffer
    offsets: Buffer | None
    grouped: bool = False


def placed(
    to: Builder, weights: FastWeights, *, beside: bool = False, packs: bool = True
) -> Matrix:
    """Place a matrix.

    Parameters
    ----------
    beside, packs : digits of a weight may lie side by side, or zeros be left out, see
        :meth:`.Builder.weights`.
    """
    codes = to.weights(weights.integers.astype(np.int64), beside=beside, packs=packs)
    scales, offsets = to.constant(weights.scales, Format.F16), None
    if weights.offsets is not None:
        offsets = to.constant(weights.offsets, Format.F16)
    whole = len(codes.parts) == codes.beside == 1 and not codes.offset and offsets is None
    _, size, columns = weights.integers.shape
    shape = len(weights.integers) * size, columns
    grouped = whole and group_jobs.scales_groups(to.image.target, size, shape, "fp16")
    return Matrix(weights, codes, scales, offsets, grouped)


def multiplied(
    to: Builder, codes: Buffer, powers: Buffer, matrix: Matrix, lists: Buffer | None = None
) -> Buffer:
    """Multiply groups of a row by groups of weights, and add the sums, scaled.

    Parameters
    ----------
    powers : of groups; bytes, where the co-processor scales them.
    lists : of the places of each group that count; None: all do.
    """
    (groups, size, columns), b = matrix.weights.shape, matrix.codes
    if matrix.grouped:
        c, at = to.array(F32, columns), (powers.turned, matrix.scales)
        to.product(codes, b.parts[0], c, at=at)
        return c
    sums = SUMS[to.image.target.info.sums.bits]
    whole = [to.array(sums, columns * b.beside, groups) for _ in b.parts]
    for c, part in zip(whole, b.parts, strict=True):
        depth = part.rows // groups
        for group in range(groups):
            to.product(
                codes.across(group * size, size),
                part.at(group * depth, depth),
                c.at(group, 1),
                macs=size * columns if c is whole[0] else 0,
                at=None if lists is None else lists.at(group, 1),
            )
    every = [one.across(digit, columns, b.beside) for one in whole for digit in range(b.beside)]
    ones = None
    if matrix.offsets is not None or b.offset:
        ones = to.floats(Operation.SUM, to.array(I32, groups).turned, codes.split(size))
    total = _added(to, every, b, ones)
    return to.floats(
        Operation.GROUPS,
        to.array(F32, columns),
        total,
        matrix.scales,
        powers.turned,
        ones,
        matrix.offsets,
    )


def _added(to: Builder, every: list[Buffer], b: Weights, ones: Buffer | None) -> Buffer:
    """Add up the sums of digits, and what these are less."""
    total = every[0]
    if (len(every) > 1 or b.offset) and total.format != I32:
        total = to.floats(Operation.COPY, to.array(I32, total.columns, total.rows), total)
    for sums, shift in zip(every[1:], b.places[1:], strict=True):
        more = sums
        if sums.format != I32:
            more = to.array(I32, sums.columns, sums.rows)
        to.floats(Operation.COPY, more, sums, shift=shift)
        to.floats(Operation.ADD, total, total, more)
    if b.offset:
        assert ones is not None
        less = to.array(I32, ones.rows).turned
        to.floats(Operation.MULTIPLY, less, ones, to.constant(b.offset, F64))
        to.floats(Operation.ADD, total, total, less)
    return total
