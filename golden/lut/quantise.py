"""From float weights to codes of a few bits and scales of groups."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.element import floats
from golden.formats.names import minifloat
from golden.lut.weights import SCALES, GroupedWeights, decode_scales, encode_scales

__all__ = ["QuantiseSpec", "bcq_of", "quantise"]

_FP32 = minifloat("fp32")


@dataclass(frozen=True, kw_only=True)
class QuantiseSpec:
    """How weights are quantised.

    Scheme "symmetric": two's complement codes, scale max|w| / (2^(W-1) - 1), zero point 2^(W-1);
    "asymmetric": 0 and all weights of a group are in range, scale (max - min) / (2^W - 1); "odd":
    the odd grid, scale max|w| / (2^W - 1), of one bit mean|w|; "ternary": scale mean|w| (BitNet
    b1.58); "bcq": plane by plane, the signs of the residual and its mean magnitude, with the
    group's mean as the offset. A scale is first rounded to its format, and weights then to the
    nearest multiple, ties to even. If a scale is 0, all codes represent 0.

    "int8" scales are relative to the column's largest scale, which is 255 times the column scale.
    """

    scheme: str = parameter(
        Choice(
            "how codes are chosen",
            "symmetric",
            ("symmetric", "asymmetric", "odd", "ternary", "bcq"),
        )
    )
    bits: int = parameter(Integer("bits of a code", 4, 1, 8, "bits"))
    group: int = parameter(Integer("rows per scale; 0 is all of a column", 128, 0, 1 << 24))
    scale_format: str = parameter(SCALES)
    per_tensor: bool = False

    def __post_init__(self) -> None:
        """Check the fields, and that they go together."""
        check_fields(parameters_of(QuantiseSpec), vars(self))
        if self.scheme in ("symmetric", "ternary") and self.bits < 2:
            raise ValueError(f"bits must be 2..8 where scheme is {self.scheme}, not {self.bits!r}")
        if self.scheme == "ternary" and self.bits != 2:
            raise ValueError(f"bits must be 2 where scheme is ternary, not {self.bits!r}")
        if self.per_tensor and self.group:
            raise ValueError(f"group must be 0 with one scale per tensor, not {self.group!r}")


def quantise(spec: QuantiseSpec, weights: np.ndarray) -> GroupedWeights:
    """Quantise a matrix of weights.

    Parameters
    ----------
    spec : how.
    weights : floats, K x N, all finite.
    """
    values = floats("weights", weights)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"weights must be K x N, K and N 1 at least, not {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("weights must be finite, not infinities or NaNs")
    group = spec.group or values.shape[0]
    parts = _Groups(values, group, spec.per_tensor)
    if spec.scheme == "bcq":
        return _bcq(spec, values, parts)
    top = (1 << spec.bits) - 1
    if spec.scheme == "asymmetric":
        high, low = parts.reduce(np.maximum, values), parts.reduce(np.minimum, values)
        wanted = (np.maximum(high, 0) - np.minimum(low, 0)) / top
    elif spec.scheme == "ternary" or (spec.scheme == "odd" and spec.bits == 1):
        wanted = parts.mean(np.abs(values))
    else:
        steps = top if spec.scheme == "odd" else (top >> 1)
        wanted = parts.reduce(np.maximum, np.abs(values)) / steps
    scales, columns = _scales(spec.scale_format, wanted)
    factor = decode_scales(spec.scale_format, scales).to_odd()
    if columns is not None:
        factor = factor * _FP32.to_float(columns)
    spread = parts.spread(factor)
    nothing = spread == 0
    ratio = np.where(nothing, 0, values / np.where(nothing, 1, spread))
    zeros = None
    levels = {"odd": "odd", "ternary": "ternary"}.get(spec.scheme, "uniform")
    if levels == "odd":
        # Halves toward the even code; codes of a zero scale are any.
        codes = np.clip(np.rint((ratio + top) / 2), 0, top)
    elif levels == "ternary":
        codes = np.clip(np.rint(ratio), -1, 1) + 1
    else:
        middle = np.full(factor.shape, 1 << spec.bits - 1)
        if spec.scheme == "asymmetric":
            safe = np.where(factor == 0, 1, factor)
            middle = np.clip(np.rint(-np.minimum(low, 0) / safe), 0, top)
            middle[factor == 0] = 0
        zeros = middle.astype(np.int64)
        codes = np.clip(np.rint(ratio) + parts.spread(zeros), 0, top)
    return GroupedWeights(
        codes=codes.astype(np.int64),
        bits=spec.bits,
        levels=levels,
        group=group,
        scale_format=spec.scale_format,
        scales=scales,
        zeros=zeros,
        column_scales=columns,
    )


def bcq_of(weights: GroupedWeights) -> GroupedWeights:
    """Return uniform weights as planes with separate scales: the same values, exactly.

    Plane w has the scale times 2^(w-1), the offset is the scale times (2^W - 1) / 2 less the zero
    point. Refuses scales for which one of these is not of their format.
    """
    if weights.levels != "uniform" or weights.scale_format in ("e8m0", "int8"):
        raise ValueError(
            f"weights must be uniform with scales of fp16, bf16 or fp32, not {weights.levels} "
            f"with {weights.scale_format}"
        )
    assert weights.zeros is not None
    scale = weights.scale_values().to_odd()
    factors = np.ldexp(scale[..., None], np.arange(weights.bits) - 1)
    offset = scale * (((1 << weights.bits) - 1) / 2 - weights.zeros)
    codes = [encode_scales(weights.scale_format, part) for part in (factors, offset)]
    for wanted, got in zip((factors, offset), codes, strict=True):
        if not np.array_equal(decode_scales(weights.scale_format, got).to_odd(), wanted):
            raise ValueError(
                f"scales must have planes and offsets of {weights.scale_format}, not such that "
                "these are rounded"
            )
    return weights.replaced(levels="bcq", scales=codes[0], offsets=codes[1], zeros=None)


def _scales(name: str, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Round scales to their format; with those of columns where they need them."""
    if name != "int8":
        return encode_scales(name, wanted), None
    columns = _FP32.encode(wanted.max(axis=0) / 255)
    unit = _FP32.to_float(columns)
    return encode_scales(name, wanted / np.where(unit == 0, 1, unit)), columns


