"""Arrays whose rows of C finish one cycle apart and leave one after the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Flag, parameter
from golden.engine import EngineSpec, TileSpec
from golden.pe.mac import MacSpec

__all__ = ["BroadcastEngineSpec", "RowsEngineSpec", "RowsSpec", "beat_cycles", "cycles"]


@dataclass(frozen=True, kw_only=True)
class RowsSpec(TileSpec):
    """A tile of C has m rows, each of which finishes one cycle after the row above it."""

    SEGMENT = 8

    @property
    def drain(self) -> int:
        """Cycles in which the m rows of a tile leave, with an idle one between segments.

        After reset the first beat waits as long, until the array is flushed.
        """
        return self.m + (self.m - 1) // self.SEGMENT

    @property
    def together(self) -> bool:
        """Whether all rows take a beat in the same cycle, not one cycle after the row above."""
        return False

    @property
    def idle(self) -> int:
        """Idle cycles between two tiles, if rows work in the same cycle and their sums must wait.

        Row i's sum leaves i cycles after that of row 0, and the next tile's beats overwrite it.
        """
        return max(self.drain - 1, 1) if self.together else 0


@dataclass(frozen=True, kw_only=True)
class RowsEngineSpec(RowsSpec, EngineSpec):
    """Such an array for integers."""

    @property
    def element(self) -> MacSpec:
        """What each of its elements does."""
        return MacSpec(
            k=self.k,
            a_width=self.a_width,
            b_width=self.b_width,
            a_signed=self.a_signed,
            b_signed=self.b_signed,
            accumulator_width=self.accumulator_width,
        )


@dataclass(frozen=True, kw_only=True)
class BroadcastEngineSpec(RowsEngineSpec):
    """Such an array with broadcast operands, which holds its sums in cycles without a beat."""

    together: bool = parameter(
        Flag(
            "rows take a beat in the same cycle; the next tile waits until all sums have left",
            False,
        )
    )


def cycles(
    spec: RowsEngineSpec,
    tiles: Sequence[tuple[np.ndarray, np.ndarray]],
    latency: int,
    gap: int | None = None,
) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the array.
    tiles : A, m x K, and B, K x n, of each; operands and results flow without stalls. Only K
        counts.
    latency : the component's, cycles from the last operand beat of a tile to its first row.
    gap : the component's, idle cycles between two tiles; None if the spec says when the next
        tile may follow.
    """
    beats = [-(-a.shape[1] // spec.k) for a, _ in tiles]
    if gap is not None:
        return sum(beats) + (len(beats) - 1) * gap - 1 + latency + spec.m
    return beat_cycles(spec, beats, latency)


def beat_cycles(spec: RowsSpec, beats: Iterable[int], latency: int) -> int:
    """Count the cycles for tiles with these numbers of beats."""
    finish = -spec.drain
    start = 0
    for count in beats:
        finish = max(start + count, finish + spec.drain)
        start = finish + spec.idle
    return finish - 1 + latency + spec.drain
