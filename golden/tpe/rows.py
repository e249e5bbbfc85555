"""Arrays whose rows of C finish one cycle apart and leave one after the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Flag, parameter
from golden.engine import EngineSpec, TileSpec, matmul
from golden.formats.sparse import DENSE, SPARSITY, SparseFormat
from golden.pe.mac import MacSpec
from golden.pe.sparse_mac import SparseMacSpec

__all__ = [
    "BroadcastEngineSpec",
    "RowsEngineSpec",
    "RowsSpec",
    "SparseEngineSpec",
    "beat_cycles",
    "cycles",
    "sparse_matmul",
]


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


@dataclass(frozen=True, kw_only=True)
class SparseEngineSpec(BroadcastEngineSpec):
    """Such an array whose B may have N codes of each M along K, with masks.

    k counts all codes, as A has them. A code of B at the port is a kept one, and above it its share
    of its group's mask, M / N bits, the lowest with the first code. See
    :class:`golden.formats.sparse.SparseFormat` for what a mask means.
    """

    sparsity: str = parameter(SPARSITY)

    def __post_init__(self) -> None:
        """Check all fields, and that groups are whole."""
        super().__post_init__()
        if self.sparse is not None:
            for name in ("k", "k_max"):
                value, group = getattr(self, name), self.sparse.group
                if value % group:
                    raise ValueError(
                        f"{name} must be a multiple of {group} where sparsity is {self.sparsity},"
                        f" not {value!r}"
                    )

    @property
    def sparse(self) -> SparseFormat | None:
        """The format of groups of B; None if it has all codes."""
        return None if self.sparsity == DENSE else SparseFormat.parse(self.sparsity)

    @property
    def plain(self) -> bool:
        """Takes codes of B without masks."""
        return self.sparse is None

    @property
    def stored(self) -> bool:
        """Takes what is in memory: codes of B, with masks or without."""
        return self.plain or self.sparse is not None

    @property
    def products(self) -> int:
        """Largest number of products in a sum."""
        return self._present(self.k_max)

    @property
    def b_codes(self) -> int:
        """Codes per column of B in a beat: those that are kept."""
        return self._present(self.k)

    def _present(self, codes: int) -> int:
        """Count the codes of whole groups that are there."""
        return codes if self.sparse is None else codes // self.sparse.share

    @property
    def b_code_width(self) -> int:
        """Bits of a code of B with its share of a mask."""
        return self.b_width + (self.sparse.share if self.sparse else 0)

    def b_numbers(self, codes: np.ndarray) -> np.ndarray:
        """Return what is multiplied: of each group the first codes that are not 0, others are 0."""
        return codes if self.sparse is None else self.sparse.read(codes)

    def b_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return kept codes of B with their shares of masks, as bit patterns for the port."""
        if self.sparse is None:
            return codes
        padded = np.pad(codes, ((0, -len(codes) % self.k), (0, 0)))
        masks, codes = self.sparse.pack(padded)
        bits = self.sparse.share
        shares = masks[:, None] >> bits * np.arange(self.sparse.count)[:, None] & (1 << bits) - 1
        return codes & (1 << self.b_width) - 1 | shares.reshape(codes.shape) << self.b_width

    @property
    def element(self) -> MacSpec:
        """What each of its elements does: with masks, it chooses codes of A."""
        dense = super().element
        if self.sparse is None:
            return dense
        return SparseMacSpec(**{**vars(dense), "k": self.b_codes}, sparsity=self.sparsity)


def sparse_matmul(spec: SparseEngineSpec, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply codes exactly, with what is left of B.

    Parameters
    ----------
    spec : formats, sparsity and k_max.
    a, b : codes, M x K and K x N, K <= spec.k_max. Where B has more codes in a group along K that
        are not 0 than `spec.sparsity` says, the others count as 0.

    Returns
    -------
    int64 codes of C, M x N.
    """
    return matmul(spec, a, spec.b_numbers(spec.b_format.within("b", b)))


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
