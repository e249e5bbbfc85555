"""OPT4C: OPT3 with recoder and digit selector shared by a column."""

from dataclasses import dataclass

from golden.pe.opt3 import Opt3Spec, cycles
from golden.pe.opt3 import opt3 as opt4c

__all__ = ["Opt4cSpec", "cycles", "opt4c"]


@dataclass(frozen=True, kw_only=True)
class Opt4cSpec(Opt3Spec):
    """The same sums in the same cycles as OPT3."""
