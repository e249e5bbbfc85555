"""Integer multiply-accumulate: sums of products of operand pairs."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer, parameter
from golden.formats.integer import IntFormat
from golden.operands import OperandsSpec

__all__ = ["MacSpec", "cycles", "mac"]


@dataclass(frozen=True, kw_only=True)
class MacSpec(OperandsSpec):
    """k operand pairs per beat; sums are modulo 2^accumulator_width."""

    k: int = parameter(Integer("operand pairs per beat", 1, 1, 64, "pairs"))
    accumulator_width: int = parameter(Integer("bits of the accumulator", 32, 4, 63, "bits"))

    @property
    def a_codes(self) -> int:
        """Codes of A in a beat; k, unless operands are chosen from more."""
        return self.k

    @property
    def sum_format(self) -> IntFormat:
        """Format of a sum."""
        return IntFormat(width=self.accumulator_width, signed=self.signed)


def mac(spec: MacSpec, a: np.ndarray, b: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Sum the products of each run of beats; a run ends where `last` is set.

    Parameters
    ----------
    spec : widths and signs.
    a, b : operand codes, beats x k; or 1-D if k is 1.
    last : booleans, one per beat; beats after the last one set belong to no complete sum.

    Returns
    -------
    int64 sums, one per `last`, modulo 2^accumulator_width.
    """
    products = spec.a_format.check("a", a) * spec.b_format.check("b", b)
    products = products.reshape(len(last), spec.k).sum(axis=1)
    # int64 wraps modulo 2^64, which every narrower modulus divides.
    running = np.concatenate(([0], np.cumsum(products)))
    ends = np.flatnonzero(last) + 1
    starts = np.concatenate(([0], ends[:-1])) if ends.size else ends
    return spec.sum_format.wrap(running[ends] - running[starts])


def cycles(spec: MacSpec, a: np.ndarray, b: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Count the cycles that each beat occupies the element: one.

    Parameters
    ----------
    spec, a, b, last : as for :func:`mac`; operands and sums flow without stalls.

    Returns
    -------
    int64 cycles, one per beat. A beat's sum comes the component's latency after its last.
    """
    return np.ones(len(last), dtype=np.int64)
