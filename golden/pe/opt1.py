"""OPT1, compressed accumulation: the same sums as a plain MAC, resolved once per run."""

from golden.pe.mac import cycles
from golden.pe.mac import mac as opt1

__all__ = ["cycles", "opt1"]
