"""Posits: sign, regime, exponent, fraction, with tapered precision."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.formats.element import ElementFormat
from golden.formats.exact import Exact
from golden.formats.random_bits import RandomBits

__all__ = ["PositFormat"]


@dataclass(frozen=True, kw_only=True)
class PositFormat(ElementFormat):
    """A posit of `width` bits with `exponent_bits` (es), after Gustafson and Yonemoto, 2017.

    If the sign is set, the magnitude is in the two's complement of the whole code.
    It starts with the regime, m equal bits and one that differs: k is m - 1 if they are ones, else
    -m. Exponent e and fraction follow as far as there is room; bits that fall off are zeros. The
    value is 2^(k * 2^es + e) * 1.fraction. Code 0 is zero, a one and zeros is NaR (not a real).

    Values are rounded on the bit string: the infinite string is rounded to `width` bits, which near
    the largest and smallest number is not the arithmetically nearest value. They always saturate:
    only zero becomes zero, no number becomes NaR, infinities do.
    """

    width: int = parameter(Integer("bits of a code, n", 8, 3, 32, "bits"))
    exponent_bits: int = parameter(Integer("bits of the exponent, es", 0, 0, 3, "bits"))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(PositFormat), vars(self))

    @property
    def name(self) -> str:
        """Short name, such as posit8e0."""
        return f"posit{self.width}e{self.exponent_bits}"

    @property
    def nan_code(self) -> int:
        """Code of NaR."""
        return 1 << (self.width - 1)

    @property
    def max_code(self) -> int:
        """Code of the largest number."""
        return self.nan_code - 1

    @property
    def max_exponent(self) -> int:
        """The largest number is 2^max_exponent, the smallest 2^-max_exponent."""
        return (self.width - 2) << self.exponent_bits

    @property
    def significand_width(self) -> int:
        """Bits of the longest significand, the hidden one included."""
        return max(self.width - 3 - self.exponent_bits, 0) + 1

    @property
    def exponents(self) -> tuple[int, ...]:
        """Exponents of the last bit of a significand."""
        exponents = set()
        for run in range(1, self.width):
            rest = max(self.width - 2 - run, 0)
            bits = min(self.exponent_bits, rest)
            for regime in (run - 1, -run):
                base = (regime << self.exponent_bits) - (rest - bits)
                exponents |= {
                    base + (e << (self.exponent_bits - bits))
                    for e in range(1 << bits)
                    if run < self.width - 1 or regime > 0
                }
        return tuple(sorted(exponents))

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest finite value, in units of 2^lsb."""
        high = 1 << (2 * self.max_exponent)
        return -high, high

    def _decode(self, codes: np.ndarray) -> Exact:
        """Count the regime and shift it out."""
        special = codes & self.nan_code - 1 == 0
        negative = codes > self.nan_code
        body = np.where(negative, -codes, codes) & self.nan_code - 1
        ones = body >> (self.width - 2) == 1
        # The regime's length is that of the zeros in front, of the complement if they are ones.
        inverted = np.where(ones, ~body & self.nan_code - 1, body)
        run = self.width - 1 - np.frexp(inverted.astype(np.float64))[1].astype(np.int64)
        regime = np.where(ones, run - 1, -run)
        rest = np.maximum(self.width - 2 - run, 0)
        exponent_bits = np.minimum(self.exponent_bits, rest)
        fraction_width = rest - exponent_bits
        tail = body & (np.int64(1) << rest) - 1
        exponent = tail >> fraction_width << self.exponent_bits - exponent_bits
        hidden = np.int64(1) << fraction_width
        significand = tail & hidden - 1 | hidden
        scale = (regime << self.exponent_bits) + exponent
        return Exact(
            significand=np.where(special, 0, np.where(negative, -significand, significand)),
            exponent=np.where(special, -self.max_exponent, scale - fraction_width),
            nan=codes == self.nan_code,
            infinity=np.zeros(codes.shape, dtype=np.int8),
        )

    def _encode(
        self, values: np.ndarray, nearest: bool, saturate: bool, random: RandomBits | None
    ) -> np.ndarray:
        """Write regime, exponent and fraction into 64 bits, cut and round."""
        es = self.exponent_bits
        bits = values.view(np.int64)
        magnitude = bits & (1 << 63) - 1
        scale = (magnitude >> 52) - 1023
        # Beyond the largest and smallest number only the direction matters.
        scale = np.clip(scale, -self.max_exponent - 1, self.max_exponent)
        regime = scale >> es
        exponent = scale & (1 << es) - 1
        # 10 or 01, exponent, fraction; shifting fills in what the regime is longer, as its sign.
        head = np.where(regime >= 0, np.int64(-2), np.int64(1)) << 62
        string = head | exponent << 62 - es | (magnitude & (1 << 52) - 1) << 10 - es
        cut = 65 - self.width + np.where(regime >= 0, regime, -regime - 1)
        codes = string >> cut & self.nan_code - 1
        whole = np.int64(1) << cut - 1
        rest = string & whole + (whole - 1)
        if random is not None:
            codes += random.round(rest, cut)
        elif nearest:
            codes += (rest > whole) | ((rest == whole) & (codes & 1 == 1))
        codes = np.clip(codes, 1, self.max_code)
        codes = np.where(bits < 0, (1 << self.width) - codes, codes)
        codes[magnitude == 0] = 0
        codes[~np.isfinite(values)] = self.nan_code
        return codes
