"""Floating-point formats with few bits: sign, exponent, mantissa, always with subnormals."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.element import ElementFormat
from golden.formats.exact import Exact
from golden.formats.random_bits import RandomBits

__all__ = ["SHORT_NAMES", "MinifloatFormat"]

# Names in use: exponent bits, mantissa bits, rule for special values, bias offset.
SHORT_NAMES = {
    "e2m1": (2, 1, "finite", 0),
    "e1m2": (1, 2, "finite", 1),
    "e3m0": (3, 0, "finite", 0),
    "e2m3": (2, 3, "finite", 0),
    "e3m2": (3, 2, "finite", 0),
    "e4m3": (4, 3, "nan", 0),
    "e5m2": (5, 2, "ieee", 0),
    "e3m4": (3, 4, "ieee", 0),
    "fp16": (5, 10, "ieee", 0),
    "bf16": (8, 7, "ieee", 0),
    "tf32": (8, 10, "ieee", 0),
    "fp32": (8, 23, "ieee", 0),
}


@dataclass(frozen=True, kw_only=True)
class MinifloatFormat(ElementFormat):
    """A sign, `exponent_bits` and `mantissa_bits`, and a rule for special codes.

    With exponent field E and mantissa field M, m bits of it, a value is (-1)^sign times
    M * 2^(1 - bias - m) if E is 0, else (2^m + M) * 2^(E - bias - m). The rules: "ieee", the
    largest E is infinity or NaN; "nan", all ones is NaN, as in E4M3 of OCP's OFP8; "finite", every
    code is a number, as in OCP's MX FP6 and FP4; "fnuz", all codes are numbers except -0, which is
    NaN, and the bias is one higher.
    """

    exponent_bits: int = parameter(Integer("bits of the exponent", 4, 1, 8, "bits"))
    mantissa_bits: int = parameter(Integer("bits of the mantissa", 3, 0, 23, "bits"))
    specials: str = parameter(
        Choice("which codes are no numbers", "nan", ("ieee", "nan", "finite", "fnuz"))
    )
    bias_offset: int = parameter(Integer("added to the usual bias", 0, -64, 64))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(MinifloatFormat), vars(self))
        if self.specials == "ieee" and (self.exponent_bits < 2 or self.mantissa_bits < 1):
            raise ValueError(
                "specials must be one of nan, finite, fnuz where exponent_bits is 1 or "
                "mantissa_bits is 0, not 'ieee'"
            )
        if self.specials == "nan" and self.width == 2:
            raise ValueError("specials must be one of finite, fnuz in 2 bits, not 'nan'")

    @property
    def width(self) -> int:
        """Bits of a code."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def name(self) -> str:
        """Short name; formats without one are spelled out, as e4m3ieee or e4m3fnuz_b3."""
        key = (self.exponent_bits, self.mantissa_bits, self.specials, self.bias_offset)
        for name, known in SHORT_NAMES.items():
            if key == known:
                return name
        offset = f"_b{self.bias_offset}" if self.bias_offset else ""
        return f"e{self.exponent_bits}m{self.mantissa_bits}{self.specials}{offset}"

    @property
    def bias(self) -> int:
        """Exponent field minus exponent."""
        usual = (1 << (self.exponent_bits - 1)) - 1
        return usual + (self.specials == "fnuz") + self.bias_offset

    @property
    def max_code(self) -> int:
        """Code of the largest number."""
        ones = (1 << (self.width - 1)) - 1
        if self.specials == "ieee":
            return ones - (1 << self.mantissa_bits)
        return ones - (self.specials == "nan")

    @property
    def infinity_code(self) -> int | None:
        """Code of plus infinity; None if there is none."""
        return self.max_code + 1 if self.specials == "ieee" else None

    @property
    def nan_code(self) -> int | None:
        """Code of the NaN in results: the positive quiet NaN; None if there is none."""
        if self.specials == "ieee":
            return self.max_code + 1 | 1 << (self.mantissa_bits - 1)
        return {"nan": self.max_code + 1, "fnuz": self.sign_code, "finite": None}[self.specials]

    @property
    def sign_code(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)

    @property
    def max_exponent(self) -> int:
        """Exponent of the leading bit of the largest number."""
        return max(self.max_code >> self.mantissa_bits, 1) - self.bias

    @property
    def min_exponent(self) -> int:
        """Exponent of the leading bit of the smallest normal number."""
        return 1 - self.bias

    @property
    def significand_width(self) -> int:
        """Bits of a significand, the hidden one included."""
        return self.mantissa_bits + 1

    @property
    def exponents(self) -> tuple[int, ...]:
        """Exponents of the last bit of a significand."""
        return tuple(
            exponent - self.mantissa_bits
            for exponent in range(self.min_exponent, self.max_exponent + 1)
        )

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest finite value, in units of 2^lsb."""
        field, mantissa = divmod(self.max_code, 1 << self.mantissa_bits)
        high = (mantissa + ((field > 0) << self.mantissa_bits)) << max(field - 1, 0)
        return -high, high

    def _decode(self, codes: np.ndarray) -> Exact:
        """Split the fields."""
        magnitude = codes & self.sign_code - 1
        negative = codes >= self.sign_code
        field = magnitude >> self.mantissa_bits
        hidden = (field > 0).astype(np.int64) << self.mantissa_bits
        significand = magnitude & ((1 << self.mantissa_bits) - 1) | hidden
        infinite = magnitude == self.infinity_code
        nan = (magnitude > self.max_code) & ~infinite
        if self.specials == "fnuz":
            nan = codes == self.nan_code
        sign = np.where(negative, -1, 1)
        number = ~(nan | infinite)
        return Exact(
            significand=np.where(number, sign * significand, 0),
            exponent=np.where(number, np.maximum(field, 1), 1) - self.bias - self.mantissa_bits,
            nan=nan,
            infinity=np.where(infinite, sign, 0).astype(np.int8),
        )

    def _to_float(self, codes: np.ndarray) -> np.ndarray:
        """Decode to doubles, -0 included."""
        return np.copysign(super()._to_float(codes), np.where(codes >= self.sign_code, -1.0, 1.0))

    def _encode(
        self, values: np.ndarray, nearest: bool, saturate: bool, random: RandomBits | None
    ) -> np.ndarray:
        """Round the significand of a double to the format's length."""
        bits = values.view(np.int64)
        magnitude = bits & (1 << 63) - 1
        field = (magnitude >> 52) - (1023 - self.bias)
        normal = np.maximum(field, 1)
        # Shifting by 54 bits leaves nothing of 53; zero is among such small values.
        most = 54 + (0 if random is None else random.width)
        cut = np.minimum(normal - field + (52 - self.mantissa_bits), most)
        significand = magnitude & (1 << 52) - 1 | 1 << 52
        # The hidden bit adds one to the exponent field, and so does a carry.
        base = normal - 1 << self.mantissa_bits
        if random is not None:
            codes = base + random.round(significand, cut)
        else:
            codes = base + (significand >> cut)
        if nearest and random is None:
            codes = base + (significand + (np.int64(1) << cut - 1) - 1 + (codes & 1) >> cut)
        codes = self._overflow(codes, magnitude, nearest, saturate)
        sign = np.where(bits < 0, self.sign_code, 0)
        if self.specials == "fnuz":
            sign[codes == 0] = 0
        codes |= sign
        codes[np.isnan(values)] = 0 if self.nan_code is None else self.nan_code
        return codes

    def _overflow(
        self, codes: np.ndarray, magnitude: np.ndarray, nearest: bool, saturate: bool
    ) -> np.ndarray:
        """Replace values beyond the largest number."""
        beyond = self.nan_code if self.infinity_code is None else self.infinity_code
        if saturate or beyond is None:
            return np.minimum(codes, self.max_code)
        # Toward zero, no finite value becomes an infinity (IEEE 754, 7.4).
        over = codes > self.max_code if nearest else magnitude == 2047 << 52
        return np.where(over, beyond, np.minimum(codes, self.max_code))
