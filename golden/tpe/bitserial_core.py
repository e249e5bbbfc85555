"""Bit-serial core: activations and one weight bit plane per cycle, and accumulated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Flag, Integer, parameter
from golden.engine import matmul as bitserial_core
from golden.formats.integer import IntFormat, int_format
from golden.tpe.rows import BroadcastEngineSpec, beat_cycles

__all__ = ["BitserialCoreSpec", "bitserial_core", "cycles"]


@dataclass(frozen=True, kw_only=True)
class BitserialCoreSpec(BroadcastEngineSpec):
    """A tile of C is m rows by n columns; a beat of k codes of K takes b_width cycles.

    If they are `bipolar`, codes have no sign: a code u of w bits is the odd number 2 u - (2^w - 1),
    -1 or 1 of one bit. These are the numbers of binarised networks (BiBench, Qin and others, 2023)
    and of bipolar-INT (Zhang and others, 2024), whose bit planes are all products of signs.
    """

    m: int = parameter(Integer("rows of C per tile", 2, 1, 64, "rows"))
    n: int = parameter(Integer("columns of C per tile", 64, 1, 256, "columns"))
    a_width: int = parameter(Integer("bits of an activation", 8, 1, 16, "bits"))
    b_width: int = parameter(Integer("bits of a weight", 2, 1, 8, "planes"))
    k: int = parameter(Integer("codes of K per beat", 16, 1, 256, "codes"))

    bipolar: bool = parameter(
        Flag("codes u of w bits are the odd numbers 2 u - (2^w - 1), and have no sign", False)
    )

    @property
    def a_format(self) -> IntFormat:
        """Format of codes of A."""
        return int_format(self.a_width, self.a_signed and not self.bipolar)

    @property
    def b_format(self) -> IntFormat:
        """Format of codes of B."""
        return int_format(self.b_width, self.b_signed and not self.bipolar)

    def a_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of A as bit patterns: 0 for what pads K, which is -1 where it is bipolar."""
        return np.maximum(codes, 0) if self.bipolar else codes

    @property
    def signed(self) -> bool:
        """Sums are two's complement."""
        return self.bipolar or super().signed

    @property
    def greatest(self) -> int:
        """Greatest product of bipolar codes."""
        return ((1 << self.a_width) - 1) * ((1 << self.b_width) - 1)

    @property
    def c_format(self) -> IntFormat:
        """Format of C: the narrowest that holds every sum."""
        if self.bipolar:
            return int_format((self.k_max * self.greatest).bit_length() + 1, True)
        return super().c_format

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
