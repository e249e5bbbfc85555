"""Ternary core: activations added, subtracted or skipped."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Flag, Integer, parameter
from golden.engine import matmul
from golden.formats.integer import IntFormat
from golden.lut.ternary import pair_key, read_code, table_key
from golden.tpe.rows import SparseEngineSpec, beat_cycles

__all__ = ["TernaryCoreSpec", "cycles", "ternary_core"]


@dataclass(frozen=True, kw_only=True)
class TernaryCoreSpec(SparseEngineSpec):
    """A tile of C is m rows by n columns; weights are -1, 0 and 1 in two bits; -2 counts as 0.

    By `mode`, a weight selects an activation ("direct"), a pair of weights one of four sums
    ("pair"), `group` weights one of (3^group - 1) / 2 ("table"), or two sign planes, one cycle
    each, signed sums of `group` ("two_plane"). With `keys`, pairs and groups arrive as keys; with
    `sparsity`, weights that are kept, with masks, of which each selects one activation.
    """

    m: int = parameter(Integer("rows of C per tile", 2, 1, 64, "rows"))
    n: int = parameter(Integer("columns of C per tile", 64, 1, 256, "columns"))
    b_width: int = parameter(Integer("bits of a weight", 2, 2, 2, "bits"))
    k: int = parameter(Integer("codes of K per beat", 16, 1, 80, "codes"))
    mode: str = parameter(
        Choice(
            "weights select activations, pairs, table entries, or two sign planes",
            "direct",
            ("direct", "pair", "table", "two_plane"),
        )
    )
    group: int = parameter(Integer("weights per table", 2, 2, 7, "weights"))
    keys: bool = parameter(Flag("B arrives as keys of pairs or groups", False))

    def __post_init__(self) -> None:
        """Check all fields, and their combination."""
        super().__post_init__()
        if not self.b_signed:
            raise ValueError("b_signed must be true, not False")
        if self.mode in ("direct", "pair") and self.group != 2:
            raise ValueError(f"group must be 2 where mode is {self.mode}, not {self.group!r}")
        if self.mode == "two_plane" and self.group > 5:
            raise ValueError(f"group must be 2..5 where mode is two_plane, not {self.group!r}")
        if self.mode != "direct" and self.k % self.group:
            raise ValueError(f"k must be a multiple of group, {self.group}, not {self.k!r}")
        if self.sparse is not None and self.mode != "direct":
            raise ValueError(
                f"sparsity must be none where mode is {self.mode}, not {self.sparsity!r}"
            )
        if self.keys and self.mode not in ("pair", "table"):
            raise ValueError(f"keys must be false where mode is {self.mode}, not True")

    @property
    def c_format(self) -> IntFormat:
        """Format of C: the narrowest that holds every sum of `k_max` products."""
        fmt = self.a_format
        greatest = self.products * max(fmt.high, -fmt.low)
        return IntFormat(width=greatest.bit_length() + 1)

    @property
    def plain(self) -> bool:
        """Takes codes of weights, not keys."""
        return not self.keys and super().plain

    def b_numbers(self, codes: np.ndarray) -> np.ndarray:
        """Return the weights of codes; -2 counts as 0."""
        return super().b_numbers(read_code(self.b_format.check("b", codes)))

    @property
    def planes(self) -> int:
        """Cycles of a beat."""
        return 2 if self.mode == "two_plane" else 1

    def b_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of B as bit patterns for the port, whole beats x n.

        Padded with weights 0. A key is in the 2 * group bits of its weights, the lowest first.
        """
        if self.sparse is not None:
            return super().b_patterns(read_code(codes))
        weights = self.b_numbers(codes)
        padded = np.pad(weights, ((0, -codes.shape[0] % self.k), (0, 0)))
        if not self.keys:
            return padded & 3
        key = pair_key(padded) if self.mode == "pair" else table_key(padded, self.group)
        places = 2 * np.arange(self.group)[:, None]
        return (key[:, None] >> places & 3).reshape(padded.shape)

    @property
    def operations_per_cycle(self) -> float:
        """Multiplications and additions per cycle."""
        return 2 * self.m * self.n * self.k / self.planes


def ternary_core(spec: TernaryCoreSpec, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply codes exactly.

    Parameters
    ----------
    spec : formats and k_max.
    a, b : codes, M x K and K x N, K <= spec.k_max.

    Returns
    -------
    int64 codes of C, M x N.
    """
    return matmul(spec, a, spec.b_numbers(b))


def cycles(
    spec: TernaryCoreSpec, tiles: Sequence[tuple[np.ndarray, np.ndarray]], latency: int
) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the core.
    tiles : A, m x K, and B, K x n, of each; operands and results flow without stalls.
    latency : the component's, cycles from the last plane of a tile to its first row.
    """
    beats = (-(-a.shape[1] // spec.k) * spec.planes for a, _ in tiles)
    return beat_cycles(spec, beats, latency)