def _bcq(spec: QuantiseSpec, values: np.ndarray, parts: "_Groups") -> GroupedWeights:
    """Take the signs of the residual, and its mean magnitude, plane by plane from the largest."""
    name = spec.scale_format
    if name in ("e8m0", "int8"):
        raise ValueError(
            f"scale_format must be one of fp16, bf16, fp32 where scheme is bcq, not {name!r}"
        )
    offsets = encode_scales(name, parts.mean(values))
    left = values - parts.spread(decode_scales(name, offsets).to_odd())
    codes = np.zeros(values.shape, dtype=np.int64)
    scales = []
    for plane in reversed(range(spec.bits)):
        positive = left >= 0
        codes |= positive.astype(np.int64) << plane
        scales.append(encode_scales(name, parts.mean(np.abs(left))))
        step = parts.spread(decode_scales(name, scales[-1]).to_odd())
        left = left - np.where(positive, step, -step)
    return GroupedWeights(
        codes=codes,
        bits=spec.bits,
        levels="bcq",
        group=parts.group,
        scale_format=name,
        scales=np.stack(scales[::-1], axis=-1),
        offsets=offsets,
    )


class _Groups:
    """Groups of rows of a column, or all of a matrix as one."""

    def __init__(self, values: np.ndarray, group: int, whole: bool):
        self.group = group
        self.whole = whole
        self.rows = values.shape[0]
        self.starts = np.arange(0, self.rows, group)

    def reduce(self, what: np.ufunc, values: np.ndarray) -> np.ndarray:
        """Reduce each group to a number, groups x N or 1 x 1."""
        reduced = what.reduceat(values, self.starts, axis=0)
        return what.reduce(reduced, axis=1, keepdims=True) if self.whole else reduced

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of each group.

        Numpy adds row to row, in their order, whatever kernels it has.
        """
        counts = self.reduce(np.add, np.ones(values.shape))
        return self.reduce(np.add, values) / counts

    def spread(self, array: np.ndarray) -> np.ndarray:
        """Repeat per-group values for each row."""
        return array[np.arange(self.rows) // self.group]
