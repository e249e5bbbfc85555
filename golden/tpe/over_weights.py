"""Engine with tables over weights, looked up by the bit planes of activations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Integer, parameter
from golden.engine import EngineSpec, matmul
from golden.lut import over_weights as lut
from golden.lut.over_weights import OverWeightsSpec

__all__ = ["OverWeightsEngineSpec", "cycles", "over_weights", "reads"]


@dataclass(frozen=True, kw_only=True)
class OverWeightsEngineSpec(EngineSpec):
    """A tile of C is m rows, which share n columns of tables, one per column at a time."""

    m: int = parameter(Integer("rows of C per tile", 8, 1, 64, "rows"))
    group: int = parameter(Integer("weights per table", 4, 1, 6, "weights"))
    reuse: int = parameter(Integer("entries in the cache", 4, 0, 64, "entries"))

    def __post_init__(self) -> None:
        """Check all fields, and their combination."""
        super().__post_init__()
        _ = self.tables  # checks the combination of `reuse` and `group`

    @property
    def k(self) -> int:
        """Codes of K per beat: one table."""
        return self.group

    @property
    def tables(self) -> OverWeightsSpec:
        """Tables and their cache."""
        return OverWeightsSpec(
            group=self.group,
            a_width=self.a_width,
            a_signed=self.a_signed,
            b_width=self.b_width,
            b_signed=self.b_signed,
            reuse=self.reuse,
        )

    @property
    def beat_cycles(self) -> int:
        """Cycles of a beat: of its keys, or of making the next table, which overlap."""
        return max(self.m * self.a_width, 1 << self.group)


def over_weights(spec: OverWeightsEngineSpec, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply codes.

    Parameters
    ----------
    spec : formats and k_max.
    a, b : codes, M x K and K x N, K <= spec.k_max.

    Returns
    -------
    int64 codes of C, M x N.
    """
    return matmul(spec, a, b)


def reads(spec: OverWeightsEngineSpec, tiles: Sequence[tuple[np.ndarray, np.ndarray]]) -> int:
    """Count the entries read, each once for all columns.

    Parameters
    ----------
    spec : the engine.
    tiles : for each, A, m x K, and B, K x n.
    """
    return sum(lut.reads(spec.tables, lut.table_keys(spec.tables, a)) for a, _ in tiles)


def cycles(
    spec: OverWeightsEngineSpec, tiles: Sequence[tuple[np.ndarray, np.ndarray]], latency: int
) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the engine.
    tiles : A, m x K, and B, K x n, of each; operands and results flow without stalls. Only K
        counts.
    latency : the component's, cycles from a tile's only beat to its first row.
    """
    beats = sum(-(-a.shape[1] // spec.k) for a, _ in tiles)
    return (beats - 1) * spec.beat_cycles + latency + (spec.m - 1) * spec.a_width + 1
