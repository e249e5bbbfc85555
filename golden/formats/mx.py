"""OCP MX and block floating point: blocks whose scales are powers of two."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.block import BlockFormat, Blocks
from golden.formats.element import ElementFormat, floats
from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.random_bits import RandomBits

__all__ = ["MxFormat"]

_E4M3 = MinifloatFormat(exponent_bits=4, mantissa_bits=3, specials="nan")


@dataclass(frozen=True, kw_only=True)
class MxFormat(BlockFormat):
    """Elements of any format with scales that are powers of two (OCP Microscaling, v1.0).

    A scale is E8M0: code x represents 2^(x - 127), 255 NaN, which makes the whole block NaN. MXINT8
    has elements of IntFormat(width=8, fraction_width=6); block floating point with b bits is the
    same with b and b - 2, for any block size. Such integers are quantised to +-high.

    The rules for a scale, for a block with largest magnitude A and elements up to M: "floor",
    2^(floor(log2 A) - floor(log2 M)), as in OCP's text, where elements may saturate; "ceil", the
    same with ceil(log2 A); "rceil", the smallest with which A does not exceed M; "even", as floor,
    with A rounded to the element's significand first. All are clipped to 2^-127 .. 2^127; a block
    of zeros has 2^-127, a block with an infinity or a NaN has NaN.
    """

    element: ElementFormat = _E4M3
    block: int = parameter(Integer("elements per scale", 32, 1, 1 << 16))
    scale_rule: str = parameter(
        Choice("how a scale is chosen", "floor", ("floor", "ceil", "rceil", "even"))
    )

    def __post_init__(self) -> None:
        """Check the fields."""
        if not isinstance(self.element, ElementFormat):
            raise TypeError(f"element must be an ElementFormat, not {self.element!r}")
        check_fields(parameters_of(MxFormat), vars(self))

    @property
    def name(self) -> str:
        """Short name, such as mx_e4m3, or mx_int4f2_k64 for blocks of 64."""
        return f"mx_{self.element.name}" + (f"_k{self.block}" if self.block != 32 else "")

    @property
    def scale_format(self) -> IntFormat:
        """Format of the codes of scales, as integers."""
        return IntFormat(width=8, signed=False)

    @property
    def scale_bias(self) -> int:
        """Code of a scale minus its exponent."""
        return 127

    @property
    def scale_nan_code(self) -> int:
        """Code of a scale that is NaN."""
        return 255

    def quantise(
        self,
        values: np.ndarray,
        *,
        axis: int = -1,
        rounding: str = "rne",
        random: RandomBits | None = None,
    ) -> Blocks:
        """Choose scales and round floats to elements, saturating."""
        values = floats("values", values)
        greatest = self._greatest(values, axis)
        fraction, exponent = np.frexp(np.where(np.isnan(greatest), 0, greatest))
        top_fraction, top_exponent = np.frexp(float(self.element.bounds[1]))
        above = {
            "floor": 1.0,
            "ceil": 0.5,
            "rceil": float(top_fraction),
            # One that rounds up to the next power of two, ties included.
            "even": np.nextafter(1 - 2.0 ** -(self.element.significand_width + 1), 0),
        }[self.scale_rule]
        exponent = exponent - (int(top_exponent) + self.element.lsb) + (fraction > above)
        exponent = np.where(greatest == 0, -self.scale_bias, np.clip(exponent, -127, 127))
        scales = np.where(np.isnan(greatest), self.scale_nan_code, exponent + self.scale_bias)
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(values, -self._spread(exponent, values.shape[axis], axis))
        codes = self.element.encode(scaled, rounding=rounding, random=random)
        if isinstance(self.element, IntFormat):
            codes = np.maximum(codes, -self.element.high)
        return Blocks(codes=codes, scales=scales.astype(np.int64))

    def _scales(self, codes: np.ndarray) -> Exact:
        """Decode scales."""
        codes = self.scale_format.check("scales", codes)
        nan = codes == self.scale_nan_code
        return Exact(
            significand=np.where(nan, 0, 1),
            exponent=codes - self.scale_bias,
            nan=nan,
            infinity=np.zeros(codes.shape, dtype=np.int8),
        )
