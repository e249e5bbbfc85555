"""Output-stationary systolic array: every element keeps one number of C."""

from collections.abc import Sequence
from dataclasses import dataclass

from golden.engine import EngineSpec
from golden.engine import matmul as systolic_os

__all__ = ["SystolicOsSpec", "cycles", "systolic_os"]


@dataclass(frozen=True, kw_only=True)
class SystolicOsSpec(EngineSpec):
    """A tile of C is m rows by n columns of elements; one code of K arrives each cycle."""

    SEGMENT = 8

    @property
    def drain(self) -> int:
        """Cycles in which the m rows of a tile leave: one idle one behind every segment."""
        return self.m + (self.m - 1) // self.SEGMENT


def cycles(spec: SystolicOsSpec, lengths: Sequence[int], latency: int) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the array.
    lengths : K of each tile, in order; operands and results flow without stalls.
    latency : cycles from the last operand beat of a tile to its first row, as the component says.
    """
    last = finish = -spec.drain
    start = 0
    for length in lengths:
        last = start + length - 1
        finish = max(last + 1, finish + spec.drain)
        start = finish
    return finish - 1 + latency + spec.drain
