"""Rows of C of `exps` in the co-processor: codes of whole beats, then exponents of blocks.

A build with `shares` makes octaves of exponents: how far a block's is below what the sum of its row
needs. Products of such rows shift the sums of each block by them, before these are added.
"""

from typing import Any

import numpy as np

from golden.npe.vector import VectorUnitSpec, bit_length
from golden.soc.containers import wrap
from golden.soc.memory import Matrix

__all__ = [
    "LAST",
    "first_exponent",
    "guard_bits",
    "longest_row",
    "octave_rows",
    "octaves",
    "row_of",
    "share_columns",
    "share_fraction",
    "shares_blocks",
    "shifted_sums",
    "shifts",
]

LAST = 63
"""Most octaves of which a shift takes notice: those of more leave nothing but a sign, either."""
_MOST = 127
"""Greatest number of octaves that a row has."""


def first_exponent(unit: VectorUnitSpec, count: int) -> int:
    """Return the column of the first exponent of a row: codes fill their last beat, with zeros."""
    return -(-count // unit.lanes) * unit.lanes


def share_columns(unit: VectorUnitSpec, operation: str, count: int) -> int:
    """Return the columns of a row of C of `count` values: a softmax has one exponent more."""
    if operation == "exps":
        return first_exponent(unit, count) + unit.blocks(count)
    return count + (operation == "softmax")


def longest_row(spec: Any) -> int:
    """Return the most bytes of a row of a vector job; 0 without a unit.

    Of a :class:`golden.soc.spec.CoprocessorSpec`, which is not known here.
    """
    unit: VectorUnitSpec | None = spec.vector
    if unit is None:
        return 0
    columns = unit.length + 1
    if unit.builds(["exps"]):
        columns = max(columns, share_columns(unit, "exps", unit.length))
    return columns * max(spec.vector_in_bytes, spec.vector_out_bytes, 2 * spec.depthwise)


def row_of(unit: VectorUnitSpec, codes: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Put the exponents of rows, or of their blocks, behind their codes."""
    if exponents.ndim == codes.ndim:
        behind = first_exponent(unit, codes.shape[1]) - codes.shape[1]
        return np.concatenate([np.pad(codes, [(0, 0), (0, behind)]), exponents], axis=1)
    return np.concatenate([codes, exponents[:, None]], axis=1)


def shifts(spec: Any, job: Any) -> bool:
    """Return whether a product shifts sums of blocks: A has octaves, at a step that is not 0."""
    return bool(spec.shares and job.vector is None and job.ldsa)


def octave_rows(spec: Any, job: Any) -> dict[str, Matrix]:
    """Lay out the octaves of the blocks of A, if a product has them, as its side bytes."""
    if not shifts(spec, job):
        return {}
    size = {"columns": spec.vector.blocks(job.k), "distance": job.ldsa, "bits": 8}
    return {"a_scales": Matrix(address=job.a_scales, rows=job.m, **size)}


def shares_blocks(spec: Any, job: Any) -> bool:
    """Return whether a product has blocks that it shifts, if any: each is one of exps along K."""
    sizes = job.block_m, job.block_n, job.block_k * spec.inside.k
    return not shifts(spec, job) or (all(sizes) and sizes[2] == spec.vector.block)


def guard_bits(unit: VectorUnitSpec) -> int:
    """Return the bits below a code's last one that the sum of a row has.

    Each beat may lose two units of these; so few that the sum is never below half of what it is.
    """
    return max((unit.beats - 1).bit_length() + 1 - unit.share_width, 0)


def octaves(unit: VectorUnitSpec, codes: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Return by how many octaves each block of rows of shares is below its row.

    Codes, shifted to the right by the octaves of their block, sum up to less than
    2^(share_width + 1), and, but for rounding, to 2^(share_width - 1) or more: so sums of shares
    times values never overflow, however long a row is, and have all bits that there are where they
    are divided. The sum is that of beats, in order, relative to the greatest exponent so far: what
    is below :func:`guard_bits` is cut off.

    Parameters
    ----------
    unit : lanes, block, length.
    codes, exponents : of :func:`golden.npe.exps.exps`, of rows along the last axis.

    Returns
    -------
    int64 of 0..127, of the shape of `exponents`.
    """
    guard, lanes = guard_bits(unit), unit.lanes
    padded = np.pad(codes, [(0, 0), (0, -codes.shape[1] % lanes)])
    of_beats = padded.reshape(len(codes), -1, lanes).sum(axis=2) << guard
    top, total = exponents[:, 0], np.zeros(len(codes), np.int64)
    for beat, more in enumerate(of_beats.T):
        exponent = exponents[:, beat * lanes // unit.block]
        above = exponent - top
        total = (total >> np.clip(above, 0, LAST)) + (more >> np.clip(-above, 0, LAST))
        top = np.maximum(top, exponent)
    carried = np.maximum(bit_length(total) - guard - unit.share_width, 0)
    return np.clip((top + carried)[:, None] - exponents, 0, _MOST)


def share_fraction(spec: Any) -> int:
    """Return the bits of a sum of shares times values below the last one of a code times a value.

    Of a :class:`golden.soc.spec.CoprocessorSpec`: the most that a sum of a row has room for.
    """
    engine, unit = spec.inside.spec, spec.vector
    magnitude = engine.b_format.width - engine.b_format.signed
    return int(spec.inside.sum_width - 2 - unit.share_width - magnitude)


def shifted_sums(
    spec: Any, a: np.ndarray, b: np.ndarray, below: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Multiply rows of shares by values: the sums of each block are shifted, then added.

    They are in units of 2^-f of :func:`share_fraction`. A block that is f octaves below its row, or
    fewer, is added exactly; of one further down, what is below a unit is cut off.

    Parameters
    ----------
    spec : the build.
    a, b : words of A, M x K, and of B.
    below : M x blocks, octaves of :func:`octaves`; all from :data:`LAST` on are alike.

    Returns
    -------
    Sums modulo 2^width, and that none is invalid.
    """
    fraction, block = share_fraction(spec), spec.vector.block
    sums = np.zeros((len(a), b.shape[1]), np.int64)
    for number, places in enumerate(np.minimum(below, LAST).T):
        part = slice(number * block, (number + 1) * block)
        of_block, _ = spec.inside.sums(a[:, part], b[part], a[:, part].shape[1], (0, 0))
        sums += (of_block << fraction) >> places[:, None]
    return wrap(sums, spec.inside.sum_width, spec.inside.signed), np.zeros(sums.shape, bool)
