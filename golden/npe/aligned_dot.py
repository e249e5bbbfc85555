"""Dot products as in GPUs: groups of products and the running sum, aligned and truncated."""

from dataclasses import dataclass

import numpy as np

from golden.aligned import aligned_sums
from golden.check import Integer, check_fields, parameter, parameters_of
from golden.formats.exact import Exact
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse
from golden.npe.float_sum import MinifloatName, ends_of

__all__ = ["AlignedDotSpec", "aligned_dot"]

_FP32 = MinifloatFormat(exponent_bits=8, mantissa_bits=23, specials="ieee")


@dataclass(frozen=True, kw_only=True)
class AlignedDotSpec:
    """Operand formats, by name, and the parameters of :func:`golden.aligned.aligned_sums`."""

    a_format: str = parameter(MinifloatName("format of operands a", "e4m3", 11))
    b_format: str = parameter(MinifloatName("format of operands b", "e4m3", 11))
    group: int = parameter(Integer("products per aligned sum and beat", 16, 1, 64, "products"))
    fraction_width: int = parameter(
        Integer("bits kept of aligned products after the point", 25, 4, 48, "bits")
    )
    sum_mantissa_bits: int = parameter(
        Integer("mantissa bits of aligned sums (8 exponent bits)", 23, 1, 23, "bits")
    )

    def __post_init__(self) -> None:
        """Check all fields."""
        check_fields(parameters_of(AlignedDotSpec), vars(self))

    @property
    def operands(self) -> tuple[MinifloatFormat, MinifloatFormat]:
        """Formats of a and b."""
        a, b = parse(self.a_format), parse(self.b_format)
        assert isinstance(a, MinifloatFormat)
        assert isinstance(b, MinifloatFormat)
        return a, b

    @property
    def total(self) -> MinifloatFormat:
        """Format of the running sum."""
        return MinifloatFormat(
            exponent_bits=8, mantissa_bits=self.sum_mantissa_bits, specials="ieee"
        )

    @property
    def result(self) -> MinifloatFormat:
        """Format of results: fp32."""
        return _FP32


def aligned_dot(spec: AlignedDotSpec, a: np.ndarray, b: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Sum the products of each run of beats; a run ends where `last` is set.

    Parameters
    ----------
    spec : formats and widths.
    a, b : operand codes, beats x group.
    last : booleans, one per beat; beats after the last one set belong to no complete sum.

    Returns
    -------
    int64 codes of fp32, one per `last`; a zero sum is +0, NaN is the positive quiet NaN.
    """
    x, y = (
        fmt.decode(fmt.check(name, codes))
        for fmt, name, codes in zip(spec.operands, "ab", (a, b), strict=True)
    )
    products = x * y
    one = Exact.finite(np.ones((spec.group, 1), dtype=np.int64), 0)
    starts, stops = ends_of(last)
    totals = np.zeros(starts.shape)
    # Runs of equal length are computed together, as rows of products times a column of ones.
    for length in np.unique(stops - starts):
        runs = np.flatnonzero(stops - starts == length)
        scale = Exact.finite(np.ones((runs.size, 1), dtype=np.int64), 0)
        sums = aligned_sums(
            ((products[starts[runs] + beat], one, scale) for beat in range(length)),
            (runs.size, 1),
            point=sum(fmt.mantissa_bits for fmt in spec.operands),
            fraction_width=spec.fraction_width,
            sum_format=spec.total,
        )
        totals[runs] = sums.to_odd()[:, 0]
    return _FP32.encode(totals, saturate=False)
