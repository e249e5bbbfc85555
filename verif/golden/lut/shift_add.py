"""Products by gated, shifted copies of an activation: integers, and floats times integers."""

from dataclasses import dataclass

import numpy as np

from golden.check import check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import minifloat
from golden.npe.float_sum import MinifloatName, float_sums

__all__ = ["FloatShiftAddSpec", "float_shift_add", "shift_add"]


@dataclass(frozen=True, kw_only=True)
class FloatShiftAddSpec:
    """Formats of activations and of their sums."""

    a_format: str = parameter(MinifloatName("format of activations", "fp16", 11))
    sum_format: str = parameter(MinifloatName("format of sums", "fp32", 24, ieee=True))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(FloatShiftAddSpec), vars(self))

    @property
    def formats(self) -> tuple[MinifloatFormat, MinifloatFormat]:
        """Formats of activations and of sums."""
        return minifloat(self.a_format), minifloat(self.sum_format)


def shift_add(a: np.ndarray, codes: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Multiply integers: all copies at once, that of a two's complement sign subtracted.

    Parameters
    ----------
    a : activations, M x K.
    codes : weights of format `fmt`, K x N.

    Returns
    -------
    int64 sums, M x N.
    """
    patterns = fmt.check("codes", codes) & (1 << fmt.width) - 1
    total = np.zeros((a.shape[0], codes.shape[1]), dtype=np.int64)
    for plane in range(fmt.width):
        copies = (a << plane)[:, :, None]
        gated = np.where(patterns[None] >> plane & 1, copies, 0).sum(axis=1)
        total += -gated if fmt.signed and plane == fmt.width - 1 else gated
    return total


def float_shift_add(spec: FloatShiftAddSpec, a: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Multiply floats by integers of up to 8 bits and add up, in order of K.

    The copies are of the significand, the exponent stays: a product is exact, and each addition is
    rounded once, to the nearest, ties to even, from +0. A weight 0 gates everything: its product is
    +0 for any activation.

    Parameters
    ----------
    spec : formats.
    a : codes of activations, M x K.
    weights : integers, K x N.

    Returns
    -------
    int64 codes of sums, M x N; NaN is the quiet NaN without sign.
    """
    a_format, sum_format = spec.formats
    weights = IntFormat(width=9).check("weights", weights)
    values = a_format.to_float(a_format.check("a", a))[:, None, :]
    with np.errstate(invalid="ignore"):
        terms = np.where(weights.T[None] == 0, 0.0, values * weights.T[None])
    last = np.zeros(terms.shape, dtype=bool)
    last[:, :, -1:] = True
    sums = float_sums(sum_format, terms.reshape(-1), last.reshape(-1))
    return sums.reshape(a.shape[0], weights.shape[1])
