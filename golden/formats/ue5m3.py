"""Blocks whose scales are unsigned floats of eight bits: five of exponent, three of mantissa."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.block import BlockFormat, Blocks
from golden.formats.element import ElementFormat, floats
from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.random_bits import RandomBits

__all__ = ["UE5M3", "Ue5m3Format"]

UE5M3 = MinifloatFormat(exponent_bits=5, mantissa_bits=3, specials="nan")
"""With its sign: codes of scales are those below :attr:`MinifloatFormat.sign_code`."""

_INT8 = IntFormat(width=8)


@dataclass(frozen=True, kw_only=True)
class Ue5m3Format(BlockFormat):
    """Elements of any format with unsigned scales of E5M3, and none for the whole tensor.

    A scale's code x has the value of E5M3 without a sign: (8 + x % 8) * 2^(x // 8 - 18) from x = 8
    on, x * 2^-17 below; 255 is NaN, and there is no infinity (as `__nv_fp8_ue5m3` of CUDA's maths
    interface). A block's scale is its largest magnitude / the element's largest, at least 2^-17 and
    at most 114,688, rounded "up", so that no element saturates but of clipped scales, or to the
    "nearest". Integers are quantised to +-high. A block with an infinity or a NaN has a scale of
    NaN. Hu et al., UE5M3 FP4 Block Scaling for Stable Language Model Pretraining (2026); KohakuTPU
    has it beside integers of seven bits.
    """

    element: ElementFormat = _INT8
    block: int = parameter(Integer("elements per scale", 32, 1, 1 << 16))
    scale_rule: str = parameter(Choice("how a scale is rounded", "up", ("up", "nearest")))

    def __post_init__(self) -> None:
        """Check the fields."""
        if not isinstance(self.element, ElementFormat):
            raise TypeError(f"element must be an ElementFormat, not {self.element!r}")
        check_fields(parameters_of(Ue5m3Format), vars(self))

    @property
    def name(self) -> str:
        """Short name, such as ue5m3_int8, or ue5m3_e2m1_k16 for blocks of 16."""
        return f"ue5m3_{self.element.name}" + (f"_k{self.block}" if self.block != 32 else "")

    @property
    def scale_format(self) -> MinifloatFormat:
        """Format of scales: E5M3, only positive codes."""
        return UE5M3

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
        element = self.element
        top = float(element.bounds[1]) * 2.0**element.lsb
        least, most = 2.0**UE5M3.lsb, UE5M3.bounds[1] * 2.0**UE5M3.lsb
        wanted = np.clip(self._greatest(values, axis) / top, least, most)
        scales = UE5M3.encode(wanted)
        if self.scale_rule == "up":
            scales = scales + (UE5M3.to_float(scales) < wanted)
        scale = self._spread(UE5M3.to_float(scales), values.shape[axis], axis)
        codes = element.encode(values / scale, rounding=rounding, random=random)
        if isinstance(element, IntFormat):
            codes = np.maximum(codes, -element.high)
        return Blocks(codes=codes, scales=scales)

    def _scales(self, codes: np.ndarray) -> Exact:
        """Decode scales."""
        codes = UE5M3.check("scales", codes)
        if codes.size and codes.max() >= UE5M3.sign_code:
            raise ValueError(f"scales must be 0..255 (e5m3 without sign), not {codes.max()}")
        return UE5M3.decode(codes)
