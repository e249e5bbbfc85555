"""Encoder: exact fixed-point sums to codes of a number format, rounded once."""

from dataclasses import dataclass

import numpy as np

from golden.check import Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.element import ANY_ROUNDING, ElementFormat
from golden.formats.exact import Exact
from golden.formats.names import FormatName, parse
from golden.formats.random_bits import RANDOM_WIDTH, RandomBits

__all__ = ["EncoderSpec", "encoder"]

_FORMAT = FormatName("format of codes", "posit8e0")
_SATURATE = Flag("overflow saturates to the largest number", True)


@dataclass(frozen=True, kw_only=True)
class EncoderSpec:
    """Sums of `width` bits, two's complement, times 2^-fraction_width, and the result format.

    If `exponent_width` is not 0, each sum comes with an exponent, two's complement, and is also
    multiplied by 2^exponent. If `rounding` is stochastic, each has a random number of
    `random_width` bits.
    """

    format: str = parameter(_FORMAT)
    width: int = parameter(Integer("bits of a sum", 40, 2, 160, "bits"))
    fraction_width: int = parameter(Integer("bits after the binary point", 12, 0, 320, "bits"))
    exponent_width: int = parameter(
        Integer("bits of each sum's exponent; 0 = no exponent", 0, 0, 9, "bits")
    )
    rounding: str = parameter(ANY_ROUNDING)
    saturate: bool = parameter(_SATURATE)
    random_width: int = parameter(RANDOM_WIDTH)

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(EncoderSpec), vars(self))

    @property
    def code_format(self) -> ElementFormat:
        """Format of codes."""
        fmt = parse(self.format)
        assert isinstance(fmt, ElementFormat)
        return fmt

    @property
    def exponent_bounds(self) -> tuple[int, int]:
        """Smallest and largest exponent of a sum."""
        half = 1 << self.exponent_width >> 1
        return -half, max(half - 1, 0)


def encoder(
    spec: EncoderSpec,
    sums: np.ndarray,
    invalid: np.ndarray | None = None,
    exponents: np.ndarray | None = None,
    random: np.ndarray | None = None,
) -> np.ndarray:
    """Encode sums.

    Parameters
    ----------
    spec : format, widths, rounding.
    sums : integers of any shape within `width` bits, two's complement; Python integers (dtype
        object) if they do not fit int64.
    invalid : booleans, same shape: their codes are NaN, NaR or, if there is none, 0.
    exponents : integers, same shape, of `exponent_width` bits; zeros by default.
    random : integers, same shape, of `random_width` bits without sign, if rounding is stochastic.

    Returns
    -------
    int64 codes of `format`, same shape. Zero is +0.
    """
    sums = _check("sums", sums, -(1 << (spec.width - 1)), (1 << (spec.width - 1)) - 1)
    scale = np.full(sums.shape, -spec.fraction_width, dtype=np.int64)
    if exponents is not None:
        scale += _check("exponents", exponents, *spec.exponent_bounds).astype(np.int64)
    values = Exact(
        significand=sums,
        exponent=scale,
        nan=np.zeros(sums.shape, dtype=bool) if invalid is None else np.asarray(invalid, bool),
        infinity=np.zeros(sums.shape, dtype=np.int8),
    )
    bits = None if random is None else RandomBits(random, spec.random_width)
    return spec.code_format.encode(
        values, rounding=spec.rounding, saturate=spec.saturate, random=bits
    )


def _check(name: str, values: np.ndarray, low: int, high: int) -> np.ndarray:
    """Refuse non-integers and values out of range."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuO":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if array.size and not (low <= array.min() and array.max() <= high):
        worst = array.max() if array.max() > high else array.min()
        raise ValueError(f"{name} must be {low}..{high}, not {worst}")
    # Python integers where negating the smallest would overflow int64.
    return array.astype(np.int64 if high < 1 << 62 else object)
