"""Formats in which a network learns: operands of its products, and the engine that multiplies."""

from collections.abc import Mapping
from dataclasses import dataclass

from carrysave.compiler.target.target import Target
from carrysave.driver import Mode
from golden.formats.block import BlockFormat
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.mx import MxFormat
from golden.formats.nvfp4 import NvFormat
from golden.formats.ue5m3 import Ue5m3Format
from hw.catalog import Design

__all__ = ["BF16", "RECIPES", "Recipe", "target_of"]

BF16 = MinifloatFormat(exponent_bits=8, mantissa_bits=7, specials="ieee")
"""Of weights between steps."""
_E4M3 = MinifloatFormat(exponent_bits=4, mantissa_bits=3, specials="nan")
_WHOLE = 128
"""Codes of a block that is all of K."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Operands of all products, forward and backward.

    Members
    -------
    operands : blocks along K, which the host rounds floats to.
    element, scale : names of the engine's formats of codes and of scales.
    most : rows of a batch, or numbers of a layer; None: any.
    """

    operands: BlockFormat
    element: str
    scale: str
    most: int | None = None

    @property
    def tensor_scaled(self) -> bool:
        """Whether a tensor has a scale besides those of its blocks."""
        return isinstance(self.operands, NvFormat)

    def parameters(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters of a co-processor for it; those given go before."""
        block = self.operands.block
        engine = f"npe(m=8,n=8,formats={self.element},scale={self.scale},block={block},result=fp32)"
        return {"engine": engine, "bias": "false", "requantise": "false", **given}

    def mode(self, target: Target) -> Mode:
        """Return how a co-processor takes both operands.

        Raises
        ------
        ValueError
            It has no such format, or blocks of another size.
        """
        mode = target.modes.get((self.element, self.element))
        if mode is None or mode.block != self.operands.block:
            raise ValueError(
                f"engine must have the format {self.element} in blocks of {self.operands.block}"
                f" with scales {self.scale}, as those of {self.operands.name}"
            )
        return mode


RECIPES = {
    "nvfp4": Recipe(operands=NvFormat(), element="e2m1", scale="e4m3"),
    "mxfp8": Recipe(operands=MxFormat(element=_E4M3), element="e4m3", scale="e8m0"),
    "int8": Recipe(operands=MxFormat(element=IntFormat(width=8)), element="int8", scale="e8m0"),
    "int8e5m3": Recipe(operands=Ue5m3Format(), element="int8", scale="e5m3"),
    "shiftquant": Recipe(
        operands=MxFormat(element=IntFormat(width=4), block=_WHOLE),
        element="int4",
        scale="e8m0",
        most=_WHOLE,
    ),
}
"""By the names that users say: NVFP4; MXFP8 of E4M3; int8 with a power of two for each 32, or with
an unsigned float of E5M3; int4 with a power of two for each row of A and column of B, as the groups
of ShiftQuant."""


def target_of(recipe: Recipe, given: Mapping[str, str]) -> Target:
    """Return the co-processor for a recipe.

    Raises
    ------
    ValueError
        Parameters that do not fit it.
    """
    target = Target(Design.parse("coprocessor", recipe.parameters(given)), scaled=True).checked()
    recipe.mode(target)
    return target
