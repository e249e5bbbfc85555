"""Lane of 16-bit words: two of 8 bits side by side, which 16-bit codes use together."""

from dataclasses import dataclass
from typing import ClassVar

from golden.check import Integer, Subset, parameter
from golden.npe.lane import LaneSpec, cycles
from golden.npe.lane import lane_sums as sl16

__all__ = ["Sl16Spec", "cycles", "sl16"]

_SL16 = (*LaneSpec.FORMATS, "int16", "posit16e1")


@dataclass(frozen=True, kw_only=True)
class Sl16Spec(LaneSpec):
    """A lane of 16-bit words: a beat is four products of 4-bit codes, two of 8-bit ones, or one.

    A pair of formats with a 16-bit one among them has one code a word. The accumulator has to hold
    a product: 32 bits for int16, 114 for posit16e1, which by default is not among the formats.
    """

    formats: str = parameter(Subset("formats of operands", ",".join(_SL16[:-1]), _SL16))
    passes: int = parameter(Integer("cycles of a word with a 16-bit code", 2, 1, 2, "cycles"))

    WORD: ClassVar[int] = 16
    FORMATS: ClassVar[tuple[str, ...]] = _SL16

    def cycles(self, a: int, b: int) -> int:
        """Cycles of a word, of a pair of formats."""
        return self.passes if self.pitch(a, b) == self.WORD else 1
