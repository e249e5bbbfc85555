"""Weights of a file's matrix as an engine has them: integers in groups, with scales of fp16."""

import math

import numpy as np

from carrysave.errors import UsageError
from carrysave.weights.tables import nearest, table_for
from golden.lut.weights import GroupedWeights

__all__ = ["error_of", "fitted", "grouped_weights", "nearest_trits", "rounded_weights"]

_MOST_ROWS, _FEW_ROWS = 128, 32
"""Of a group that stays as it is; of the parts of a larger one."""

_BYTE = 8
"""Bits of a table's number."""


def grouped_weights(
    integers: np.ndarray,
    scales: np.ndarray,
    offsets: np.ndarray | None = None,
    *,
    bits: int,
    ternary: bool = False,
) -> GroupedWeights:
    """Return weights whose scales and offsets are rounded to fp16, inputs x outputs.

    Parameters
    ----------
    integers : that scales multiply, outputs x inputs; with offsets from 0 on.
    scales, offsets : outputs x groups.
    bits : of a code.
    ternary : integers are -1, 0 and 1, in two bits.

    Raises
    ------
    UsageError
        fp16 does not have a scale or an offset.
    """
    codes, group = integers.T, integers.shape[1] // scales.shape[1]
    levels, zeros = "ternary" if ternary else "uniform", None
    if offsets is not None:
        levels = "affine"
    elif not ternary:
        zeros = np.full(scales.T.shape, 1 << bits - 1)
    zero = 1 if ternary else 0 if zeros is None else 1 << bits - 1
    return GroupedWeights(
        codes=codes + zero,
        bits=bits,
        levels=levels,
        group=group,
        scale_format="fp16",
        scales=_halves(scales, "scales"),
        zeros=zeros,
        offsets=None if offsets is None else _halves(offsets, "offsets"),
    )


def fitted(weights: GroupedWeights) -> tuple[GroupedWeights, float]:
    """Return weights with scales of fp16, in groups of 128 rows at most.

    A larger group becomes several of 32 or fewer, with the same scale and zero point, so that each
    has activations with an exponent of their own, and sums that float32 has exactly.

    Parameters
    ----------
    weights : uniform, with a scale for each group of a column.

    Returns
    -------
    Weights; and how far they are off, relative, as rms: 0 if scales were of fp16.

    Raises
    ------
    UsageError
        Rows are not whole groups, or fp16 does not have a scale.
    """
    depth, group = weights.codes.shape[0], weights.group
    if depth % group:
        raise UsageError(f"rows must be whole groups of {group}, not {depth}")
    size = group
    if group > _MOST_ROWS:
        size = max(one for one in range(1, _FEW_ROWS + 1) if group % one == 0)
    scales, zeros = weights.scales, weights.zeros
    if weights.scale_format != "fp16":
        scales = _halves(weights.scale_values().to_odd().T, "scales")
    made = weights.replaced(
        group=size,
        scale_format="fp16",
        scales=np.repeat(scales, group // size, axis=0),
        zeros=None if zeros is None else np.repeat(zeros, group // size, axis=0),
    )
    exact = weights.scale_format == "fp16"
    return made, 0.0 if exact else error_of(made, weights.values().T)


def rounded_weights(values: np.ndarray, *, bits: int | str, group: int) -> GroupedWeights:
    """Round floats to integers in groups, whose greatest magnitude has the greatest integer.

    Of a table, they are its numbers, of 8 bits.

    Floats that are all 0 and one magnitude are trits, with a scale for all of a column.

    Parameters
    ----------
    values : outputs x inputs.
    bits : of a code, 2 to 8; or a table of :data:`.tables.BOOKS`.
    group : inputs that share a scale.

    Raises
    ------
    UsageError
        Rows are not whole groups; or as :func:`grouped_weights`.
    """
    outputs, inputs = values.shape
    scale = np.abs(values).max()
    if scale and not isinstance(bits, str) and np.isin(np.abs(values), (0, scale)).all():
        scales = np.full((outputs, 1), scale)
        return grouped_weights(np.sign(values).astype(np.int64), scales, bits=2, ternary=True)
    if inputs % group:
        raise UsageError(f"rows must be whole groups of {group}, to be rounded, not {inputs}")
    width = _BYTE if isinstance(bits, str) else bits
    parts, most = values.reshape(outputs, -1, group), (1 << width - 1) - 1
    scales = np.abs(parts).max(axis=-1) / most
    with np.errstate(over="ignore"):
        steps = scales.astype(np.float16).astype(np.float64)[..., None]
    codes = np.divide(parts, steps, out=np.zeros(parts.shape), where=steps > 0)
    if isinstance(bits, str):
        table = table_for(bits, codes)
        integers = table[nearest(codes, table)]
    else:
        integers = np.clip(np.rint(codes), -most, most).astype(np.int64)
    return grouped_weights(integers.reshape(outputs, inputs), scales, bits=width)


def nearest_trits(values: np.ndarray) -> np.ndarray:
    """Round floats to -1, 0 and 1 times the mean of their magnitudes, as BitNet b1.58 does."""
    scale = max(float(np.abs(values.astype(np.float64)).mean()), 1e-5)
    return np.asarray(np.clip(np.rint(values / scale), -1, 1) * scale)


def error_of(weights: GroupedWeights, values: np.ndarray) -> float:
    """Return how far weights are from a file's values, outputs x inputs: relative, as rms."""
    squares = np.square(values.astype(np.float64)).sum()
    wrong = np.square(weights.values().T - values).sum()
    return math.sqrt(wrong / squares) if squares else 0.0


def _halves(values: np.ndarray, name: str) -> np.ndarray:
    """Return the codes of fp16, groups x outputs."""
    with np.errstate(over="ignore"):
        halves = np.ascontiguousarray(values.T).astype(np.float16)
    if not np.isfinite(halves).all():
        most = np.abs(values).max()
        raise UsageError(f"{name} must be finite in fp16, to 65504, not {most:.6g}")
    return halves.view(np.uint16).astype(np.int64)
