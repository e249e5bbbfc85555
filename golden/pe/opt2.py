"""OPT2, same-weight reduction: k operand pairs per beat, the same sums as a plain MAC."""

from dataclasses import dataclass

from golden.check import Integer, parameter
from golden.pe.mac import MacSpec, cycles
from golden.pe.mac import mac as opt2

__all__ = ["Opt2Spec", "cycles", "opt2"]


@dataclass(frozen=True, kw_only=True)
class Opt2Spec(MacSpec):
    """One tree over k operand pairs per digit."""

    k: int = parameter(Integer("operand pairs per beat", 16, 1, 64, "pairs"))
