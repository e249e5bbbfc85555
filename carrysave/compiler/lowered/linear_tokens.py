"""Tokens of linear attention by chunks, and how many digits their integers have."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from carrysave.compiler.lowered.digits import digit_count
from carrysave.driver.number import Number
from golden.elementary import log

__all__ = ["SPREAD", "Digits", "Tokens"]

SPREAD = 3
"""Octaves of the decay of a number, at most, between the middle of a chunk and its ends."""
_LOG_2 = float(log(2.0))
_LOG_2 = float(log(2.0))
_MOST_BITS, _FEWEST_BITS = 7, 4
"""Bits of weighted integers behind the binary point."""


@dataclass(frozen=True)
class Digits:
    """Integers as digits.

    Members
    -------
    count : of digits.
    bits : behind the binary point.
    """

    count: int
    bits: int = 0

    @classmethod
    def weighted(
        cls, ends: tuple[int, int], number: Number, times: int = 0, fewest: int = _FEWEST_BITS
    ) -> Self:
        """Return those of integers times weights, with as many bits behind the point as fit.

        Parameters
        ----------
        ends : least and greatest integer.
        number : of a digit.
        times : weights are 2^times at most.
        fewest : bits, for which a digit is added if there are none left.
        """
        least, most = (end << times for end in ends)
        count = digit_count(least, most, number)
        while True:
            for bits in range(_MOST_BITS, fewest - 1, -1):
                if digit_count(least << bits, most << bits, number) <= count:
                    return cls(count, bits)
            count += 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokens:
    """Integers of heads of keys, each a chain of its own, and the decay of their states.

    Members
    -------
    queries : chains x heads that share keys x tokens x width.
    keys, values : chains x tokens x width.
    decay : logarithms, 0 at most, chains x tokens x 1 or width of keys; None: there is none.
    """

    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    decay: np.ndarray | None

    @property
    def by_number(self) -> bool:
        """Whether each number of a key has a decay of its own."""
        return self.decay is not None and self.decay.shape[-1] > 1

    def chunk(self, most: int) -> int:
        """Return the tokens of a chunk: `most`, or by halves as many as decay leaves.

        Weights of numbers are those from the middle of a chunk, of :data:`SPREAD` octaves at most.
        """
        if self.decay is None or not self.by_number:
            return most
        while most > 1:
            short = -self.decay.shape[1] % most
            whole = np.pad(self.decay, ((0, 0), (0, short), (0, 0)))
            sums = whole.reshape(len(whole), -1, most, whole.shape[-1]).cumsum(axis=2)
            spans = np.abs(sums - sums[:, :, most // 2, None])
            if spans.max() <= SPREAD * _LOG_2:
                break
            most //= 2
        return most

    def part(self, start: int, end: int, chunk: int) -> Self:
        """Return some tokens by chunks, an axis behind the first; decay is summed in each."""

        def cut(array: np.ndarray) -> np.ndarray:
            part = array[..., start:end, :]
            return part.reshape(*part.shape[:-2], -1, chunk, part.shape[-1])

        return replace(
            self,
            queries=np.moveaxis(cut(self.queries), 2, 1),
            keys=cut(self.keys),
            values=cut(self.values),
            decay=None if self.decay is None else cut(self.decay).cumsum(axis=2),
        )
