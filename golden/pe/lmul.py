"""L-Mul: floating-point products by adding codes as integers."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import minifloat
from golden.npe.float_sum import MinifloatName

__all__ = ["LmulSpec", "carries", "cycles", "lmul"]


@dataclass(frozen=True, kw_only=True)
class LmulSpec:
    """A format, and the correction c added to the sum of two codes X and Y without signs.

    The result's code is R = X + Y - (bias << M) + c, M the bits of the mantissa: a carry out of the
    mantissa goes into the exponent (and adds 2 to it where both mantissas are all but 1 and c is
    large), and nothing is normalised or rounded. By mode, c is:

    - "mitchell": 0;
    - "lmul": 2^(M - l), l = M up to 3 bits, 3 for 4 bits, 4 for more;
    - "constant": `offset`;
    - "exact": 0 or 1, as needed for the product rounded to nearest even, where both operands and
      the exact product are normal numbers; for mantissas of up to 3 bits. Of all 65,536 pairs of
      E4M3, 9,228 differ from the rounded product: those with a subnormal operand or product, 120 of
      which round up to the least normal number.

    Subnormal operands count as zeros of their sign. The sign of every result is that of the
    product, also of a zero, but a NaN has none. If R < 2^M, the result is zero. If R is beyond the
    largest number, the result is that number if `saturate`, else an infinity, else NaN; in a format
    without either, the largest number. A NaN, and an infinity times zero, give NaN; an infinity
    times any other number is an infinity, even with `saturate`.
    """

    format: str = parameter(MinifloatName("format of both operands and the result", "bf16", 11))
    mode: str = parameter(
        Choice("correction term", "lmul", ("mitchell", "lmul", "constant", "exact"))
    )
    offset: int = parameter(
        Integer("c in mode constant, in units of the last bit", 0, -1023, 1023, "units")
    )
    saturate: bool = parameter(Flag("overflow saturates to the largest number", False))

    def __post_init__(self) -> None:
        """Check the fields, and their combination."""
        check_fields(parameters_of(LmulSpec), vars(self))
        mantissa = self.number.mantissa_bits
        if mantissa < 1 or self.number.exponent_bits < 2:
            raise ValueError(
                "format must have 1 bit of mantissa and 2 of exponent at least, "
                f"not {self.format!r}"
            )
        limit = (1 << mantissa) - 1 if self.mode == "constant" else 0
        if abs(self.offset) > limit:
            where = f"for {self.format}" if limit else f"in mode {self.mode}"
            raise ValueError(f"offset must be {-limit}..{limit} {where}, not {self.offset!r}")
        if self.mode == "exact" and mantissa > 3:
            raise ValueError(
                f"mode must be one of mitchell, lmul, constant for {self.format}, not 'exact'"
            )

    @property
    def number(self) -> MinifloatFormat:
        """The format."""
        return minifloat(self.format)

    @property
    def addend(self) -> int:
        """The correction in every mode but "exact"."""
        mantissa = self.number.mantissa_bits
        shift = mantissa if mantissa <= 3 else 3 if mantissa == 4 else 4
        return {"lmul": 1 << mantissa - shift, "constant": self.offset}.get(self.mode, 0)


def carries(mantissa_bits: int) -> np.ndarray:
    """Return the correction for exact products, for each pair of mantissas."""
    one = 1 << mantissa_bits
    x = np.arange(one)
    product = (one + x)[:, None] * (one + x)
    places = mantissa_bits + (product >= 2 * one * one)
    high = product >> places
    rest = product - (high << places)
    up = (2 * rest + (high & 1) > 1 << places).astype(np.int64)
    # A significand of M + 1 bits is its mantissa plus one unit of the exponent.
    codes = high - one + up + (places - mantissa_bits) * one
    return codes - (x[:, None] + x)


def lmul(spec: LmulSpec, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply codes, element by element.

    Parameters
    ----------
    spec : format and mode.
    a, b : codes of one shape.

    Returns
    -------
    int64 codes.
    """
    fmt = spec.number
    a, b = fmt.check("a", a), fmt.check("b", b)
    mantissa = fmt.mantissa_bits
    least = 1 << mantissa
    codes = [(x & fmt.sign_code - 1, x) for x in (a, b)]
    zeros = [x < least for x, _ in codes]
    infinite = [x == fmt.infinity_code for x, _ in codes]
    if fmt.specials == "fnuz":
        nans = [whole == fmt.nan_code for _, whole in codes]
    else:
        nans = [(x > fmt.max_code) & ~inf for (x, _), inf in zip(codes, infinite, strict=True)]
    x, y = (magnitude for magnitude, _ in codes)
    added: int | np.ndarray = spec.addend
    if spec.mode == "exact":
        added = carries(mantissa)[x & least - 1, y & least - 1]
    result = x + y - (fmt.bias << mantissa) + added
    beyond = fmt.nan_code if fmt.infinity_code is None else fmt.infinity_code
    if spec.saturate or beyond is None:
        beyond = fmt.max_code
    over = result > fmt.max_code
    zero = zeros[0] | zeros[1] | (result < least)
    infinity = infinite[0] | infinite[1]
    nan = nans[0] | nans[1] | infinity & (zeros[0] | zeros[1])
    nan |= over & ~zero & ~infinity & (beyond == fmt.nan_code)
    result = np.where(over, beyond, result)
    result = np.where(zero, 0, result)
    if fmt.infinity_code is not None:
        result = np.where(infinity, fmt.infinity_code, result)
    unsigned = zero & ~infinity & (fmt.specials == "fnuz")
    result = np.where(unsigned, 0, result | (a ^ b) & fmt.sign_code)
    return np.where(nan, fmt.nan_code or 0, result)


def cycles(spec: LmulSpec, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Count the cycles that each pair occupies the unit: one.

    Parameters
    ----------
    spec, a, b : as for :func:`lmul`.
    """
    return np.ones(np.shape(a), dtype=np.int64)
