"""Arrays whose rows of C are done one cycle apart and leave one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.engine import EngineSpec

__all__ = ["RowsSpec", "cycles"]


@dataclass(frozen=True, kw_only=True)
class RowsSpec(EngineSpec):
    """A tile of C has m rows, each of which ends one cycle after the row above it."""

    SEGMENT = 8

    @property
    def drain(self) -> int:
        """Cycles in which the m rows of a tile leave: an idle one between any two segments."""
        return self.m + (self.m - 1) // self.SEGMENT


def cycles(spec: RowsSpec, tiles: Sequence[tuple[np.ndarray, np.ndarray]], latency: int) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the array.
    tiles : A, m x K, and B, K x n, of each; operands and results flow without stalls. Only K
        counts.
    latency : cycles from the last operand beat of a tile to its first row, as the component says.
    """
    finish = -spec.drain
    start = 0
    for a, _ in tiles:
        last = start + -(-a.shape[1] // spec.k) - 1
        finish = max(last + 1, finish + spec.drain)
        start = finish
    return finish - 1 + latency + spec.drain
