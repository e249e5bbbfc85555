"""Floating-point sums, each addition rounded once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from golden.check import Parameter
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse

__all__ = ["MinifloatName", "add_to_odd", "ends_of", "float_sums"]


@dataclass(frozen=True)
class MinifloatName(Parameter):
    """The name of a minifloat format with significands of at most `significand_width` bits.

    With `ieee`, only formats with infinities and NaNs as in IEEE 754.
    """

    significand_width: int
    ieee: bool = False

    @property
    def legal(self) -> str:
        """Legal names, as text."""
        rule = " and specials as of IEEE 754" if self.ieee else ""
        return (
            f"the name of a minifloat format such as {self.default}, with significands of "
            f"1..{self.significand_width} bits{rule}"
        )

    def check(self, name: str, value: Any) -> str:
        """Refuse other names, and names that are not the shortest spelling."""
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        try:
            fmt = parse(value)
        except ValueError:
            raise self.refuse(name, value) from None
        if (
            not isinstance(fmt, MinifloatFormat)
            or fmt.name != value
            or fmt.significand_width > self.significand_width
            or (self.ieee and fmt.specials != "ieee")
        ):
            raise self.refuse(name, value)
        return value

    def parse(self, name: str, text: str) -> str:
        """Return the text unchanged."""
        return self.check(name, text)


def ends_of(last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first beat of each run, and the beat after its last.

    Parameters
    ----------
    last : booleans, one per beat; beats after the last one set belong to no run.
    """
    stops = np.flatnonzero(last) + 1
    return np.concatenate(([0], stops[:-1])).astype(np.int64)[: stops.size], stops


def add_to_odd(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Add doubles and round to odd; rounding that again, to at most 50 bits, equals one rounding.

    The exact sum is the rounded one plus an error that is a double too (Knuth's two-sum). Zeros,
    infinities and NaNs are as in IEEE 754.
    """
    with np.errstate(invalid="ignore"):
        total = x + y
        part = total - x
        error = (x - (total - part)) + (y - part)
    inexact = np.isfinite(total) & (error != 0)
    even = total.view(np.int64) & 1 == 0
    toward = np.nextafter(total, np.copysign(np.inf, error))
    return np.where(inexact & even, toward, total)


def float_sums(fmt: MinifloatFormat, terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Add the terms of each run one by one, from +0, and round to `fmt` after each.

    Rounding is to nearest even, with subnormals; overflow becomes an infinity.

    Parameters
    ----------
    fmt : format of sums, of at most 24 bits of significand.
    terms : doubles, one per beat.
    last : booleans, one per beat; a run ends where it is set.

    Returns
    -------
    int64 codes of the sums, one per `last`; NaN is the positive quiet NaN.
    """
    starts, stops = ends_of(last)
    totals = np.zeros(starts.shape)
    lengths = stops - starts
    for step in range(lengths.max(initial=0)):
        going = lengths > step
        exact = add_to_odd(totals[going], terms[starts[going] + step])
        totals[going] = fmt.to_float(fmt.encode(exact, saturate=False))
    return fmt.encode(totals, saturate=False)
