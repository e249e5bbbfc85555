"""Requantisation: integer sums times a dyadic scale, rounded to codes of a few bits."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat, int_format

__all__ = ["ROUNDINGS", "Requantisation", "RequantiserSpec", "cycles", "dyadic", "requantiser"]

ROUNDINGS = ("single", "double", "even")
_LEAST_EXPONENT = -31


@dataclass(frozen=True, kw_only=True)
class RequantiserSpec:
    """Rows of n sums to rows of n codes: q = clamp(round(z * M * 2^-shift) + zero_point).

    z is the sum, plus the bias if there is one, modulo 2^width: as if the accumulator had started
    with the bias. Nothing saturates before the clamp. Rounding:

    - "single": floor(z * M * 2^-shift + 1/2), once: TFLite and CMSIS-NN with single rounding;
    - "double": if shift > w = multiplier_width, first x = floor(z * M * 2^-w + 1/2), then
      x * 2^(w - shift) to the nearest, halves away from zero; else as "single": TFLite's default.
      Where its left shift of the sum, shift < w, leaves 32 bits, TFLite's code overflows (undefined
      in C, mostly modulo 2^32); here it is exact, and the code is a limit, if M >= 2^(w-1) and
      out_width < width;
    - "even": to nearest even: HAWQ-V3, without its floating-point errors; onnxruntime, as below.

    z * M * 2^-shift is half way between two codes if and only if the lowest set bit of z * M is bit
    shift - 1. With 2^t the greatest power of two that divides M, that is one z in 2^(shift - t) of
    those at random. So "single" and "even" differ in one code in 2^(shift - t + 1): at a scale
    2^-p, one in 2^(p + 1); at scales of 24 odd bits, as float32 has them, hardly ever.

    onnxruntime multiplies in float32, and rounds the product to even. It does the same as "even"
    where float32 has the product: M of few bits, such as a power of two. Where it has not, a
    product within 2^-24 of a half, relative to it, becomes a half in float32, and may become
    another code than here: of float32 scales, at most one in a million or so.
    """

    n: int = parameter(Integer("sums per row", 8, 1, 256, "columns"))
    width: int = parameter(Integer("bits of a sum, two's complement", 32, 4, 63, "bits"))
    multiplier_width: int = parameter(Integer("bits of M, unsigned", 31, 2, 31, "bits"))
    out_width: int = parameter(Integer("bits of a code", 8, 2, 16, "bits"))
    out_signed: bool = parameter(Flag("codes are two's complement", True))
    rounding: str = parameter(Choice("rounding", "single", ROUNDINGS))
    per_column: bool = parameter(Flag("M, shift and zero point per column", False))
    bias: bool = parameter(Flag("a bias per column", False))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(type(self)), vars(self))

    @property
    def sum_format(self) -> IntFormat:
        """Format of a sum, and of a bias."""
        return int_format(self.width, True)

    @property
    def multiplier_format(self) -> IntFormat:
        """Format of M."""
        return int_format(self.multiplier_width, False)

    @property
    def shift_format(self) -> IntFormat:
        """Format of the shift."""
        return int_format(6, False)

    @property
    def out_format(self) -> IntFormat:
        """Format of a code, of the zero point and of the limits."""
        return int_format(self.out_width, self.out_signed)

    @property
    def scales(self) -> int:
        """Number of multipliers, shifts and zero points: one, or one per column."""
        return self.n if self.per_column else 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Requantisation:
    """The requantisation of a tile.

    Parameters
    ----------
    multiplier, shift, zero_point : int64, one each or, per column, n.
    bias : int64, one for each column; None without.
    low, high : limits of the codes; None: the format's.
    relu : codes are at least the zero point, which must not exceed `high`.
    """

    multiplier: np.ndarray
    shift: np.ndarray
    zero_point: np.ndarray
    bias: np.ndarray | None = None
    low: int | None = None
    high: int | None = None
    relu: bool = False

    def limits(self, spec: RequantiserSpec) -> tuple[int, int]:
        """Smallest and largest code; the format's by default."""
        low = spec.out_format.low if self.low is None else self.low
        high = spec.out_format.high if self.high is None else self.high
        return low, high

    def check(self, spec: RequantiserSpec) -> None:
        """Raise `TypeError` or `ValueError` for values the hardware does not support."""
        formats = {
            "multiplier": spec.multiplier_format,
            "shift": spec.shift_format,
            "zero_point": spec.out_format,
        }
        for name, fmt in formats.items():
            _check_shape(name, fmt.check(name, getattr(self, name)), spec.scales)
        if spec.bias != (self.bias is not None):
            raise ValueError(f"bias must be {'given' if spec.bias else None}, not {self.bias!r}")
        if self.bias is not None:
            _check_shape("bias", spec.sum_format.check("bias", self.bias), spec.n)
        low, high = self.limits(spec)
        spec.out_format.check("low and high", np.array([low, high]))
        top = max(low, int(self.zero_point.max())) if self.relu else low
        if top > high:
            raise ValueError(f"high must be {top} or more, not {high!r}")


