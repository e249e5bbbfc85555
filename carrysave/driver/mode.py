"""Operand formats of a product, for multi-format engines."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .blocking import Stores
from .errors import CoprocessorError
from .expander import (
    CODEBOOKS,
    MASKS,
    PLAIN,
    TRITS_OF_BYTES,
    ExpanderSpec,
    codes_of,
    masked,
    pack_codes,
    pack_masked,
    table_of,
)
from .number import BYTE, Number
from .trits import pack_trits

__all__ = ["Mode", "read_expander"]


@dataclass(frozen=True, kw_only=True)
class Mode:
    """A pair of formats. Along K, the engine takes words of codes.

    Parameters
    ----------
    a, b : codes of A and B, in their containers in memory.
    k_max : maximum codes along K.
    a_format, b_format : the engine's indices of the formats.
    codes : codes per word.
    exponent : log2 of the weight of a sum's last bit.
    block : codes along K per scale and zero point, whole words; 0: there are neither.
    scales : number format of scales; None: there are none.
    zeros : blocks of columns of B have zero points.
    expander : B is in memory as codes of fewer bits, in words of several along K.
    table : the numbers of these codes, of an expander that has those of a job.
    """

    a: Number
    b: Number
    k_max: int
    a_format: int = 0
    b_format: int = 0
    codes: int = 1
    exponent: int = 0
    block: int = 0
    scales: Number | None = BYTE
    zeros: bool = False
    expander: ExpanderSpec = field(default=PLAIN, repr=False)
    table: tuple[int, ...] = ()

    def blocks(self, k: int) -> int:
        """Return the number of blocks in K codes; the last one may be shorter."""
        return -(-k // self.block) if self.block else 0

    @property
    def b_sides(self) -> Number | None:
        """Numbers of what B has for each block: scales, zero points, or :meth:`records` of both."""
        if not self.zeros:
            return self.scales
        return Number.of(16, 16, False) if self.scales else replace(self.b, bits=8)

    def records(self, scales: np.ndarray, zeros: np.ndarray) -> np.ndarray:
        """Return what B has for each block, from scales and zero points, both blocks x N.

        Raises
        ------
        TypeError, ValueError
            The mode has not both, or they are not of its numbers.
        """
        if not (self.zeros and self.scales):
            raise ValueError("mode must have scales and zero points, not one of them or neither")
        codes = self.b.check("zeros", zeros) & 0xFF
        return (self.scales.check("scales", scales) | codes << 8).astype(np.uint16)

    @property
    def b_deep(self) -> int:
        """Steps along K in a word of B."""
        return self.expander.deep

    @property
    def b_stored(self) -> Number:
        """Numbers of B in memory: the codes, or words of an expander's."""
        bits = self.expander.bits
        if not bits:
            return self.b
        if self.expander == TRITS_OF_BYTES:
            return BYTE
        used = bits if self.expander.group else self.expander.width * self.b_deep
        return Number.of(bits, used, False)

    def tabled(self, b: np.ndarray) -> "Mode":
        """Return the mode with a table of the numbers of B, if a job has one and there is none.

        Raises
        ------
        TypeError, ValueError
            B has other numbers, or more than a table.
        """
        if not self.expander.table_bytes or self.table:
            return self
        return replace(self, table=table_of(self.b.check("b", b), self.expander))

    @property
    def table_bytes(self) -> np.ndarray:
        """The table of a job as in memory, a row of bytes.

        Raises
        ------
        ValueError
            There is none, or one of other sizes, or with an entry that is no number of B.
        """
        entries = self.expander.table_bytes
        if len(self.table) != entries:
            raise ValueError(f"table of the mode must be of {entries}, not of {len(self.table)}")
        number = replace(self.b, low=0) if self.expander.mirrored else self.b
        return (number.check("table", self.table) & 0xFF).astype(np.uint8)[None]

    def words(self, b: np.ndarray) -> np.ndarray:
        """Rearrange B, K x N, so that the codes of a word are adjacent: words along K x (N codes).

        Or pack rows of numbers into words of codes. A needs no rearrangement. K is zero-padded.

        Raises
        ------
        TypeError, ValueError
            A weight is none that the expander makes, if there is one, or too many are not 0.
        """
        if self.expander == TRITS_OF_BYTES:
            return pack_trits(self.b.check("b", b))
        if self.expander.group:
            return pack_masked(self.b.check("b", b), self.expander)
        if self.expander.bits:
            table = self.expander.table or self.expander.numbers(self.table, self.b.high)
            return pack_codes(codes_of(self.b.check("b", b), table), self.expander)
        padded = np.pad(b, ((0, -len(b) % self.codes), (0, 0)))
        columns = b.shape[1]
        words = padded.reshape(-1, self.codes, columns).transpose(0, 2, 1)
        return words.reshape(-1, columns * self.codes)

    def stores(self, stores: Stores) -> Stores:
        """Return the block limits for words of these formats; `stores` are those of the widest."""
        return replace(
            stores,
            a_bits=self.codes * self.a.bits,
            b_bits=self.codes * self.b_stored.bits,
            a_widest=stores.a_bits,
            b_widest=stores.b_bits,
            block=self.block // self.codes,
            alone=int(self.scales is not None),
        )


def read_expander(field: Callable[[str], int]) -> ExpanderSpec:
    """Read how B is in memory, by names of fields; CoprocessorError: no build has that."""
    number, trits = field("features_codebook"), field("features_trits")
    # Mirrored tables have the number of whole ones.
    whole = [name for name, one in CODEBOOKS.items() if not one.mirrored]
    names = (PLAIN.name, *whole, *MASKS)
    if number >= len(names) or (number and trits):
        most = 0 if trits else len(names) - 1
        raise CoprocessorError(f"features_codebook must be 0..{most}, not {number}")
    expander = TRITS_OF_BYTES if trits else {PLAIN.name: PLAIN, **CODEBOOKS}.get(names[number])
    if field("features_more") and field("more_features_mirrored"):
        if names[number] != "job16":
            raise CoprocessorError(f"more_features_mirrored must be 0, not 1, with {names[number]}")
        expander = CODEBOOKS["mirror16"]
    if expander is None:
        width = field("numbers_b_width")
        if not 1 <= width <= BYTE.bits:
            raise CoprocessorError(f"numbers_b_width must be 1..{BYTE.bits}, not {width}")
        expander = masked(names[number], width)
    if expander.bits and field("b_bits") != expander.bits:
        raise CoprocessorError(
            f"b_bits must be {expander.bits} with {expander.name}, not {field('b_bits')}"
        )
    if field("tile_k") % expander.deep:
        raise CoprocessorError(
            f"tile_k must be a multiple of {expander.deep} with {expander.name},"
            f" not {field('tile_k')}"
        )
    return expander
