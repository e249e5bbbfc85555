"""A pair of operands: widths and signs."""

from dataclasses import dataclass

import numpy as np

from golden.check import Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat, int_format

__all__ = ["OperandsSpec"]


@dataclass(frozen=True, kw_only=True)
class OperandsSpec:
    """Widths and signs of operands a and b (in an engine: of matrices A and B)."""

    a_width: int = parameter(Integer("bits of an operand a", 8, 2, 16, "bits"))
    b_width: int = parameter(Integer("bits of an operand b", 8, 2, 16, "bits"))
    a_signed: bool = parameter(Flag("a is two's complement", True))
    b_signed: bool = parameter(Flag("b is two's complement", True))

    def __post_init__(self) -> None:
        """Check all fields, those of derived specs included."""
        check_fields(parameters_of(type(self)), vars(self))

    @property
    def a_format(self) -> IntFormat:
        """Format of operand a."""
        return int_format(self.a_width, self.a_signed)

    @property
    def b_format(self) -> IntFormat:
        """Format of operand b."""
        return int_format(self.b_width, self.b_signed)

    @property
    def a_code_width(self) -> int:
        """Bits of an operand a at the hardware's port; a_width, unless it arrives recoded."""
        return self.a_width

    def a_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of a as bit patterns for the port, modulo 2^a_code_width."""
        return codes

    @property
    def a_low(self) -> int:
        """Smallest code of a that can occur."""
        return self.a_format.low

    def b_patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of B as bit patterns for the port, modulo 2^b_width, whole beats x n."""
        return codes

    @property
    def signed(self) -> bool:
        """Products, and sums of them, are two's complement."""
        return self.a_signed or self.b_signed
