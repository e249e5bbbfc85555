"""LUT tensor core: tables over activations, looked up by bit planes of low-bit weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Flag, Integer, parameter
from golden.engine import matmul
from golden.formats.integer import IntFormat
from golden.lut.lookup import LookupSpec, constants
from golden.lut.table import FORMS, TableSpec, fold
from golden.tpe.lut_tables import LutTablesSpec, lut_tables
from golden.tpe.rows import BroadcastEngineSpec, beat_cycles

__all__ = ["LutCoreSpec", "cycles", "lut_core"]


@dataclass(frozen=True, kw_only=True)
class LutCoreSpec(BroadcastEngineSpec):
    """A tile of C is m rows, each with its tables, by n columns.

    In `order` "inner", a beat takes b_width cycles, one per bit plane of its weights; or one, with
    `parallel`. In order "outer", the beats of a tile come in b_width passes, the most significant
    plane first: a beat takes one cycle and has one bit of each weight (of offset binary, if B is
    signed), A is repeated, and K ends in each pass.

    A full table has the subset sums that weight bits 0 and 1 select; a half table the signed sums
    for weight bits -1 and 1. With `generator` "external", tables arrive as A: see
    :meth:`a_patterns`.

    With `weights` "integer", C is A x B for codes of B in two's complement or unsigned: the core
    corrects its sums by the activations' sums. "odd" omits that: a code q of B, unsigned,
    represents 2 q - (2^b_width - 1). Entries are negated exactly ("carry") or, only for "odd", by
    inversion ("constant"): C then lacks :func:`golden.lut.lookup.constants`.

    With `folded`, codes of B arrive as keys, see :meth:`b_patterns`.
    """

    m: int = parameter(Integer("rows of C per tile", 2, 1, 64, "rows"))
    n: int = parameter(Integer("columns of C per tile", 64, 1, 256, "columns"))
    b_width: int = parameter(Integer("bits of a weight", 2, 1, 8, "planes"))
    group: int = parameter(Integer("activations per table", 2, 2, 5, "activations"))
    lookups: int = parameter(Integer("tables looked up per cycle", 8, 1, 32, "groups"))
    table: str = parameter(
        Choice("entries: subset sums (full), or half of all signed sums", "full", FORMS)
    )
    generator: str = parameter(
        Choice(
            "table generator: at the edge for all columns, in each lane, or external",
            "shared",
            ("shared", "in_array", "external"),
        )
    )
    order: str = parameter(
        Choice(
            "bit planes: inner loop (per beat), or outer loop (per tile)",
            "inner",
            ("inner", "outer"),
        )
    )
    symmetric: bool = parameter(Flag("the most negative code of A never occurs", False))
    weights: str = parameter(
        Choice("codes of B are integers, or on the odd grid", "integer", ("integer", "odd"))
    )
    negation: str = parameter(
        Choice("entries are negated exactly, or but for a constant", "carry", ("carry", "constant"))
    )
    folded: bool = parameter(Flag("B arrives folded, as keys", True))
    parallel: bool = parameter(Flag("all bit planes of a beat in one cycle", False))

    def __post_init__(self) -> None:
        """Check all fields, and their combination."""
        super().__post_init__()
        if self.weights == "odd" and self.b_signed:
            raise ValueError("b_signed must be false where weights is odd, not True")
        if self.weights == "odd" and self.table == "full":
            raise ValueError("table must be half where weights is odd, not 'full'")
        if self.order == "outer" and self.parallel:
            raise ValueError("order must be inner where parallel is true, not 'outer'")
        if self.weights != "odd" and self.negation == "constant":
            raise ValueError("negation must be carry where weights is integer, not 'constant'")
        if self.symmetric and not self.a_signed:
            raise ValueError("symmetric must be false where a_signed is false, not True")

    @property
    def k(self) -> int:
        """Codes of K per beat."""
        return self.group * self.lookups

    @property
    def lookup(self) -> LookupSpec:
        """The computation of one row of the core."""
        return LookupSpec(
            **vars(self.tables),
            planes=self.b_width,
            lookups=self.lookups,
            order=self.order,
            negation=self.negation,
        )

    @property
    def tables(self) -> TableSpec:
        """One table."""
        return TableSpec(
            group=self.group,
            a_width=self.a_width,
            a_signed=self.a_signed,
            symmetric=self.symmetric,
        )

    @property
    def a_low(self) -> int:
        """Smallest code of A that can occur."""
        return -self.tables.greatest if self.symmetric else super().a_low

    @property
    def odd_format(self) -> IntFormat:
        """Format of sums on the odd grid; with negation "constant", without the constant."""
        greatest = self.k_max * self.tables.greatest * ((1 << self.b_width) - 1)
        if self.negation == "constant":
            beats = -(-self.k_max // self.k)
            greatest += beats * self.lookups * ((1 << self.b_width) - 1)
        return IntFormat(width=greatest.bit_length() + 1)

    @property
    def c_format(self) -> IntFormat:
        """Format of C: the narrowest that holds every sum of `k_max` products."""
        return self.odd_format if self.weights == "odd" else super().c_format

    @property
    def external(self) -> bool:
        """Tables come ready-made."""
        return self.generator == "external"

    @property
    def made(self) -> LutTablesSpec:
        """The external table generator."""
        return LutTablesSpec(**vars(self.tables), m=self.m, lookups=self.lookups, table=self.table)

    @property
    def a_code_width(self) -> int:
        """Bits of a code of A, or of an entry."""
        return self.made.code_format.width if self.external else self.a_width

    @property
    def a_codes(self) -> int:
        """Codes, or entries, per row of A and beat."""
        return self.lookups * self.made.table_entries if self.external else self.k

    def a_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return beats of A as they arrive: codes, beats x (m k), or their tables."""
        return lut_tables(self.made, codes) if self.external else codes

    @property
    def b_code_width(self) -> int:
        """Bits of a code of B in a beat."""
        return 1 if self.order == "outer" else self.b_width

    def b_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of B as bit patterns for the port, whole beats x n, in each pass.

        Padded with codes 0; folded, or in order "outer", in offset binary, so that bit planes are
        signs.
        """
        outer = self.order == "outer"
        low = self.b_format.low if self.folded or outer else 0
        patterns = self.b_format.check("b", codes) - low
        padded = np.pad(patterns, ((0, -codes.shape[0] % self.k), (0, 0)))
        padded = fold(padded, self.group) if self.folded else padded & (1 << self.b_width) - 1
        if not outer:
            return padded
        return np.concatenate([padded >> plane & 1 for plane in reversed(range(self.b_width))])

    @property
    def plain(self) -> bool:
        """Takes ordinary codes of B, in one pass."""
        as_they_are = not self.folded and self.weights == "integer"
        return as_they_are and self.order == "inner" and not self.external

    @property
    def planes(self) -> int:
        """Cycles of a beat."""
        return 1 if self.parallel or self.order == "outer" else self.b_width

    @property
    def passes(self) -> int:
        """Passes over the beats of a tile."""
        return self.b_width if self.order == "outer" else 1

    @property
    def operations_per_cycle(self) -> float:
        """Multiplications and additions per cycle."""
        return 2 * self.m * self.n * self.k / (self.planes * self.passes)


def lut_core(spec: LutCoreSpec, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply codes.

    Parameters
    ----------
    spec : formats and k_max.
    a, b : codes, M x K and K x N, K <= spec.k_max.

    Returns
    -------
    int64 codes of C, M x N.
    """
    a = spec.tables.check(a)
    c = matmul(spec, a, b)
    if spec.weights == "odd":
        c = 2 * c - ((1 << spec.b_width) - 1) * a.sum(axis=1, keepdims=True)
        if spec.negation == "constant":
            c = c - constants(np.asarray(b), spec.group)
    return c


def cycles(spec: LutCoreSpec, tiles: Sequence[tuple[np.ndarray, np.ndarray]], latency: int) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the core.
    tiles : for each, A, m x K, and B, K x n; operands and results flow without stalls.
    latency : the component's, cycles from the last plane of a tile to its first row.
    """
    each = spec.planes * spec.passes
    beats = (-(-a.shape[1] // spec.k) * each for a, _ in tiles)
    return beat_cycles(spec, beats, latency)
