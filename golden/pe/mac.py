"""Integer multiply-accumulate: sums of products of operand pairs."""

from dataclasses import dataclass

import numpy as np

from golden.check import Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat

__all__ = ["MacSpec", "mac"]


@dataclass(frozen=True, kw_only=True)
class MacSpec:
    """Operand widths and signs, and the accumulator's width.

    Sums are kept modulo 2^accumulator_width, in two's complement if either operand is signed.
    """

    a_width: int = parameter(Integer("bits of operand a", 8, 2, 16, "bits"))
    b_width: int = parameter(Integer("bits of operand b", 8, 2, 16, "bits"))
    a_signed: bool = parameter(Flag("operand a is two's complement", True))
    b_signed: bool = parameter(Flag("operand b is two's complement", True))
    accumulator_width: int = parameter(Integer("bits of the sum", 32, 4, 63, "bits"))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(MacSpec), vars(self))

    @property
    def a_format(self) -> IntFormat:
        """Format of operand a."""
        return IntFormat(width=self.a_width, signed=self.a_signed)

    @property
    def b_format(self) -> IntFormat:
        """Format of operand b."""
        return IntFormat(width=self.b_width, signed=self.b_signed)

    @property
    def product_width(self) -> int:
        """Bits that hold every product; two's complement if either operand is signed."""
        return self.a_width + self.b_width

    @property
    def sum_format(self) -> IntFormat:
        """Format of a sum."""
        return IntFormat(width=self.accumulator_width, signed=self.a_signed or self.b_signed)


def mac(spec: MacSpec, a: np.ndarray, b: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Sum the products of each run of operand pairs; a run ends where `last` is set.

    Parameters
    ----------
    spec : widths and signs.
    a, b : operand codes, 1-D, of equal length.
    last : 1-D booleans; pairs behind the last one set belong to no sum yet.

    Returns
    -------
    int64 sums, one for each `last`, modulo 2^accumulator_width.
    """
    products = spec.a_format.check("a", a) * spec.b_format.check("b", b)
    # int64 wraps modulo 2^64, which every narrower modulus divides.
    running = np.concatenate(([0], np.cumsum(products)))
    ends = np.flatnonzero(last) + 1
    starts = np.concatenate(([0], ends[:-1])) if ends.size else ends
    return spec.sum_format.wrap(running[ends] - running[starts])
