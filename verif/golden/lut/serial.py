"""Bit-serial products: activations gated by the bit planes of the weights, one by one."""

import numpy as np

from golden.formats.integer import IntFormat

__all__ = ["serial_matmul"]


def serial_matmul(
    a: np.ndarray, codes: np.ndarray, fmt: IntFormat, *, k: int, form: str = "and"
) -> np.ndarray:
    """Multiply activations by weights, one plane and k activations per cycle, as the hardware does.

    Form "and" adds activations where a bit is set, and subtracts the sum of the sign's plane. Form
    "xor" adds or subtracts every activation, so that the sum is on the odd grid: it is corrected
    by the activations' sum and halved.

    Parameters
    ----------
    a : activations, M x K.
    codes : weights of format `fmt`, K x N.
    k : activations per cycle.
    form : "and" or "xor".
    """
    patterns = fmt.check("codes", codes) & (1 << fmt.width) - 1
    if form == "xor" and fmt.signed:
        patterns ^= 1 << (fmt.width - 1)  # offset binary
    total = np.zeros((a.shape[0], codes.shape[1]), dtype=np.int64)
    for start in range(0, a.shape[1], k):
        beat = a[:, start : start + k]
        for plane in range(fmt.width):
            bits = patterns[start : start + k] >> plane & 1
            if form == "xor":
                total += beat @ (2 * bits - 1) << plane
            else:
                negative = fmt.signed and plane == fmt.width - 1
                total += (beat @ bits << plane) * (-1 if negative else 1)
    if form == "and":
        return total
    zero = 1 if fmt.signed else 1 - (1 << fmt.width)
    return total - zero * a.sum(axis=1, keepdims=True) >> 1
