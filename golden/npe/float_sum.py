"""Sums in floating point, of which each addition is rounded once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from golden.check import Parameter
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse

__all__ = ["MinifloatName", "add_to_odd", "ends_of", "float_sums"]


@dataclass(frozen=True)
class MinifloatName(Parameter):
    """The name of a minifloat format with significands of at most so many bits.

    Where `ieee`, of one with infinities and NaNs as in IEEE 754.
    """

    significand_width: int
    ieee: bool = False

    @property
    def legal(self) -> str:
        """What names look like."""
        rule = " and specials as of IEEE 754" if self.ieee else ""
        return (
            f"the name of a minifloat format such as {self.default}, with significands of "
            f"1..{self.significand_width} bits{rule}"
        )

    def check(self, name: str, value: Any) -> str:
        """Refuse what is no such name, or not the shortest one."""
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        try:
            found = parse(value)
        except ValueError:
            raise self.refuse(name, value) from None
        if (
            not isinstance(found, MinifloatFormat)
            or found.name != value
            or found.significand_width > self.significand_width
            or (self.ieee and found.specials != "ieee")
        ):
            raise self.refuse(name, value)
        return value

    def parse(self, name: str, text: str) -> str:
        """Take the text as it is."""
        return self.check(name, text)


def ends_of(last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each run of beats starts, and the beat behind its end.

    Parameters
    ----------
    last : booleans, one for each beat; beats behind the last one set belong to no run.
    """
    stops = np.flatnonzero(last) + 1
    return np.concatenate(([0], stops[:-1])).astype(np.int64)[: stops.size], stops


def add_to_odd(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Add doubles and round to odd; rounded once more, to at most 50 bits, that is one rounding.

    The exact sum is the rounded one and an error that is a double too (Knuth's two-sum). Zeros,
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
    """Add up the terms of each run one by one, from +0, and round to `fmt` after each.

    To the nearest, ties to even; subnormals are kept, what is too great becomes an infinity.

    Parameters
    ----------
    fmt : format of sums, of at most 24 bits of significand.
    terms : doubles, one for each beat.
    last : booleans, one for each beat; a run ends where it is set.

    Returns
    -------
    int64 codes of the sums, one for each `last`; NaN is the quiet NaN without sign.
    """
    starts, stops = ends_of(last)
    totals = np.zeros(starts.shape)
    lengths = stops - starts
    for step in range(lengths.max(initial=0)):
        going = lengths > step
        exact = add_to_odd(totals[going], terms[starts[going] + step])
        totals[going] = fmt.to_float(fmt.encode(exact, saturate=False))
    return fmt.encode(totals, saturate=False)
