"""Laconic: bit-slice multiply-accumulate, one product of signed powers of two at a time."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from golden.arith.recode import naf_bits, nonzero
from golden.check import Integer, parameter
from golden.formats.integer import IntFormat
from golden.pe.chances import normal_below, power
from golden.pe.mac import MacSpec
from golden.pe.mac import mac as laconic

__all__ = ["LaconicSpec", "cycles", "laconic", "terms"]

DEVIATION = 20 / 256
"""Standard deviation of normal operands, relative to the number of codes."""


@dataclass(frozen=True, kw_only=True)
class LaconicSpec(MacSpec):
    """k lanes, each with one operand pair of a beat."""

    k: int = parameter(Integer("lanes: operand pairs per beat", 16, 1, 64, "pairs"))

    @cached_property
    def operations_per_cycle(self) -> float:
        """Operations, two per pair, per cycle, for beats of independent normal operands.

        Operands have a standard deviation of 20/256 of the number of codes, around zero if signed
        and around the middle of the codes if not; they are clamped to the format.
        """
        pairs = np.outer(*(_term_chances(fmt) for fmt in (self.a_format, self.b_format)))
        spent = np.multiply.outer(*(np.arange(count) for count in pairs.shape))
        chances = np.bincount(np.maximum(spent, 1).reshape(-1), pairs.reshape(-1))
        # The slowest of k lanes takes more than c cycles unless each takes at most c.
        longer = 1 - power(np.minimum(chances.cumsum(), 1), self.k)
        return 2 * self.k / float(longer[:-1].sum())


def terms(codes: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Count the fewest signed powers of two that sum to each code; 0 for zero."""
    return nonzero(naf_bits(codes, fmt))


def cycles(spec: MacSpec, a: np.ndarray, b: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Count the cycles that each beat occupies the element.

    Parameters
    ----------
    spec, a, b, last : as for :func:`laconic`; operands and sums flow without stalls.

    Returns
    -------
    int64 cycles, one per beat: the maximum term pairs of a lane, at least one.
    """
    pairs = terms(a, spec.a_format) * terms(b, spec.b_format)
    return np.maximum(pairs.reshape(len(last), spec.k).max(axis=1), 1).astype(np.int64)


def _term_chances(fmt: IntFormat) -> np.ndarray:
    """Return the probability of each number of terms of a normal operand."""
    codes = np.arange(fmt.low, fmt.high + 1)
    centre = 0 if fmt.signed else (fmt.high + 1) // 2
    # Probabilities below each border between two codes; the tails are added to the end codes.
    below = normal_below((codes[1:] - centre - 0.5) / (DEVIATION * 2**fmt.width))
    return np.bincount(terms(codes, fmt), np.diff(below, prepend=0.0, append=1.0))
