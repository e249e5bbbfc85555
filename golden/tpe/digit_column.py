"""Digit-serial columns: digits of rows of A, shared by n elements that add one term per cycle."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Flag, Integer, parameter
from golden.engine import EngineSpec
from golden.engine import matmul as digit_column
from golden.pe.opt3 import ENCODINGS, SUSTAINED, Opt3Spec, terms
from golden.pe.opt4c import Opt4cSpec
from golden.pe.opt4e import Opt4eSpec

__all__ = ["DigitColumnSpec", "cycles", "digit_column"]

_ELEMENTS = {"opt3": Opt3Spec, "opt4c": Opt4cSpec, "opt4e": Opt4eSpec}


@dataclass(frozen=True, kw_only=True)
class DigitColumnSpec(EngineSpec):
    """A tile of C is m rows, each a column of n elements; k codes of K make a beat.

    All rows wait for the slowest at the end of each beat. With `a_recoded`, codes of A arrive in
    :class:`~golden.formats.recoded.RecodedFormat`, recoded by `encoding`; cycles are the same.
    """

    m: int = parameter(Integer("rows of C per tile", 1, 1, 64, "rows"))
    n: int = parameter(Integer("columns of C per tile", 16, 1, 256, "columns"))
    k: int = parameter(Integer("codes of K per beat", 1, 1, 32, "codes"))
    pe: str = parameter(Choice("processing element", "opt4c", tuple(_ELEMENTS)))
    encoding: str = parameter(Choice("recoding of A", "naf", tuple(ENCODINGS)))
    constant_time: bool = parameter(Flag("issue zero digits too", False))
    a_recoded: bool = parameter(Flag("A arrives recoded, as digits", False))

    @property
    def a_code_width(self) -> int:
        """Bits of a code of A at the port: its own, or three per digit."""
        return self.element.a_code_width

    def a_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of A as bit patterns for the port, modulo 2^a_code_width."""
        return self.element.a_patterns(codes)

    @property
    def element(self) -> Opt3Spec:
        """What one element computes."""
        return _ELEMENTS[self.pe](
            k=self.k,
            a_width=self.a_width,
            b_width=self.b_width,
            a_signed=self.a_signed,
            b_signed=self.b_signed,
            accumulator_width=self.accumulator_width,
            encoding=self.encoding,
            constant_time=self.constant_time,
            a_recoded=self.a_recoded,
        )

    @property
    def operations_per_cycle(self) -> float:
        """Multiplications and additions per cycle, in tiles of up to ``SUSTAINED`` normal codes.

        The mean over normal operands is exact.
        """
        products = min(SUSTAINED, self.k_max)
        beats = -(-products // self.k)
        element = self.element
        spent = beats * element.expected_cycles(self.m) + element.drain + self.m - 1
        return 2 * self.m * self.n * products / spent


def cycles(
    spec: DigitColumnSpec, tiles: Sequence[tuple[np.ndarray, np.ndarray]], latency: int
) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the engine.
    tiles : for each, A, m x K, and B, K x n; operands and results flow without stalls.
    latency : the component's, cycles from the last operand beat of a tile to its first row.
    """
    element = spec.element
    total = 2
    for a, _ in tiles:
        beats = -(-a.shape[1] // spec.k)
        padded = np.pad(a, ((0, 0), (0, beats * spec.k - a.shape[1])))
        slowest = terms(element, padded.reshape(spec.m, beats, spec.k)).max(axis=0)
        total += int(slowest.sum()) + latency + spec.m - 1
    return total
