"""Lane of 16-bit words: two of 8 bits side by side, which 16-bit codes use together."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from golden.check import Integer, Subset, parameter
from golden.npe.lane import LaneSpec, lane_sums

__all__ = ["Sl16Spec", "cycles", "sl16"]

_SL16 = (*LaneSpec.FORMATS, "int16", "posit16e1")


@dataclass(frozen=True, kw_only=True)
class Sl16Spec(LaneSpec):
    """A lane of 16-bit words: a beat is four products of 4-bit codes, two of 8-bit ones, or one.

    A pair of formats with a 16-bit one among them has one code a word. The accumulator has to hold
    a product: 32 bits for int16, 114 for posit16e1, which by default is not among the formats.
    """

    formats: str = parameter(Subset("formats of operands", ",".join(_SL16[:-1]), _SL16))
    passes: int = parameter(Integer("cycles of a word with a 16-bit code", 2, 1, 2, "cycles"))

    WORD: ClassVar[int] = 16
    FORMATS: ClassVar[tuple[str, ...]] = _SL16

    def cycles(self, a: int, b: int) -> int:
        """Cycles of a word, of a pair of formats."""
        return self.passes if self.pitch(a, b) == self.WORD else 1


def sl16(
    spec: Sl16Spec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: np.ndarray | int,
    b_format: np.ndarray | int,
    last: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum the products of each run of words; see :func:`golden.npe.lane.lane_sums`.

    Parameters
    ----------
    spec : formats and width of sums.
    a, b : words, one for each beat.
    a_format, b_format : indices of formats; those of the first beat of a run count.
    last : booleans, one for each beat.

    Returns
    -------
    sums, invalid, overflow : one for each `last`.
    """
    return lane_sums(spec, a, b, a_format, b_format, last)


def cycles(
    spec: Sl16Spec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: np.ndarray | int,
    b_format: np.ndarray | int,
    last: np.ndarray,
) -> np.ndarray:
    """Count the cycles that each beat occupies the lane: `passes` of 16-bit pairs, else one.

    Parameters
    ----------
    spec, a, b, a_format, b_format, last : as :func:`sl16`'s; operands and sums flow without stalls.

    Returns
    -------
    int64 cycles, one for each beat. A beat's sum comes the component's latency after its last.
    """
    last = np.asarray(last, dtype=bool)
    starts = np.concatenate(([True], last[:-1]))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(last)), 0))
    pairs = [np.broadcast_to(indices, last.shape)[first] for indices in (a_format, b_format)]
    table = np.ones((len(spec.names), len(spec.names)), dtype=np.int64)
    for pair in spec.pairs:
        table[pair] = spec.cycles(*pair)
    return table[pairs[0], pairs[1]]
