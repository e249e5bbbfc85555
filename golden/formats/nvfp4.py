"""NVFP4: blocks of FP4 with FP8 scales, and a scale for the whole tensor."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.block import BlockFormat, Blocks
from golden.formats.element import floats
from golden.formats.exact import Exact
from golden.formats.minifloat import MinifloatFormat
from golden.formats.random_bits import RandomBits

__all__ = ["NvFormat"]

_E4M3 = MinifloatFormat(exponent_bits=4, mantissa_bits=3, specials="nan")
_E2M1 = MinifloatFormat(exponent_bits=2, mantissa_bits=1, specials="finite")


@dataclass(frozen=True, kw_only=True)
class NvFormat(BlockFormat):
    """E2M1 elements with unsigned E4M3 scales, and one fp32 scale for the tensor (NVFP4).

    The tensor's scale is its largest magnitude / (448 * 6) in fp32, clipped to 2^-149 ..
    (2 - 2^-23) * 2^127, or 1 if all are zero: beyond +-9.1e41, elements saturate. A block's is its
    largest magnitude / 6 / the tensor's scale in double precision, at least `least_scale` and at
    most 448, rounded to E4M3. Elements are x / (scale * tensor's scale) in double precision,
    rounded to E2M1. A block with an infinity or a NaN has a scale of NaN.
    """

    block: int = parameter(Integer("elements per scale", 16, 1, 1 << 16))
    least_scale: str = parameter(
        Choice(
            "least number, or least one that is not subnormal, of E4M3; or zero",
            "normal",
            ("normal", "subnormal", "zero"),
        )
    )

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(NvFormat), vars(self))

    @property
    def name(self) -> str:
        """Short name."""
        return "nvfp4" + (f"_k{self.block}" if self.block != 16 else "")

    @property
    def element(self) -> MinifloatFormat:
        """Format of elements: E2M1."""
        return _E2M1

    @property
    def scale_format(self) -> MinifloatFormat:
        """Format of scales: E4M3, only positive codes."""
        return _E4M3

    @property
    def lsb(self) -> int:
        """log2 of the unit of which every scaled element is a multiple."""
        return self.element.lsb + self.scale_format.lsb

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest scaled element, in units of 2^lsb."""
        high = self.element.bounds[1] * self.scale_format.bounds[1]
        return -high, high

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
        top, scale_top = (
            float(fmt.bounds[1]) * 2.0**fmt.lsb for fmt in (self.element, self.scale_format)
        )
        finite = np.where(np.isfinite(values), values, 0.0)
        greatest = np.abs(finite).max(initial=0.0)
        tensor = 1.0
        if greatest:
            fp32 = np.finfo(np.float32)
            limited = np.clip(greatest / (scale_top * top), fp32.smallest_subnormal, fp32.max)
            tensor = float(np.float32(limited))
        least = {
            "normal": 2.0**self.scale_format.min_exponent,
            "subnormal": 2.0**self.scale_format.lsb,
            "zero": 0.0,
        }[self.least_scale]
        wanted = np.clip(self._greatest(values, axis) / top / tensor, least, scale_top)
        scales = self.scale_format.encode(wanted)
        scale = self._spread(self.scale_format.to_float(scales), values.shape[axis], axis) * tensor
        usable = np.isfinite(values) & (scale > 0)
        scaled = np.divide(values, scale, out=np.zeros_like(values), where=usable)
        codes = self.element.encode(scaled, rounding=rounding, random=random)
        return Blocks(codes=codes, scales=scales, tensor_scale=tensor)

    def _scales(self, codes: np.ndarray) -> Exact:
        """Decode scales."""
        codes = self.scale_format.check("scales", codes)
        if codes.size and codes.max() >= self.scale_format.sign_code:
            raise ValueError(f"scales must be 0..127 (e4m3 without sign), not {codes.max()}")
        return self.scale_format.decode(codes)
