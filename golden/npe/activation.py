"""Integer activations of I-ViT: the shift-based exponential of Shiftmax and ShiftGELU."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat

__all__ = ["ActivationSpec", "exp_parts", "exp_shift"]


@dataclass(frozen=True, kw_only=True)
class ActivationSpec:
    """Rows of integers x that represent x * S; their exponentials; a quotient of 31 bits.

    inverse_scale is 1/S, rounded up: I-ViT's x0 is -inverse_scale. That is
    exact if 1/S is an integer.
    """

    width: int = parameter(Integer("bits of a value, two's complement", 8, 2, 16, "bits"))
    length: int = parameter(Integer("maximum values in a row", 64, 1, 4096, "values"))
    inverse_scale: int = parameter(Integer("1/S, rounded up", 16, 1, 4096))
    octaves: int = parameter(
        Integer("octaves from the largest to the smallest exponential", 15, 1, 30)
    )
    out_width: int = parameter(Integer("bits of a probability, including a sign", 8, 2, 16))
    quotient_bits: int = parameter(Integer("quotient bits per cycle", 1, 1, 8, "bits"))

    DIVIDEND = (1 << 31) - 1
    """Largest sum of exponentials, and the dividend."""

    def __post_init__(self) -> None:
        """Check the fields, and that no exponential exceeds the dividend."""
        check_fields(parameters_of(type(self)), vars(self))
        if self.greatest > self.DIVIDEND:
            raise ValueError(
                f"inverse_scale * 2^octaves must be 1..{self.DIVIDEND}, not {self.greatest}"
            )

    @property
    def in_format(self) -> IntFormat:
        """Format of a value."""
        return IntFormat(width=self.width)

    @property
    def out_format(self) -> IntFormat:
        """Format of a result."""
        raise NotImplementedError

    @property
    def greatest(self) -> int:
        """Exponential of zero."""
        return self.inverse_scale << self.octaves

    @property
    def least_sum(self) -> int:
        """Smallest divisor: sum of exponentials."""
        raise NotImplementedError

    @property
    def quotient_width(self) -> int:
        """Bits of a quotient that can be ones."""
        return (self.DIVIDEND // self.least_sum).bit_length()

    @property
    def divide_cycles(self) -> int:
        """Cycles of a division."""
        return -(-self.quotient_width // self.quotient_bits)


def exp_parts(inverse_scale: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split an approximation of exp(x / inverse_scale) into a mantissa and a power of two.

    log2(e) is approximated by 1.4375, and 2^-r by 1 - r/2 between powers of two.

    Parameters
    ----------
    inverse_scale : values of x per unit of the exponent.
    x : int64, 0 or less.

    Returns
    -------
    int64 m in inverse_scale + 1 .. 2 * inverse_scale and q, 0 or more: the exponential is
    m * 2^-q / (2 * inverse_scale).
    """
    x = x + (x >> 1) - (x >> 4)
    whole = x // -inverse_scale
    return x + inverse_scale * whole + 2 * inverse_scale, whole


def exp_shift(spec: ActivationSpec, x: np.ndarray) -> np.ndarray:
    """Approximate exp(x * S), as an integer times S * 2^-octaves.

    Parameters
    ----------
    spec : scale and octaves.
    x : int64, 0 or less; clamped to -octaves after the change of base of :func:`exp_parts`.

    Returns
    -------
    int64, 1 .. `spec.greatest`.
    """
    mantissa, whole = exp_parts(spec.inverse_scale, x)
    mantissa = np.where(whole < spec.octaves, mantissa, 2 * spec.inverse_scale)
    return mantissa << (spec.octaves - np.minimum(whole, spec.octaves)) >> 1
