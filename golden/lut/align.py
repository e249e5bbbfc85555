"""Floats as integers with a shared exponent: activations for tables of integers."""

import numpy as np

from golden.check import Integer
from golden.formats.block import Blocks
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.mx import MxFormat

__all__ = ["WIDTH", "align", "aligned_format"]

WIDTH = Integer("bits of an aligned activation", 13, 2, 16, "bits")


def aligned_format(width: int, block: int) -> MxFormat:
    """Return the format: symmetric integers of `width` bits, and E8M0 scales.

    The scale is the power of two that brings the block's largest magnitude to 1 .. 2; integers have
    width - 2 bits after the point.
    """
    WIDTH.check("width", width)
    return MxFormat(element=IntFormat(width=width, fraction_width=width - 2), block=block)


def align(
    fmt: MinifloatFormat, codes: np.ndarray, *, width: int, block: int, rounding: str = "rne"
) -> Blocks:
    """Align activations in blocks along K to the block's largest exponent.

    Bits below the last one are rounded by `rounding`, "rne" or "rtz". Rounding up to the next power
    of two saturates. A block with an infinity or a NaN has the scale NaN, and zeros.

    Parameters
    ----------
    fmt : format of activations.
    codes : their codes, M x K.
    width : bits of the integers, 2..16.
    block : activations per exponent; K for one per row.
    """
    aligned = aligned_format(width, block)
    blocks = aligned.quantise(fmt.to_float(codes), rounding=rounding)
    nan = blocks.scales == aligned.scale_nan_code
    spread = np.repeat(nan, block, axis=-1)[..., : codes.shape[-1]]
    return Blocks(codes=np.where(spread, 0, blocks.codes), scales=blocks.scales)
