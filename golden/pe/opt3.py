"""OPT3, digit-serial multiply-accumulate: non-zero digits of a, one per cycle, times b."""

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import ClassVar

import numpy as np

from golden.arith import recode
from golden.check import Choice, Flag, Integer, parameter
from golden.formats.recoded import RecodedFormat
from golden.pe.chances import convolved, normal_below, power
from golden.pe.mac import MacSpec
from golden.pe.mac import mac as opt3

__all__ = ["ENCODINGS", "SUSTAINED", "Opt3Spec", "cycles", "opt3", "terms"]

ENCODINGS = {
    "naf": recode.naf,
    "booth": recode.booth,
    "ent": recode.ent,
    "ent_direct": recode.ent_direct,
}
"""Recoders by name."""

SUSTAINED = 256
"""Products per sum for which throughput is stated."""


@dataclass(frozen=True, kw_only=True)
class Opt3Spec(MacSpec):
    """k operand pairs per beat; the digits of a go to lanes: pair j to lane j mod lanes.

    The cycles of a beat depend on its operands, unless `constant_time` is set. The carry-save form
    of the accumulator is defined here too, since it decides how many cycles a sum needs to resolve.
    """

    LANES: ClassVar[int] = 1
    CARRY_SPACING: ClassVar[int] = 2
    GROUP: ClassVar[int] = 6
    REGISTERS: ClassVar[int] = 1

    k: int = parameter(Integer("operand pairs per beat", 1, 1, 32, "pairs"))
    encoding: str = parameter(Choice("recoding of operand a", "naf", tuple(ENCODINGS)))
    constant_time: bool = parameter(Flag("issue zero digits too", False))
    a_recoded: bool = parameter(Flag("a arrives recoded, as digits", False))

    @property
    def a_code_width(self) -> int:
        """Bits of an operand a at the port: its own, or three per digit."""
        return RecodedFormat(integer=self.a_format).width if self.a_recoded else self.a_width

    def a_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of a as bit patterns for the port, modulo 2^a_code_width."""
        if not self.a_recoded:
            return codes
        return RecodedFormat(integer=self.a_format).encode(codes, ENCODINGS[self.encoding])

    @property
    def lanes(self) -> int:
        """Digits per cycle."""
        return min(self.LANES, self.k)

    @property
    def digits(self) -> int:
        """Digits of an operand a."""
        return (self.a_width + 1) // 2 if self.a_signed else self.a_width // 2 + 1

    @property
    def multiple_width(self) -> int:
        """Bits of b times -2 .. 2, minus one for negative multiples: two's complement."""
        return self.b_width + (not self.b_signed) + 1

    @property
    def term_width(self) -> int:
        """Bits of such a multiple shifted to any digit's place: two's complement."""
        return self.multiple_width + 2 * (self.digits - 1)

    @property
    def low_width(self) -> int:
        """Columns of the sum to which terms are added; those above count up or down by one."""
        # Room for the terms of all lanes and the carries: the carry out at the top is -1, 0 or 1.
        spare = (self.lanes - 1).bit_length() + 1 if self.lanes > 1 else 0
        return min(self.accumulator_width, self.term_width - 1 + spare)

    @property
    def carry_weights(self) -> tuple[int, ...]:
        """Low columns that keep a carry from cycle to cycle."""
        last = self.low_width - (1 if self.lanes == 1 else 2)
        return tuple(range(self.CARRY_SPACING, last, self.CARRY_SPACING))

    @property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """First and end columns (exclusive) of the counting parts of the sum."""
        cuts = [*range(self.low_width, self.accumulator_width, self.GROUP), self.accumulator_width]
        return tuple(pairwise(cuts))

    @property
    def drain(self) -> int:
        """Cycles from the last term of a sum to the sum: pipeline, and carries rippling out."""
        return 1 + self.REGISTERS + len(self.carry_weights) + len(self.groups)

    @cached_property
    def _counts(self) -> np.ndarray:
        """Distribution of the number of terms of a code, for operands as in neural networks."""
        fmt = self.a_format
        codes = np.arange(fmt.low, fmt.high + 1)
        deviation = 20 * 2.0 ** (fmt.width - 8)
        centre = 0 if fmt.signed else (fmt.high + 1) // 2
        edges = normal_below((np.arange(fmt.low, fmt.high + 2) - centre - 0.5) / deviation)
        counts = np.bincount(self._terms(codes), np.diff(edges), self.digits + 1)
        return counts / counts.sum()

    def _terms(self, codes: np.ndarray) -> np.ndarray:
        """Count the terms of each code."""
        if self.constant_time:
            return np.full(codes.shape, self.digits)
        return recode.nonzero(ENCODINGS[self.encoding](codes, self.a_format))

    def expected_cycles(self, rows: int = 1) -> float:
        """Return the mean cycles of a beat in which `rows` operands a wait for the slowest.

        Operands are normal, deviation 20/128 of full scale; the mean is exact.
        """
        within = np.ones(1)
        for lane in range(self.lanes):
            codes = len(range(lane, self.k, self.lanes))
            count = reduce(convolved, [self._counts] * codes)
            reached = np.cumsum(count)
            size = max(len(within), len(reached))
            within, reached = (
                np.pad(array, (0, size - len(array)), constant_values=1.0)
                for array in (within, reached)
            )
            within = within * reached
        # The mean of a positive integer is the sum of its probabilities to exceed 0, 1, 2 ...
        return 1 + float((1 - power(within[1:], rows)).sum())

    @property
    def operations_per_cycle(self) -> float:
        """Multiplications and additions per cycle, in sums of ``SUSTAINED`` normal products."""
        beats = -(-SUSTAINED // self.k)
        return 2 * SUSTAINED / (beats * self.expected_cycles() + self.drain)


def terms(spec: Opt3Spec, a: np.ndarray) -> np.ndarray:
    """Count the cycles in which a beat issues terms: those of its fullest lane, at least one.

    Parameters
    ----------
    spec : encoding and lanes.
    a : operand codes, ... x k.

    Returns
    -------
    int64 cycles, one per beat.
    """
    counts = spec._terms(spec.a_format.check("a", a))
    lanes = [counts[..., lane :: spec.lanes].sum(axis=-1) for lane in range(spec.lanes)]
    return np.maximum(np.max(lanes, axis=0), 1)


def cycles(spec: Opt3Spec, a: np.ndarray, b: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Count the cycles that each beat occupies the element.

    Parameters
    ----------
    spec, a, b, last : as for :func:`golden.pe.mac.mac`; operands and sums flow without stalls.

    Returns
    -------
    int64 cycles, one per beat: its terms, plus the drain after the last beat of a sum.
    """
    spent = terms(spec, np.asarray(a).reshape(len(last), spec.k))
    return spent + spec.drain * np.asarray(last, dtype=np.int64)
