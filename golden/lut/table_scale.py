"""Tables rounded to int8, with one scale for a few tables: of fp32, or a power of two."""

import numpy as np

from golden.check import Choice
from golden.lut.lookup import LookupSpec
from golden.lut.table import fold, keys, lookup

__all__ = ["RULES", "quantise_tables", "scaled_matmul"]

RULES = Choice("how tables are scaled", "fp32", ("fp32", "pow2"))
_HIGH = 127
_NORMAL = np.finfo(np.float32).tiny


def quantise_tables(
    entries: np.ndarray, tables: int, *, rule: str = "fp32"
) -> tuple[np.ndarray, np.ndarray]:
    """Round entries to -127..127, to the nearest, ties to even; one scale for so many tables.

    Rule "fp32": the scale is the greatest magnitude / 127, rounded to fp32, its reciprocal is
    rounded to fp32, and so is an entry times that, before it is rounded to an integer. Rule "pow2":
    the scale is the least power of two, 1 at least, by which the greatest magnitude, rounded, is
    127 at most; entries must be integers. Where all entries are 0, the scale is 0 (fp32) or 1
    (pow2), and they stay 0. A subnormal scale of fp32 counts as 0.

    Parameters
    ----------
    entries : M x groups x entries; of floats, what fp32 holds.
    tables : tables per scale; the last of a row may be fewer.
    rule : "fp32" or "pow2".

    Returns
    -------
    codes : int64, as many as entries.
    scales : doubles, M x groups, each table's.
    """
    RULES.check("rule", rule)
    if not np.isfinite(entries).all():
        raise ValueError("entries must be finite, not infinities or NaNs")
    starts = np.arange(0, entries.shape[1], tables)
    greatest = np.abs(entries).max(axis=2)
    greatest = np.maximum.reduceat(greatest, starts, axis=1)
    if rule == "pow2":
        exponents = np.zeros(greatest.shape, dtype=np.int64)
        while (over := _shift(greatest, exponents) > _HIGH).any():
            exponents += over
        spread = exponents[:, np.arange(entries.shape[1]) // tables]
        return _shift(entries, spread[:, :, None]), np.ldexp(1.0, spread)
    scales = (greatest.astype(np.float64) / _HIGH).astype(np.float32)
    scales[scales < _NORMAL] = 0
    with np.errstate(divide="ignore"):
        inverse = np.where(scales > 0, np.float32(1) / scales, np.float32(0))
    at = np.arange(entries.shape[1]) // tables
    scaled = entries.astype(np.float32) * inverse[:, at, None]
    codes = np.clip(np.rint(scaled), -_HIGH, _HIGH).astype(np.int64)
    return codes, scales[:, at].astype(np.float64)


def scaled_matmul(
    spec: LookupSpec, codes: np.ndarray, scales: np.ndarray, weights: np.ndarray, tables: int
) -> np.ndarray:
    """Multiply by lookup in scaled tables.

    What tables of one scale give is summed in integers, over all planes; scaled, that is rounded to
    fp32, and added in fp32 to the sum so far, in order of K. All to the nearest, ties to even.

    Parameters
    ----------
    spec : group and planes.
    codes, scales : as :func:`quantise_tables` returns them.
    weights : codes on the odd grid, K x N; K at most that of the tables.
    tables : tables per scale.

    Returns
    -------
    float32 sums, M x N.
    """
    more = codes.shape[1] * spec.group - weights.shape[0]
    folded = fold(np.pad(weights, ((0, more), (0, 0))), spec.group)
    planes = []
    for plane in range(spec.planes):
        index, sign = keys(folded, spec.group, plane)
        looked_up = lookup(codes, index)
        planes.append(np.where(sign, -looked_up, looked_up) << plane)
    starts = np.arange(0, codes.shape[1], tables)
    sums = np.add.reduceat(sum(planes), starts, axis=1)
    total = np.zeros((codes.shape[0], weights.shape[1]), dtype=np.float32)
    for number, start in enumerate(starts):
        total = total + (sums[:, number] * scales[:, start, None]).astype(np.float32)
    return total


def _shift(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Divide integers by powers of two, to the nearest, ties to even."""
    half = np.int64(1) << exponents >> 1
    odd = values >> exponents & 1
    return np.where(exponents > 0, values + half - 1 + odd >> exponents, values)
