"""Block sums: exact integers, scaled and accumulated, in fp32 or exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.npe.float_sum import ends_of, float_sums

__all__ = ["SCALES", "BlockScaleSpec", "block_scale"]

_FP32 = MinifloatFormat(exponent_bits=8, mantissa_bits=23, specials="ieee")
_FORMATS = {
    "e4m3": MinifloatFormat(exponent_bits=4, mantissa_bits=3, specials="nan"),
    "e5m3": MinifloatFormat(exponent_bits=5, mantissa_bits=3, specials="nan"),
}
SCALES = ("e8m0", *_FORMATS)
"""Names of formats of scales."""


@dataclass(frozen=True, kw_only=True)
class BlockScaleSpec:
    """Block sums, integers / 2^fraction_width, and the scales of their two operand blocks.

    Scales "e8m0" (OCP MX): code x is 2^(x - 127), 255 is NaN. The scaled block sum is rounded to
    fp32 and added to the running sum in fp32. So it is with scales "e5m3", codes 0..255 of E5M3
    without its sign (UE5M3), 255 is NaN. Scales "e4m3" (NVFP4): codes 0..127 of E4M3, 127 is NaN.
    Scaled sums of up to `depth` blocks are accumulated exactly (of more, modulo
    2^accumulator_width), and rounded to fp32 at the end.
    """

    scale: str = parameter(Choice("format of scales", "e8m0", SCALES))
    sum_width: int = parameter(
        Integer("bits of a block's sum, two's complement", 48, 4, 63, "bits")
    )
    fraction_width: int = parameter(Integer("bits of it after the binary point", 18, 0, 64, "bits"))
    depth: int = parameter(Integer("blocks accumulated exactly (e4m3)", 4096, 1, 1 << 20, "blocks"))

    def __post_init__(self) -> None:
        """Check all fields."""
        check_fields(parameters_of(BlockScaleSpec), vars(self))

    @property
    def lsb(self) -> int:
        """Exponent of the last bit of a block's sum."""
        return -self.fraction_width

    @property
    def total(self) -> MinifloatFormat:
        """Format of results: fp32."""
        return _FP32

    @property
    def scale_format(self) -> MinifloatFormat | None:
        """Format of scales that are floats, of which the sign is left out; None: powers of two."""
        return _FORMATS.get(self.scale)

    @property
    def scale_width(self) -> int:
        """Significant bits of a scale's code; that of NaN is all ones."""
        fmt = self.scale_format
        return 8 if fmt is None else fmt.width - 1

    @property
    def exact(self) -> bool:
        """Scaled sums are accumulated exactly."""
        return self.scale == "e4m3"

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest exponent of the last bit of both scales' significands together."""
        fmt = self.scale_format
        if fmt is None:
            return -254, 254
        return 2 * fmt.exponents[0], 2 * fmt.exponents[-1]

    @property
    def exact_lsb(self) -> int:
        """Exponent of the last bit of the exact sum, with "e4m3" scales."""
        return self.lsb + self.bounds[0]

    @property
    def accumulator_width(self) -> int:
        """Bits of the exact sum, with "e4m3" scales."""
        fmt = self.scale_format
        assert fmt is not None
        greatest = fmt.bounds[1] ** 2 << (self.sum_width - 1)
        return (self.depth * greatest).bit_length() + 1


def block_scale(
    spec: BlockScaleSpec,
    sums: np.ndarray,
    a_scales: np.ndarray,
    b_scales: np.ndarray,
    invalid: np.ndarray,
    last: np.ndarray,
) -> np.ndarray:
    """Scale block sums and accumulate them; a run of blocks ends where `last` is set.

    Rounding is to nearest even, with subnormals; overflow becomes an infinity. An `invalid` block,
    or a NaN scale, makes its run's result NaN. A zero result is +0 unless a negative one was
    rounded to zero.

    Parameters
    ----------
    spec : widths and scales.
    sums : integers of `sum_width` bits, one for each block.
    a_scales, b_scales : codes of the scales, one each for each block.
    invalid, last : booleans, one for each block.

    Returns
    -------
    int64 codes of fp32, one per `last`; NaN is the positive quiet NaN.
    """
    sums = IntFormat(width=spec.sum_width).check("sums", sums)
    codes = IntFormat(width=spec.scale_width, signed=False)
    a, b = codes.check("a_scales", a_scales), codes.check("b_scales", b_scales)
    nan = invalid | (a == codes.high) | (b == codes.high)
    fmt = spec.scale_format
    if fmt is None:
        return _rounded(Exact.finite(sums, a + b - 254 + spec.lsb), nan, last)
    scales = [fmt.decode(code) for code in (a, b)]
    if not spec.exact:
        return _rounded(Exact.finite(sums, spec.lsb) * scales[0] * scales[1], nan, last)
    factors = [scale.fixed(fmt.lsb) for scale in scales]
    starts, stops = ends_of(last)
    totals = _totals(spec, sums, factors, starts, stops)
    bad = np.diff(np.concatenate([[0], np.cumsum(nan)])[np.append(starts, stops[-1:])]) > 0
    exact = Exact.finite(totals, spec.exact_lsb).to_odd()
    return _FP32.encode(np.where(bad, np.nan, exact), saturate=False)


def _rounded(products: Exact, nan: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Round scaled block sums to fp32, and add them in fp32."""
    terms = _FP32.to_float(_FP32.encode(products, saturate=False))
    return float_sums(_FP32, np.where(nan, np.nan, terms), last)


def _totals(
    spec: BlockScaleSpec,
    sums: np.ndarray,
    factors: Sequence[np.ndarray],
    starts: np.ndarray,
    stops: np.ndarray,
) -> np.ndarray:
    """Add up scaled block sums of each run, modulo 2^accumulator_width."""
    modulus = 1 << spec.accumulator_width
    most = int((stops - starts).max(initial=0))
    for one in (sums, *factors):
        most *= max(int(one.max(initial=0)), -int(one.min(initial=0)))
    if most < min(modulus >> 1, 1 << 62) and starts.size:
        # Python's integers, which are slow, are not needed, and no total wraps.
        products = sums * factors[0] * factors[1]
        return np.add.reduceat(products[: stops[-1]], starts)
    products = sums.astype(object) * factors[0].astype(object) * factors[1].astype(object)
    totals = np.empty(starts.shape, object)
    for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        total = int(products[start:stop].sum()) % modulus
        totals[number] = total - modulus if total >= modulus >> 1 else total
    return totals
