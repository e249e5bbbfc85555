"""Shiftmax (I-ViT): integer softmax by shifts, one division per row, one product per value."""

from dataclasses import dataclass

import numpy as np

from golden.formats.integer import IntFormat
from golden.npe.activation import ActivationSpec, exp_shift

__all__ = ["ShiftmaxSpec", "cycles", "shiftmax"]


@dataclass(frozen=True, kw_only=True)
class ShiftmaxSpec(ActivationSpec):
    """Probabilities are integers times 2^-(out_width - 1), rounded down.

    Every probability is rounded down, and so is the quotient: a row of L values sums to between
    the two :meth:`bounds`, about 1 - L * (2^-(out_width - 1) + inverse_scale * 2^(octaves - 31))
    and 1. It is a softmax only where the lower one is near 1. From L * inverse_scale =
    2^(31 - octaves) on, the sum of exponentials can saturate at 2^31 - 1, and rows can sum to more
    than 1: with 16 bits to 64, for 1,024 equal values, an inverse_scale of 4096 and 15 octaves.
    Below that, with 8 bits, rows of 128 and more equal values are all zeros.
    """

    def bounds(self, length: int) -> tuple[float, float]:
        """Bound the sum of the probabilities of any row, from below and from above.

        Parameters
        ----------
        length : values of the row.
        """
        total = length * self.greatest / (self.DIVIDEND + 1)
        low = 1 - total - 2.0**-31 - length * 2.0 ** (1 - self.out_width)
        return max(low, 0.0), max(total, 1.0)

    @property
    def out_format(self) -> IntFormat:
        """Format of a probability; none is negative."""
        return IntFormat(width=self.out_width)

    @property
    def least_sum(self) -> int:
        """Smallest divisor: only the row's maximum contributes."""
        return self.greatest


def shiftmax(spec: ShiftmaxSpec, x: np.ndarray) -> np.ndarray:
    """Compute the softmax of rows of integers.

    Parameters
    ----------
    spec : scale and widths.
    x : of `spec.in_format`, rows along the last axis, 1 .. length values each.

    Returns
    -------
    int64 codes of `spec.out_format`, of the shape of `x`.
    """
    x = spec.in_format.check("x", x)
    if not 1 <= x.shape[-1] <= spec.length:
        raise ValueError(f"rows must be of 1..{spec.length} values, not {x.shape[-1]}")
    exponentials = exp_shift(spec, x - x.max(axis=-1, keepdims=True))
    total = np.minimum(exponentials.sum(axis=-1, keepdims=True), spec.DIVIDEND)
    return exponentials * (spec.DIVIDEND // total) >> 32 - spec.out_width


def cycles(spec: ShiftmaxSpec, length: int) -> int:
    """Count the cycles from the first value of a row to its last probability, both included.

    The next row may begin in the cycle of the last probability.

    Parameters
    ----------
    spec : the unit.
    length : values of the row; they and the probabilities flow without stalls.
    """
    return 3 * length + 3 + max(2, spec.divide_cycles)
