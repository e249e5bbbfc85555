"""Bit-serial core: activations gated by one weight bit plane per cycle, and accumulated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Integer, parameter
from golden.engine import matmul as bitserial_core
from golden.tpe.rows import BroadcastEngineSpec, beat_cycles

__all__ = ["BitserialCoreSpec", "bitserial_core", "cycles"]


@dataclass(frozen=True, kw_only=True)
class BitserialCoreSpec(BroadcastEngineSpec):
    """A tile of C is m rows by n columns; a beat of k codes of K takes b_width cycles."""

    m: int = parameter(Integer("rows of C per tile", 2, 1, 64, "rows"))
    n: int = parameter(Integer("columns of C per tile", 64, 1, 256, "columns"))
    b_width: int = parameter(Integer("bits of a weight", 2, 1, 8, "planes"))
    k: int = parameter(Integer("codes of K per beat", 16, 1, 80, "codes"))

    @property
    def planes(self) -> int:
        """Cycles of a beat."""
        return self.b_width

    @property
    def operations_per_cycle(self) -> float:
        """Multiplications and additions per cycle."""
        return 2 * self.m * self.n * self.k / self.planes


def cycles(
    spec: BitserialCoreSpec, tiles: Sequence[tuple[np.ndarray, np.ndarray]], latency: int
) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the core.
    tiles : for each, A, m x K, and B, K x n; operands and results flow without stalls.
    latency : the component's, cycles from the last plane of a tile to its first row.
    """
    beats = (-(-a.shape[1] // spec.k) * spec.planes for a, _ in tiles)
    return beat_cycles(spec, beats, latency)
