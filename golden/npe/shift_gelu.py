"""ShiftGELU (I-ViT): x * sigmoid(1.702 x) of integers, with shifts and one division each."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer, parameter
from golden.formats.integer import IntFormat
from golden.npe.activation import ActivationSpec, exp_shift

__all__ = ["ShiftGeluSpec", "cycles", "shift_gelu"]


@dataclass(frozen=True, kw_only=True)
class ShiftGeluSpec(ActivationSpec):
    """Values x * S' / 1.702 to x * g times S' / 1.702 * 2^-(out_width - 1).

    S' is the step of the sigmoid's argument, 1.702 times that of the values: inverse_scale is
    1/S', rounded up. g is the sigmoid, rounded down to out_width - 1 bits. It is computed
    as e^(x - t) / (e^(x - t) + e^-t), t the maximum of the row's values and zero, so that no
    exponent is positive: I-ViT omits the zero, which differs only if all values are negative.

    Values are distinguished for (t - x) * S' up to 0.69 octaves. More octaves leave fewer bits for
    the quotient: I-ViT's 23 leave 8 minus those of inverse_scale. The largest errors, for 8-bit
    values and sigmoids and 1/S' = 32, are 0.30 with 23 octaves and 0.040 with 15, against GELU;
    against x * sigmoid(1.702 x), 0.28 and 0.020.
    """

    octaves: int = parameter(
        Integer("octaves from the largest to the smallest exponential", 23, 1, 30)
    )
    out_width: int = parameter(Integer("bits of the sigmoid, including a sign", 8, 2, 16))

    @property
    def out_format(self) -> IntFormat:
        """Format of a result."""
        return IntFormat(width=self.width + self.out_width - 1)

    @property
    def least_sum(self) -> int:
        """Smallest divisor: for the lowest value in a row with the highest."""
        low, high = self.in_format.low, self.in_format.high
        return min(int(exp_shift(self, np.array([low - high, -high])).sum()), self.DIVIDEND)


def shift_gelu(spec: ShiftGeluSpec, x: np.ndarray) -> np.ndarray:
    """Apply GELU to rows of integers.

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
    top = np.maximum(x.max(axis=-1, keepdims=True), 0)
    exponentials = exp_shift(spec, x - top)
    total = np.minimum(exponentials + exp_shift(spec, -top), spec.DIVIDEND)
    return x * (exponentials * (spec.DIVIDEND // total) >> 32 - spec.out_width)


def cycles(spec: ShiftGeluSpec, length: int) -> int:
    """Count the cycles from the first value of a row to its last result, both included.

    The next row may begin in the cycle of the last result.

    Parameters
    ----------
    spec : the unit.
    length : values of the row; they and the results flow without stalls.
    """
    return length * (spec.divide_cycles + 2) + 5
