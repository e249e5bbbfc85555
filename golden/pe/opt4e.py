"""OPT4E: four lanes of digits whose terms share one tree and one accumulator."""

from dataclasses import dataclass
from typing import ClassVar

from golden.check import Integer, parameter
from golden.pe.opt3 import cycles
from golden.pe.opt3 import opt3 as opt4e
from golden.pe.opt4c import Opt4cSpec

__all__ = ["Opt4eSpec", "cycles", "opt4e"]


@dataclass(frozen=True, kw_only=True)
class Opt4eSpec(Opt4cSpec):
    """k operand pairs per beat, k / 4 in each lane; the fullest lane determines the cycles."""

    LANES: ClassVar[int] = 4
    REGISTERS: ClassVar[int] = 2

    k: int = parameter(Integer("operand pairs per beat", 4, 1, 32, "pairs"))
