"""From integer sums of groups to numbers: zero points, group scales, activations' scales."""

import numpy as np

from golden.formats.exact import Exact
from golden.formats.names import minifloat
from golden.lut.weights import GroupedWeights

__all__ = ["activation_sums", "group_sums", "scale_groups", "without_zeros"]

_FP32 = minifloat("fp32")


def activation_sums(a: np.ndarray, group: int) -> np.ndarray:
    """Return the sums of activations of each group of K, groups x M; each is needed once a row."""
    return np.add.reduceat(a, np.arange(0, a.shape[1], group), axis=1).T


def without_zeros(sums: np.ndarray, zeros: np.ndarray, activations: np.ndarray) -> np.ndarray:
    """Subtract zero points of the odd grid, and halve, exactly.

    The sum is halved, not the scale: half a scale may not be representable.

    Parameters
    ----------
    sums : sums on the odd grid, groups x M x N.
    zeros : zero points z', all odd, groups x N.
    activations : sums of activations, groups x M.

    Returns
    -------
    The sums of activations times code less zero point, groups x M x N.
    """
    twice = sums - zeros[:, None, :] * activations[:, :, None]
    assert not (twice & 1).any()
    return twice >> 1


def group_sums(a: np.ndarray, weights: np.ndarray, group: int) -> np.ndarray:
    """Multiply integers, the groups of K apart: groups x M x N."""
    starts = range(0, a.shape[1], group)
    return np.stack([a[:, x : x + group] @ weights[x : x + group] for x in starts])


def scale_groups(
    weights: GroupedWeights,
    sums: np.ndarray,
    activations: np.ndarray | None = None,
    *,
    exponents: np.ndarray | None = None,
    invalid: np.ndarray | None = None,
) -> np.ndarray:
    """Scale the sums of groups and accumulate them in fp32, in order of K.

    A group's sum times its scale, which is exact, is rounded to fp32, and added in fp32 to the sum
    so far, from +0; of "bcq" a plane's sum times the plane's scale, the least plane first; with
    offsets, then the activations' sum times the offset. With scales of "int8", sums times scales
    are added up exactly, and times the column's scale rounded once. All rounding is to nearest
    even. A NaN scale makes its column NaN.

    Parameters
    ----------
    weights : scales and their format.
    sums : of activations times :attr:`GroupedWeights.integers`, groups x M x N; of "bcq", of
        activations times signs, W x groups x M x N.
    activations : with offsets, their sums, groups x M.
    exponents : of powers of two by which activations are scaled, groups x M or, for all groups,
        1 x M; 0 by default.
    invalid : rows of activations with a NaN, M; their results are NaN.

    Returns
    -------
    float32, M x N.
    """
    planes = sums if weights.levels == "bcq" else sums[None]
    groups, rows, columns = planes.shape[1:]
    powers = np.zeros((1, rows), dtype=np.int64) if exponents is None else exponents
    scales = weights.scale_values()
    terms = []
    for number in range(groups):
        power = powers[number if len(powers) > 1 else 0]
        for plane in range(len(planes)):
            scale = scales[number, :, plane] if weights.levels == "bcq" else scales[number]
            terms.append(_times(planes[plane, number], power, scale))
        if weights.offsets is not None and activations is not None:
            offset = _minifloat_offsets(weights)[number]
            ones = np.repeat(activations[number][:, None], columns, axis=1)
            terms.append(_times(ones, power, offset))
    if weights.column_scales is not None:
        total = _column_scaled(weights, terms)
    else:
        total = np.zeros((rows, columns), dtype=np.float32)
        with np.errstate(over="ignore"):
            for term in terms:
                total = total + term.to_odd().astype(np.float32)
    if invalid is not None:
        total[invalid] = np.nan
    return total


def _times(sums: np.ndarray, power: np.ndarray, scale: Exact) -> Exact:
    """Multiply sums, M x N, by powers of two, M, and scales, N or 1."""
    exact = Exact.finite(sums, np.broadcast_to(power[:, None], sums.shape))
    whole = np.zeros(sums.shape, dtype=np.int64) + np.arange(sums.shape[1])
    return exact * scale[np.zeros_like(whole) if scale.shape == (1,) else whole]


def _minifloat_offsets(weights: GroupedWeights) -> Exact:
    """Decode the offsets."""
    assert weights.offsets is not None
    return minifloat(weights.scale_format).decode(weights.offsets)


def _column_scaled(weights: GroupedWeights, terms: list[Exact]) -> np.ndarray:
    """Add exact terms, scale the sums by their columns' scales and round to fp32."""
    lsb = min(int(term.exponent.min()) for term in terms)
    exact = sum(term.fixed(lsb).astype(object) for term in terms)
    assert isinstance(exact, np.ndarray)
    columns = _FP32.decode(weights.column_scales)  # type: ignore[arg-type]
    product = _times(exact, np.full(exact.shape[0], lsb), columns)
    with np.errstate(over="ignore"):
        return product.to_odd().astype(np.float32)
