"""Weight-stationary systolic array: each element holds one code of B while m of A pass."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Integer, parameter
from golden.engine import matmul as systolic_ws
from golden.tpe.rows import RowsEngineSpec

__all__ = ["SystolicWsSpec", "cycles", "systolic_ws"]


@dataclass(frozen=True, kw_only=True)
class SystolicWsSpec(RowsEngineSpec):
    """The array has k rows and n columns; a tile of C has m rows, which pass through it."""

    SEGMENT = 256  # rows of C leave from the last row of the array, not by a bus

    k: int = parameter(Integer("codes of K per beat: rows of the array", 8, 1, 256, "codes"))

    @property
    def turn(self) -> int:
        """Cycles per beat, in which m rows of A and k rows of B enter."""
        return max(self.m, self.k)


def cycles(
    spec: SystolicWsSpec, tiles: Sequence[tuple[np.ndarray, np.ndarray]], latency: int
) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the array.
    tiles : A, m x K, and B, K x n, of each; operands and results flow without stalls. Only K
        counts.
    latency : the component's, cycles from the last operand beat of a tile to its first row.
    """
    beats = sum(-(-a.shape[1] // spec.k) for a, _ in tiles)
    return (beats - 1) * spec.turn + latency + spec.m
