"""Lane of 16-bit words: two 8-bit lanes side by side, joined for 16-bit codes."""

from dataclasses import dataclass
from typing import ClassVar

from golden.check import Integer, Subset, parameter
from golden.npe.lane import LaneSpec
from golden.npe.lane_sums import cycles
from golden.npe.lane_sums import lane_sums as sl16

__all__ = ["Sl16Spec", "cycles", "sl16"]

_SL16 = (*LaneSpec.FORMATS, "int16", "posit16e1")


@dataclass(frozen=True, kw_only=True)
class Sl16Spec(LaneSpec):
    """A lane of 16-bit words: a beat is four products of 4-bit codes, two of 8-bit ones, or one.

    A pair with a 16-bit format has one code per word. The accumulator must hold a product: 32 bits
    for int16, 114 for posit16e1, which is not in the default formats.
    """

    formats: str = parameter(Subset("operand formats", ",".join(_SL16[:-1]), _SL16))
    passes: int = parameter(Integer("cycles per word with a 16-bit code", 2, 1, 2, "cycles"))

    WORD: ClassVar[int] = 16
    FORMATS: ClassVar[tuple[str, ...]] = _SL16

    def cycles(self, a: int, b: int) -> int:
        """Cycles per word, for a pair of formats."""
        return self.passes if self.pitch(a, b) == self.WORD else 1
