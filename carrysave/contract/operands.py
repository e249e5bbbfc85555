"""Operands at the inputs of a design: their codes, and how many digits of these are not zero."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from golden.arith import recode
from golden.formats.integer import IntFormat

__all__ = ["RECODINGS", "Beats", "Digits", "Operand"]

RECODINGS = {
    "naf": recode.naf,
    "booth": recode.booth,
    "ent": recode.ent,
    "ent_direct": recode.ent_direct,
}
"""Recoders whose non-zero digits are counted; ``ones`` are the bits of a pattern that are set."""


@dataclass(frozen=True)
class Operand:
    """Codes of an operand at an input, row by row, the first one in the lowest bits.

    Members
    -------
    field : the input.
    fmt : format of a code, in two's complement or unsigned.
    rows, codes : rows, and codes of each.
    recoded : codes come as digits, of :class:`golden.formats.recoded.RecodedFormat`.
    """

    field: str
    fmt: IntFormat
    rows: int
    codes: int
    recoded: bool = False

    @property
    def width(self) -> int:
        """Bits of a code at the input."""
        return 3 * ((self.fmt.width + 2 - self.fmt.signed) // 2) if self.recoded else self.fmt.width

    @property
    def recodings(self) -> tuple[str, ...]:
        """Ways to count digits, each another function of codes."""
        if self.recoded:
            return ("given",)
        return _different(self.fmt)

    def nonzero(self, recoding: str, patterns: np.ndarray) -> np.ndarray:
        """Count the digits of bit patterns that are not zero."""
        if recoding == "given":
            either = patterns | patterns >> 1
            digits = either[..., None] >> 3 * np.arange(self.width // 3) & 1
        elif recoding == "ones":
            digits = patterns[..., None] >> np.arange(self.width) & 1
        else:
            sign = self.fmt.low
            digits = RECODINGS[recoding]((patterns ^ -sign) + sign, self.fmt)
        return recode.nonzero(digits)

    def examples(self, recoding: str) -> Mapping[int, int]:
        """Return a bit pattern for each number of non-zero digits."""
        if recoding == "given":
            return {count: int("0" + "1" * count, 8) for count in range(self.width // 3 + 1)}
        counts, first = np.unique(
            self.nonzero(recoding, np.arange(1 << self.width)), return_index=True
        )
        return dict(zip(counts.tolist(), first.tolist(), strict=True))


@lru_cache
def _different(fmt: IntFormat) -> tuple[str, ...]:
    """Name the ways to count that differ for some code; of those alike the first."""
    operand = Operand("", fmt, 1, 1)
    patterns = np.arange(1 << fmt.width)
    ways: dict[bytes, str] = {}
    for name in (*RECODINGS, "ones"):
        ways.setdefault(operand.nonzero(name, patterns).tobytes(), name)
    return tuple(ways.values())


@dataclass(frozen=True)
class Digits:
    """The count of non-zero digits of one code of an operand, in a recoding."""

    operand: Operand
    number: int
    recoding: str


class Beats:
    """Beats whose atoms are looked at, in numpy.

    Parameters
    ----------
    values : of each input, by beat.
    """

    def __init__(self, values: Mapping[str, Sequence[int]]):
        self.values = values
        self._counts: dict[tuple[Operand, str], np.ndarray] = {}

    def counts(self, digits: Digits) -> np.ndarray:
        """Return the count of each beat."""
        operand = digits.operand
        key = operand, digits.recoding
        if key not in self._counts:
            ones = (1 << operand.width) - 1
            patterns = [
                [value >> number * operand.width & ones for value in self.values[operand.field]]
                for number in range(operand.rows * operand.codes)
            ]
            self._counts[key] = operand.nonzero(digits.recoding, np.array(patterns, dtype=np.int64))
        return self._counts[key][digits.number]
