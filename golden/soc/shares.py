"""Rows of C of `exps` in the co-processor: codes of whole beats, then exponents of blocks."""

from typing import Any

import numpy as np

from golden.npe.vector import VectorUnitSpec

__all__ = ["first_exponent", "longest_row", "row_of", "share_columns"]


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