def _check_shape(name: str, values: np.ndarray, count: int) -> None:
    if values.shape != (count,):
        raise ValueError(f"{name} must be {count} in a row, not of shape {values.shape}")


def requantiser(
    spec: RequantiserSpec, sums: np.ndarray, requantisation: Requantisation
) -> np.ndarray:
    """Requantise rows of sums.

    Parameters
    ----------
    spec : widths and rounding.
    sums : rows x n, of `spec.sum_format`.
    requantisation : scale, zero point, bias and limits.

    Returns
    -------
    int64 codes of `spec.out_format`, rows x n.
    """
    requantisation.check(spec)
    z = spec.sum_format.within("sums", sums).astype(np.int64, copy=False)
    if requantisation.bias is not None:
        z = spec.sum_format.wrap(z + np.asarray(requantisation.bias, dtype=np.int64))
    fields = (requantisation.multiplier, requantisation.shift, requantisation.zero_point)
    multiplier, shift, zero_point = (np.asarray(field, dtype=np.int64) for field in fields)
    if spec.width + spec.multiplier_width > 63:
        z, multiplier, shift = (values.astype(object) for values in (z, multiplier, shift))
    # Below 63 bits neither products nor rounding offsets overflow, for any shift.
    codes = _round(spec, z * multiplier, shift)
    low, high = requantisation.limits(spec)
    least = np.maximum(low, zero_point) if requantisation.relu else low
    codes += zero_point
    np.maximum(codes, least, out=codes)
    np.minimum(codes, high, out=codes)
    return codes.astype(np.int64, copy=False)


def _round(spec: RequantiserSpec, product: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Divide by 2^shift and round, as specified."""
    one = np.ones_like(shift)
    half = (one << shift) >> 1
    # 2^63 is negative in int64, and its half would be too.
    half = np.where(shift == 63, one << 62, half)
    if spec.rounding == "even":
        # A half and more rounds up, but for a half above an even integer.
        divides = (shift > 0).astype(np.int64)
        scaled = product >> shift
        scaled &= divides
        scaled += product
        scaled += half - divides
        scaled >>= shift
        return scaled
    single = product + half >> shift
    if spec.rounding == "single":
        return single
    width = spec.multiplier_width
    first = product + (1 << width - 1) >> width
    right = np.maximum(shift - width, 0)
    nudge = (one << right) >> 1
    double = np.where(first < 0, -(nudge - first >> right), first + nudge >> right)
    return np.where(shift < width, single, double)


def dyadic(scale: np.ndarray | float, multiplier_width: int = 31) -> tuple[np.ndarray, np.ndarray]:
    """Approximate scales by M * 2^-shift, M normalised to `multiplier_width` bits.

    Halves round up; scales below about 2^-32 become zero. TFLite's QuantizeMultiplier is this with
    31 bits; its shift is 31 minus ours.

    Parameters
    ----------
    scale : real scales, 0 or more, below 2^multiplier_width.
    multiplier_width : bits of M, 2 .. 31.

    Returns
    -------
    int64 multipliers and shifts, of the shape of `scale` but at least 1-D.
    """
    values = np.atleast_1d(np.asarray(scale, dtype=np.float64))
    if not np.all((values >= 0) & (values < 2.0**multiplier_width)):
        raise ValueError(f"scale must be 0 or more, below 2^{multiplier_width}, not {scale!r}")
    fraction, exponent = np.frexp(values)
    multiplier = np.floor(fraction * 2.0**multiplier_width + 0.5).astype(np.int64)
    carried = multiplier >> multiplier_width
    multiplier, exponent = multiplier >> carried, exponent.astype(np.int64) + carried
    if np.any(exponent > multiplier_width):
        raise ValueError(f"scale must round to less than 2^{multiplier_width}, not {scale!r}")
    large = exponent >= _LEAST_EXPONENT
    return np.where(large, multiplier, 0), multiplier_width - np.where(large, exponent, 0)


def cycles(spec: RequantiserSpec, rows: int) -> int:
    """Count the cycles in which rows enter: one each.

    Parameters
    ----------
    spec : the requantiser.
    rows : rows that flow without stalls.
    """
    return rows
