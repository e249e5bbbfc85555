"""Sums of weight groups: zero points subtracted, scaled and accumulated."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import minifloat
from golden.lut.weights import SCALES, decode_scales, scale_width
from golden.npe.float_sum import ends_of, float_sums

__all__ = ["Groups", "GroupScaleSpec", "group_scale"]

_FP32 = minifloat("fp32")


@dataclass(frozen=True, kw_only=True)
class GroupScaleSpec:
    """Integer sums of groups, their zero points and scales.

    Zero points "integer", times the sum of the group's activations, are subtracted. So are zero
    points "odd", on the odd grid, where sums are doubled: the difference must be even, and is
    halved. With `aligned`, activations have an E8M0 scale too; aligned integers of w bits have w -
    2 bits after the point.

    Each scaled sum is rounded to fp32 and added in fp32 to the running sum. With "int8" scales,
    unsigned, scaled sums are accumulated exactly instead, and the column's fp32 scale multiplies
    the result; the last column scale and activation scale of a run are used. Beyond `depth` groups
    the exact sum wraps modulo 2^accumulator_width.
    """

    scale: str = parameter(SCALES)
    sum_width: int = parameter(
        Integer("bits of a group's sum, two's complement", 24, 4, 48, "bits")
    )
    fraction_width: int = parameter(Integer("bits of it after the binary point", 0, 0, 64, "bits"))
    zeros: str = parameter(Choice("zero points", "none", ("none", "integer", "odd")))
    zero_width: int = parameter(Integer("bits of a zero point, two's complement", 5, 2, 16, "bits"))
    activation_width: int = parameter(
        Integer("bits of the sum of a group's activations, two's complement", 16, 2, 32, "bits")
    )
    aligned: bool = parameter(Flag("activations have scales", False))
    depth: int = parameter(Integer("groups accumulated exactly (int8)", 256, 1, 1 << 20, "groups"))

    def __post_init__(self) -> None:
        """Check all fields."""
        check_fields(parameters_of(GroupScaleSpec), vars(self))

    @property
    def exact(self) -> bool:
        """Scales are integers, and sums exact."""
        return self.scale == "int8"

    @property
    def number(self) -> MinifloatFormat | None:
        """Format of floating-point scales."""
        return None if self.scale in ("e8m0", "int8") else minifloat(self.scale)

    @property
    def scale_width(self) -> int:
        """Bits of a scale."""
        return scale_width(self.scale)

    @property
    def total(self) -> MinifloatFormat:
        """Format of results: fp32."""
        return _FP32

    @property
    def difference_width(self) -> int:
        """Bits of a sum minus its zero points, before halving."""
        if self.zeros == "none":
            return self.sum_width
        return max(self.sum_width, self.zero_width + self.activation_width) + 1

    @property
    def accumulator_width(self) -> int:
        """Bits of the exact sum, with "int8" scales."""
        most = 1 << self.difference_width - 1 - (self.zeros == "odd")
        return (self.depth * most * 255).bit_length() + 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Sums of groups, in order.

    Members
    -------
    sums : integers of `sum_width` bits.
    scales : their codes.
    invalid : booleans; the sum is NaN.
    last : booleans; the group ends a run.
    zeros, activations : zero points, if any, and sums of activations.
    powers : with `aligned`, codes of E8M0.
    columns : with "int8" scales, codes of fp32.
    """

    sums: np.ndarray
    scales: np.ndarray
    invalid: np.ndarray
    last: np.ndarray
    zeros: np.ndarray | None = None
    activations: np.ndarray | None = None
    powers: np.ndarray | None = None
    columns: np.ndarray | None = None


def group_scale(spec: GroupScaleSpec, groups: Groups) -> np.ndarray:
    """Scale sums of groups and accumulate them.

    Rounding is to nearest even, with subnormals; overflow becomes an infinity. An `invalid` sum, a
    NaN scale, or an infinite scale of a zero sum makes its run's result NaN.

    Parameters
    ----------
    spec : formats and widths.
    groups : sums and scales.

    Returns
    -------
    int64 codes of fp32, one per `last`; NaN is the positive quiet NaN.
    """
    powers = Exact.finite(np.ones_like(groups.sums), 0)
    if spec.aligned:
        assert groups.powers is not None
        powers = decode_scales("e8m0", groups.powers)
    products = _differences(spec, groups) * decode_scales(spec.scale, groups.scales)
    if not spec.exact:
        terms = _FP32.encode(products * powers, saturate=False)
        return float_sums(
            _FP32, np.where(groups.invalid, np.nan, _FP32.to_float(terms)), groups.last
        )
    assert groups.columns is not None
    starts, stops = ends_of(groups.last)
    modulus, lsb = 1 << spec.accumulator_width, -spec.fraction_width
    totals = np.zeros(starts.shape, dtype=object)
    nan = np.zeros(starts.shape, dtype=bool)
    for run, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        total = int(products.fixed(lsb)[start:stop].astype(object).sum()) % modulus
        totals[run] = total - modulus if total >= modulus >> 1 else total
        nan[run] = groups.invalid[start:stop].any()
    ends = stops - 1
    scaled = Exact.finite(totals, lsb) * _FP32.decode(groups.columns[ends]) * powers[ends]
    return _FP32.encode(np.where(nan, np.nan, scaled.to_odd()), saturate=False)


def _differences(spec: GroupScaleSpec, groups: Groups) -> Exact:
    """Subtract zero points."""
    sums = IntFormat(width=spec.sum_width).check("sums", groups.sums)
    if spec.zeros == "none":
        return Exact.finite(sums, -spec.fraction_width)
    assert groups.zeros is not None
    assert groups.activations is not None
    zeros = IntFormat(width=spec.zero_width).check("zeros", groups.zeros)
    ones = IntFormat(width=spec.activation_width).check("activations", groups.activations)
    differences = sums - zeros * ones
    if spec.zeros == "odd":
        if (differences & 1).any():
            raise ValueError("sums on the odd grid must be even without their zero points")
        differences >>= 1
    return Exact.finite(differences, -spec.fraction_width)
