"""Mixed-precision lanes: words of codes in formats chosen at run time, exact sums."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from golden.check import Integer, Subset, check_fields, parameter, parameters_of
from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.names import parse
from golden.formats.quire import QuireSpec

__all__ = ["LaneSpec"]

_SL8 = ("int8", "int4", "e2m1", "posit4e1", "e2m3", "e3m2", "e4m3", "posit8e0")


@dataclass(frozen=True, kw_only=True)
class LaneSpec:
    """Formats that a lane multiplies, in any pair, and the width of its accumulator.

    A format is chosen by its index in :attr:`names`. A code is in a container: the smallest of 4, 8
    and 16 bits that holds it. A word has as many codes as WORD bits hold of the larger container of
    a pair, or, where :meth:`doubled`, of the smaller one: the first lowest, each in the low bits of
    a slot of :meth:`pitch` bits; bits above it are ignored. A sum is an integer times
    2^:meth:`lsb`, two's complement, modulo 2^accumulator_width. A NaN operand counts as zero.
    """

    formats: str = parameter(Subset("operand formats", ",".join(_SL8), _SL8))
    accumulator_width: int = parameter(Integer("bits of the accumulator", 48, 4, 128, "bits"))

    WORD: ClassVar[int] = 8
    """Bits of a word of operands whose formats have equal containers."""

    FORMATS: ClassVar[tuple[str, ...]] = _SL8
    """All supported formats."""

    LIMIT: ClassVar[int] = 1 << 16
    """Maximum codes per sum."""

    def __post_init__(self) -> None:
        """Check the fields, and that the accumulator holds one word of any pair."""
        check_fields(parameters_of(type(self)), vars(self))
        least = max(
            QuireSpec(
                a_format=self.elements[a], b_format=self.elements[b], k_max=self.codes(a, b)
            ).width
            for a, b in self.pairs
        )
        if self.accumulator_width < least:
            raise ValueError(
                f"accumulator_width must be {least}..128 bits for {self.formats}, "
                f"not {self.accumulator_width!r}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the formats, each at its index."""
        return tuple(self.formats.split(","))

    @property
    def elements(self) -> tuple[ElementFormat, ...]:
        """The formats, each at its index."""
        return _elements(self.names)

    @property
    def format_width(self) -> int:
        """Bits of an index of a format, at least one."""
        return max((len(self.names) - 1).bit_length(), 1)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Indices of A and B of every pair of formats."""
        count = range(len(self.names))
        return [(a, b) for a in count for b in count]

    @property
    def sum_format(self) -> IntFormat:
        """Format of a sum of at most 63 bits."""
        return IntFormat(width=self.accumulator_width)

    def index(self, name: str) -> int:
        """Index of a format; ValueError if it is not among them."""
        if name not in self.names:
            raise ValueError(f"format must be one of {', '.join(self.names)}, not {name!r}")
        return self.names.index(name)

    def container(self, index: int) -> int:
        """Container bits of a format: 4, 8 or 16."""
        return max(4, 1 << (self.elements[index].width - 1).bit_length())

    def doubled(self, a: int, b: int) -> bool:
        """Return whether the lane multiplies two codes at once, though A's have twice B's bits."""
        return False

    @property
    def word_width(self) -> int:
        """Bits of a word of operands: those of A's codes, where they are two of WORD bits."""
        return self.WORD << any(self.doubled(*pair) for pair in self.pairs)

    def pitch(self, a: int, b: int) -> int:
        """Bits from one code to the next in a word, for a pair of formats."""
        return self.word_width // self.codes(a, b)

    def codes(self, a: int, b: int) -> int:
        """Codes per word, for a pair of formats."""
        containers = self.container(a), self.container(b)
        return self.WORD // (min(containers) if self.doubled(a, b) else max(containers))

    def cycles(self, a: int, b: int) -> int:
        """Cycles per word, for a pair of formats."""
        return 1

    @property
    def operations(self) -> int:
        """A multiplication and an addition per product and cycle, for the pair with the most."""
        return max(2 * self.codes(*pair) // self.cycles(*pair) for pair in self.pairs)

    def lsb(self, a: int, b: int) -> int:
        """Exponent of the last bit of a sum, for a pair of formats."""
        return self.elements[a].lsb + self.elements[b].lsb

    def k_max_words(self, a: int, b: int) -> int:
        """Words per sum, 1 or more, that cannot overflow for any operands."""
        quire = QuireSpec(a_format=self.elements[a], b_format=self.elements[b])
        limit = min(quire.k_max_of(self.accumulator_width), self.LIMIT)
        return limit // self.codes(a, b)

    def pack(self, codes: np.ndarray, index: int, pitch: int) -> np.ndarray:
        """Pack codes into words, along the last axis; the last word is zero-padded.

        Parameters
        ----------
        codes : of one format, any number of axes.
        index : of that format.
        pitch : bits from one code to the next.

        Returns
        -------
        int64 words 0 .. 2^word_width - 1.
        """
        fmt = self.elements[index]
        bits = fmt.check("codes", codes) & (1 << fmt.width) - 1
        count = self.word_width // pitch
        fill = -bits.shape[-1] % count
        bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, fill)])
        slots = bits.reshape(*bits.shape[:-1], bits.shape[-1] // count, count)
        return (slots << pitch * np.arange(count)).sum(axis=-1)

    def unpack(self, words: np.ndarray, index: int, pitch: int) -> np.ndarray:
        """Undo :meth:`pack`, with a new last axis: the codes of a word."""
        fmt = self.elements[index]
        slots = words[..., None] >> pitch * np.arange(self.word_width // pitch)
        return fmt.wrap(slots & (1 << fmt.width) - 1)


@cache
def _elements(names: tuple[str, ...]) -> tuple[ElementFormat, ...]:
    """Make the formats of these names."""
    formats = [parse(name) for name in names]
    assert all(isinstance(fmt, ElementFormat) for fmt in formats)
    return tuple(fmt for fmt in formats if isinstance(fmt, ElementFormat))
