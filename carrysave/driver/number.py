"""Numbers in memory: ranges, containers, packing of sub-byte codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BYTE", "FP32", "Number"]


@dataclass(frozen=True)
class Number:
    """Integers from `low` to `high`, both included, in containers of `bits` each.

    Arrays of `signed` numbers have a signed type, whatever the range.

    Containers of 1, 2 and 4 bits are packed from the lowest bit of a row's first byte on; larger
    ones are little-endian. Negative integers are in two's complement. `floating` numbers are
    IEEE 754 instead, without limits.
    """

    bits: int
    signed: bool
    low: int
    high: int
    floating: bool = False

    @classmethod
    def of(cls, bits: int, width: int, signed: bool) -> "Number":
        """Return the integers of a width, which may be less than the container's."""
        half = 1 << width - 1
        low, high = (-half, half - 1) if signed else (0, 2 * half - 1)
        return cls(bits, signed, low, high)

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Type of numpy arrays of these numbers."""
        kind = "f" if self.floating else "i" if self.signed else "u"
        return np.dtype(f"{kind}{max(self.bits // 8, 1)}")

    def row_bytes(self, columns: int) -> int:
        """Return the bytes of a row; the last one may have padding bits."""
        return -(-columns * self.bits // 8)

    def holds(self, other: "Number") -> bool:
        """Return whether everything in memory as `other` can be read as this."""
        kinds = self.bits, self.floating
        within = self.low <= other.low and other.high <= self.high
        return kinds == (other.bits, other.floating) and within

    def check(self, name: str, values: Any) -> np.ndarray:
        """Return numbers as an array; refuse other types, and values out of range.

        Raises
        ------
        TypeError, ValueError
            Numbers that are not integers, or floats of more bits; a number out of range.
        """
        array = np.asarray(values)
        if self.floating:
            if not np.can_cast(array.dtype, self.dtype, "safe"):
                raise TypeError(f"{name} must be of {self.dtype}, not of {array.dtype}")
            return array
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be of integers, not of {array.dtype}")
        if array.size:
            for end in (int(array.min()), int(array.max())):
                if not self.low <= end <= self.high:
                    raise ValueError(f"{name} must be {self.low}..{self.high}, not {end}")
        return array

    def pack(self, values: np.ndarray) -> np.ndarray:
        """Write numbers in range, rows x columns, as bytes, rows x row_bytes."""
        rows, columns = values.shape
        if self.bits >= 8:
            words = np.ascontiguousarray(values.astype(f"<{self.dtype.kind}{self.bits // 8}"))
            return words.view(np.uint8)
        per = 8 // self.bits
        codes = np.zeros((rows, per * self.row_bytes(columns)), np.uint8)
        codes[:, :columns] = values & (1 << self.bits) - 1
        places = np.arange(0, 8, self.bits, dtype=np.uint8)
        return np.bitwise_or.reduce(codes.reshape(rows, -1, per) << places, axis=2)

    def unpack(self, data: np.ndarray, columns: int) -> np.ndarray:
        """Read what :meth:`pack` wrote."""
        if self.bits >= 8:
            words = np.ascontiguousarray(data).view(f"<{self.dtype.kind}{self.bits // 8}")
            return words.astype(self.dtype)
        places = np.arange(0, 8, self.bits, dtype=np.uint8)
        codes = (data[:, :, None] >> places & (1 << self.bits) - 1).reshape(len(data), -1)
        codes = codes[:, :columns]
        if self.signed:
            sign = 1 << self.bits - 1
            return (codes.astype(np.int8) ^ sign) - np.int8(sign)
        return codes.astype(self.dtype)


BYTE = Number.of(8, 8, False)
FP32 = Number(bits=32, signed=True, low=0, high=0, floating=True)
"""Results of engines with block scales."""
