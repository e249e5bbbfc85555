"""Shiftmax (I-ViT): integer softmax by shifts, one division per row, one product per value."""

from dataclasses import dataclass

import numpy as np

from golden.formats.integer import IntFormat
from golden.npe.activation import ActivationSpec, exp_shift

__all__ = ["ShiftmaxSpec", "cycles", "shiftmax"]


@dataclass(frozen=True, kw_only=True)
class ShiftmaxSpec(ActivationSpec):
    """Probabilities are integers times 2^-(out_width - 1), rounded down.

    Rows sum to 1 at most, and to less the more small probabilities they have. If the sum of
    exponentials saturates at 2^31 - 1 (possible from length * inverse_scale >= 2^(31 - octaves)
    on), they can sum to more.
    """

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
