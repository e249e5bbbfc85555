"""Sums of blocks: exact integers, scaled and added up, in fp32 or exactly."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.npe.float_sum import ends_of, float_sums

__all__ = ["BlockScaleSpec", "block_scale"]

_FP32 = MinifloatFormat(exponent_bits=8, mantissa_bits=23, specials="ieee")
_E4M3 = MinifloatFormat(exponent_bits=4, mantissa_bits=3, specials="nan")


@dataclass(frozen=True, kw_only=True)
class BlockScaleSpec:
    """Sums of blocks, integers / 2^fraction_width, and the scales of their two blocks of elements.

    Scales "e8m0" (OCP MX): code x is 2^(x - 127), 255 is NaN. A block's sum, scaled, is rounded to
    fp32 and added to the sum so far in fp32. Scales "e4m3" (NVFP4): codes 0..127 of E4M3, 127 is
    NaN. Scaled sums of up to `depth` blocks are added up exactly, and rounded to fp32 at last; of
    more, modulo 2^accumulator_width.
    """

    scale: str = parameter(Choice("format of scales", "e8m0", ("e8m0", "e4m3")))
    sum_width: int = parameter(
        Integer("bits of a block's sum, two's complement", 48, 4, 63, "bits")
    )
    fraction_width: int = parameter(Integer("bits of it behind the point", 18, 0, 64, "bits"))
    depth: int = parameter(
        Integer("blocks that are added up exactly (e4m3)", 4096, 1, 1 << 20, "blocks")
    )

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
    def scale_format(self) -> MinifloatFormat:
        """Format of scales "e4m3", which have no sign."""
        return _E4M3

    @property
    def scale_width(self) -> int:
        """Bits of a scale's code that count."""
        return 8 if self.scale == "e8m0" else 7

    @property
    def exact_lsb(self) -> int:
        """Exponent of the last bit of the exact sum, of scales "e4m3"."""
        return self.lsb + 2 * _E4M3.lsb

    @property
    def accumulator_width(self) -> int:
        """Bits of the exact sum, of scales "e4m3"."""
        greatest = _E4M3.bounds[1] ** 2 << (self.sum_width - 1)
        return (self.depth * greatest).bit_length() + 1


def block_scale(
    spec: BlockScaleSpec,
    sums: np.ndarray,
    a_scales: np.ndarray,
    b_scales: np.ndarray,
    invalid: np.ndarray,
    last: np.ndarray,
) -> np.ndarray:
    """Scale the sums of blocks and add them up; a run of blocks ends where `last` is set.

    To the nearest, ties to even; subnormals are kept, what is too great becomes an infinity. A
    block that is `invalid`, or with a scale that is NaN, makes its run's result NaN. A result of
    zero is +0 unless a negative one is rounded to it.

    Parameters
    ----------
    spec : widths and scales.
    sums : integers of `sum_width` bits, one for each block.
    a_scales, b_scales : codes of the scales, one each for each block.
    invalid, last : booleans, one for each block.

    Returns
    -------
    int64 codes of fp32, one for each `last`; NaN is the quiet NaN without sign.
    """
    sums = IntFormat(width=spec.sum_width).check("sums", sums)
    scales = IntFormat(width=spec.scale_width, signed=False)
    a, b = scales.check("a_scales", a_scales), scales.check("b_scales", b_scales)
    if spec.scale == "e8m0":
        nan = invalid | (a == 255) | (b == 255)
        terms = _FP32.to_float(
            _FP32.encode(Exact.finite(sums, a + b - 254 + spec.lsb), saturate=False)
        )
        return float_sums(_FP32, np.where(nan, np.nan, terms), last)
    decoded = [_E4M3.decode(codes) for codes in (a, b)]
    nan = invalid | decoded[0].nan | decoded[1].nan
    factors = [scale.fixed(_E4M3.lsb).astype(object) for scale in decoded]
    products = sums.astype(object) * factors[0] * factors[1]
    modulus = 1 << spec.accumulator_width
    totals = []
    bad = []
    for start, stop in zip(*ends_of(last), strict=True):
        total = int(products[start:stop].sum()) % modulus
        totals.append(total - modulus if total >= modulus >> 1 else total)
        bad.append(nan[start:stop].any())
    exact = Exact.finite(np.array(totals, dtype=object), spec.exact_lsb).to_odd()
    return _FP32.encode(np.where(np.array(bad, dtype=bool), np.nan, exact), saturate=False)
