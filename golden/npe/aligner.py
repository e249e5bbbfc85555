"""Aligner: floats in blocks to integers with a shared exponent."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.formats.block import Blocks
from golden.formats.element import ROUNDING
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import minifloat
from golden.lut.align import WIDTH, align
from golden.npe.float_sum import MinifloatName

__all__ = ["AlignerSpec", "aligner"]


@dataclass(frozen=True, kw_only=True)
class AlignerSpec:
    """Blocks of floating-point codes, and the integers they become."""

    format: str = parameter(MinifloatName("format of activations", "fp16", 24))
    width: int = parameter(WIDTH)
    block: int = parameter(Integer("activations per exponent", 32, 1, 1 << 14, "activations"))
    lanes: int = parameter(Integer("activations per beat", 8, 1, 64, "activations"))
    rounding: str = parameter(ROUNDING)

    def __post_init__(self) -> None:
        """Check all fields, and that blocks are whole beats."""
        check_fields(parameters_of(AlignerSpec), vars(self))
        if self.block % self.lanes:
            raise ValueError(f"block must be a multiple of lanes, {self.lanes}, not {self.block!r}")

    @property
    def number(self) -> MinifloatFormat:
        """Format of activations."""
        return minifloat(self.format)

    @property
    def integer(self) -> IntFormat:
        """Format of integers; the most negative one never occurs."""
        return IntFormat(width=self.width)

    @property
    def beats(self) -> int:
        """Beats of a block."""
        return self.block // self.lanes


def aligner(spec: AlignerSpec, codes: np.ndarray) -> Blocks:
    """Align rows of activations, each row in its own blocks; the last block may be shorter.

    Parameters
    ----------
    spec : formats and block.
    codes : of activations, M x K.

    Returns
    -------
    Integers, M x K, and codes of scales, see :func:`golden.lut.align.align`.
    """
    return align(spec.number, codes, width=spec.width, block=spec.block, rounding=spec.rounding)
