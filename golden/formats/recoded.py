"""Recoded integers: a bit pattern for each signed radix-4 digit."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from golden.arith.recode import naf, value
from golden.formats.integer import IntFormat

__all__ = ["RecodedFormat", "Recoder"]

Recoder = Callable[[np.ndarray, IntFormat], np.ndarray]
"""Integers and their format to radix-4 digits, as the functions of :mod:`golden.arith.recode`."""

_INT8 = IntFormat()
_DIGIT_WIDTH = 3
_NONE = 3
_DIGITS = np.array([0, 1, 2, _NONE, _NONE, -1, -2, _NONE], dtype=np.int8)
_PATTERNS = np.array([6, 5, 0, 1, 2], dtype=np.int64)  # of -2 .. 2


@dataclass(frozen=True, kw_only=True)
class RecodedFormat:
    """An integer as its signed radix-4 digits: a multiplier that needs no recoder.

    A code is a bit pattern 0 .. 2^width - 1, held in int64, with three bits for each digit, lowest
    digit lowest: it is +-1; it is +-2; it is negative (zero is not). In octal a digit
    is 0, 1, 2, 5 for -1 or 6 for -2. An integer has as many digits as any recoder of
    :mod:`golden.arith.recode` gives it, and a code for each way to recode it.
    """

    integer: IntFormat = _INT8

    def __post_init__(self) -> None:
        """Check the field."""
        if not isinstance(self.integer, IntFormat):
            raise TypeError(f"integer must be an IntFormat, not {self.integer!r}")
        if self.integer.width > 32:
            raise ValueError(f"integer must be of 1..32 bits, not {self.integer.name}")

    @property
    def digits(self) -> int:
        """Digits of a code."""
        return (self.integer.width + 2 - self.integer.signed) // 2

    @property
    def width(self) -> int:
        """Bits of a code."""
        return _DIGIT_WIDTH * self.digits

    @property
    def name(self) -> str:
        """Short name, such as recoded_int8."""
        return f"recoded_{self.integer.name}"

    def legal(self, patterns: np.ndarray) -> np.ndarray:
        """Return which bit patterns 0 .. 2^width - 1 are codes, as an array of bool."""
        digits = self._split(self._pattern.check("patterns", patterns))
        values = value(digits)
        inside = (self.integer.low <= values) & (values <= self.integer.high)
        return (digits != _NONE).all(axis=-1) & inside

    def check(self, name: str, codes: np.ndarray) -> np.ndarray:
        """Return `codes` as int64; refuse non-integers, invalid digits, and values out of range."""
        codes = self._pattern.check(name, codes)
        illegal = codes[~self.legal(codes)]
        if illegal.size:
            raise ValueError(
                f"{name} must be octal digits 0, 1, 2, 5, 6 of {self.integer.low}.."
                f"{self.integer.high} ({self.name}), not {int(illegal[0]):#o}"
            )
        return codes

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return the int64 integers that `codes` stand for, which are the codes of `integer`."""
        return value(self._split(self.check("codes", codes)))

    def encode(self, integers: np.ndarray, recoder: Recoder = naf) -> np.ndarray:
        """Recode integers.

        Parameters
        ----------
        integers : codes of `integer`, of any shape.
        recoder : by default the one with the most zeros.

        Returns
        -------
        int64 codes, as many as integers.
        """
        integers = self.integer.check("integers", integers)
        digits = np.asarray(recoder(integers, self.integer))
        if (
            digits.shape != (*integers.shape, self.digits)
            or np.abs(digits).max(initial=0) > 2
            or not np.array_equal(value(digits), integers)
        ):
            raise ValueError(
                f"recoder must give {self.digits} radix-4 digits -2..2 of each integer"
                f" ({self.name}), not as {recoder!r}"
            )
        return _PATTERNS[digits + 2] @ (np.int64(1) << self._places)

    @property
    def _pattern(self) -> IntFormat:
        """Format of bit patterns, codes or not."""
        return IntFormat(width=self.width, signed=False)

    @property
    def _places(self) -> np.ndarray:
        """Lowest bit of each digit."""
        return _DIGIT_WIDTH * np.arange(self.digits)

    def _split(self, patterns: np.ndarray) -> np.ndarray:
        """Return the digits, lowest first on one axis more, and 3 where there is none."""
        return _DIGITS[patterns[..., None] >> self._places & (1 << _DIGIT_WIDTH) - 1]
