"""Base of all number formats with independent codes."""

from functools import cache

import numpy as np

from golden.check import Choice, Flag
from golden.formats.exact import Exact
from golden.formats.random_bits import RandomBits

__all__ = ["ANY_ROUNDING", "ROUNDING", "SATURATE", "ElementFormat", "check_rounding", "floats"]

ROUNDING = Choice("to nearest even, or toward zero", "rne", ("rne", "rtz"))
ANY_ROUNDING = Choice(
    "to nearest even, toward zero, or by random bits", "rne", ("rne", "rtz", "stochastic")
)
SATURATE = Flag("overflow saturates to the largest number", True)

# Maximum codes for lookup tables, and floats encoded at a time (they stay in cache).
_TABLE_WIDTH = 16
_CHUNK = 1 << 13


class ElementFormat:
    """Numbers of one width: codes, and the exact value of each.

    Codes returned are int64 arrays of any shape; codes passed in may be any integers. A code is a
    bit pattern 0 .. 2^width - 1 or, in an integer format, the integer itself. Every finite value is
    a multiple of 2^:attr:`lsb`. Encoding rounds: "rne" to nearest even (code), "rtz" toward zero,
    "stochastic" by :class:`golden.formats.random_bits.RandomBits`.
    """

    @property
    def width(self) -> int:
        """Bits of a code."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Short name, such as int8, e4m3 or posit8e0."""
        raise NotImplementedError

    @property
    def low(self) -> int:
        """Least code."""
        return 0

    @property
    def high(self) -> int:
        """Greatest code."""
        return (1 << self.width) - 1

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest finite value, in units of 2^lsb."""
        raise NotImplementedError

    @property
    def significand_width(self) -> int:
        """Bits of the longest significand magnitude from :meth:`decode`."""
        raise NotImplementedError

    @property
    def exponents(self) -> tuple[int, ...]:
        """All exponents from :meth:`decode`, ascending; the first is lsb."""
        raise NotImplementedError

    @property
    def lsb(self) -> int:
        """log2 of the unit of which every finite value is a multiple."""
        return self.exponents[0]

    @property
    def fixed_width(self) -> int:
        """Bits of a two's complement integer that holds every finite value / 2^lsb."""
        low, high = self.bounds
        return max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + 1

    def check(self, name: str, codes: np.ndarray) -> np.ndarray:
        """Return `codes` as int64; refuse non-integers and codes out of range."""
        return self.within(name, codes).astype(np.int64)

    def within(self, name: str, codes: np.ndarray) -> np.ndarray:
        """Return `codes` as an array of the type that they have; refusals are those of `check`."""
        array = np.asarray(codes)
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers ({self.name}), not {array.dtype}")
        if array.size and not (self.low <= array.min() and array.max() <= self.high):
            worst = array.max() if array.max() > self.high else array.min()
            raise ValueError(f"{name} must be {self.low}..{self.high} ({self.name}), not {worst}")
        return array

    def wrap(self, values: np.ndarray) -> np.ndarray:
        """Reduce int64 `values` modulo 2^width into the range of codes."""
        bits = np.asarray(values, dtype=np.int64) & ((1 << self.width) - 1)
        return bits - ((bits > self.high).astype(np.int64) << self.width) if self.low else bits

    def decode(self, codes: np.ndarray) -> Exact:
        """Return the exact values of `codes`: significands with all their bits, right-aligned."""
        codes = self.check("codes", codes)
        if self.width > _TABLE_WIDTH:
            return self._decode(codes)
        exact, _ = _tables(self)
        return exact[codes - self.low]

    def to_float(self, codes: np.ndarray) -> np.ndarray:
        """Return the exact values of `codes` as doubles, -0 included.

        Doubles hold every format here except integers of more than 53 bits, a ValueError.
        """
        codes = self.check("codes", codes)
        if self.significand_width > 53:
            raise ValueError(f"codes must be of at most 53 bits, not {self.name}")
        if self.width > _TABLE_WIDTH:
            return self._to_float(codes)
        return _tables(self)[1][codes - self.low]

    def encode(
        self,
        values: np.ndarray | Exact,
        *,
        rounding: str = "rne",
        saturate: bool = True,
        random: RandomBits | None = None,
    ) -> np.ndarray:
        """Round values to codes, once.

        Parameters
        ----------
        values : floats of any precision up to double, or exact values.
        rounding : "rne", "rtz" or "stochastic"; for posits, on the bit string.
        saturate : overflow and infinities become the largest number; else infinity or, if the
            format has none, NaN or, if it has none, the largest number too.
        random : for stochastic rounding alone: bits for each value, NaNs and zeros among them.

        Returns
        -------
        int64 codes, same shape. NaN becomes the code of NaN or, if there is none, 0.
        """
        check_rounding(rounding, saturate, random)
        doubles = floats("values", values)
        flat = np.ascontiguousarray(doubles).reshape(-1)
        codes = np.empty(flat.size, dtype=np.int64)
        for start in range(0, flat.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            bits = None if random is None else random.part(part, doubles.shape)
            codes[part] = self._encode(flat[part], rounding != "rtz", saturate, bits)
        return codes.reshape(doubles.shape)

    def _decode(self, codes: np.ndarray) -> Exact:
        """Decode without a table."""
        raise NotImplementedError

    def _to_float(self, codes: np.ndarray) -> np.ndarray:
        """Decode to doubles without a table."""
        return self._decode(codes).to_odd()

    def _encode(
        self, values: np.ndarray, nearest: bool, saturate: bool, random: RandomBits | None
    ) -> np.ndarray:
        """Encode doubles: by random bits if there are some, else to nearest even or toward zero."""
        raise NotImplementedError


@cache
def _tables(fmt: ElementFormat) -> tuple[Exact, np.ndarray]:
    """Values of all codes of a format, exactly and as doubles."""
    codes = np.arange(fmt.low, fmt.high + 1)
    return fmt._decode(codes), fmt._to_float(codes)


def check_rounding(rounding: str, saturate: bool, random: RandomBits | None) -> None:
    """Refuse other kinds of rounding, and random bits that are missing or not looked at."""
    ANY_ROUNDING.check("rounding", rounding)
    SATURATE.check("saturate", saturate)
    if (rounding == "stochastic") is not isinstance(random, RandomBits):
        legal = "RandomBits" if rounding == "stochastic" else f"None with rounding {rounding}"
        raise TypeError(f"random must be {legal}, not {random!r}")


def floats(name: str, values: np.ndarray | Exact) -> np.ndarray:
    """Return doubles that round to a format as `values` would, maybe themselves; refuse others."""
    if isinstance(values, Exact):
        return values.to_odd()
    array = np.asarray(values)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise TypeError(f"{name} must be floats of at most 64 bits or Exact, not {array.dtype}")
    # A signalling NaN becomes a quiet one, for which numpy would warn.
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64, copy=False)
