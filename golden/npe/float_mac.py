"""Floating-point multiply-accumulate: exact products, each addition rounded."""

from dataclasses import dataclass

import numpy as np

from golden.check import check_fields, parameter, parameters_of
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse
from golden.npe.float_sum import MinifloatName, float_sums

__all__ = ["FloatMacSpec", "float_mac"]


@dataclass(frozen=True, kw_only=True)
class FloatMacSpec:
    """Formats of operands and of sums, by name."""

    a_format: str = parameter(MinifloatName("format of operands a", "bf16", 11))
    b_format: str = parameter(MinifloatName("format of operands b", "bf16", 11))
    sum_format: str = parameter(MinifloatName("format of sums", "fp32", 24, ieee=True))

    def __post_init__(self) -> None:
        """Check all fields."""
        check_fields(parameters_of(FloatMacSpec), vars(self))

    @property
    def operands(self) -> tuple[MinifloatFormat, MinifloatFormat]:
        """Formats of a and b."""
        return _minifloat(self.a_format), _minifloat(self.b_format)

    @property
    def total(self) -> MinifloatFormat:
        """Format of sums."""
        return _minifloat(self.sum_format)


def _minifloat(name: str) -> MinifloatFormat:
    fmt = parse(name)
    assert isinstance(fmt, MinifloatFormat)
    return fmt


def float_mac(spec: FloatMacSpec, a: np.ndarray, b: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Sum the products of each run of beats; a run ends where `last` is set.

    Each step is the fused multiply-add of IEEE 754, to nearest even, starting from +0: the product
    is exact and the sum is rounded once. Subnormals are kept, overflow becomes an infinity.

    Parameters
    ----------
    spec : formats.
    a, b : operand codes, one per beat.
    last : booleans, one per beat; beats after the last one set belong to no complete sum.

    Returns
    -------
    int64 codes of the sums, one per `last`; NaN is the positive quiet NaN.
    """
    x, y = (
        fmt.to_float(fmt.check(name, codes))
        for fmt, name, codes in zip(spec.operands, "ab", (a, b), strict=True)
    )
    with np.errstate(invalid="ignore"):
        products = x * y  # at most 22 bits: exact
    return float_sums(spec.total, products, last)
