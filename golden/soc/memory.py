"""Matrices in memory: rows of packed codes at some distance."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Matrix"]


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Where a matrix stands in memory; rows are packed from bit 0 of their first byte."""

    address: int
    rows: int
    columns: int
    distance: int
    bits: int

    @property
    def row_bytes(self) -> int:
        """Bytes of a row, the last of which may have bits that are no codes."""
        return -(-self.columns * self.bits // 8)

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.address + (self.rows - 1) * self.distance + self.row_bytes

    def places(self) -> np.ndarray:
        """List the addresses of all bytes, rows x bytes."""
        starts = self.address + self.distance * np.arange(self.rows)
        return starts[:, None] + np.arange(self.row_bytes)

    def load(self, memory: np.ndarray) -> np.ndarray:
        """Read codes, unsigned: rows x columns, int64; of 64 bits, modulo 2^64."""
        data = memory[self.places()]
        if self.bits < 8:
            parts = np.arange(0, 8, self.bits)
            codes = data[:, :, None] >> parts & (1 << self.bits) - 1
            return codes.reshape(self.rows, -1)[:, : self.columns].astype(np.int64)
        words = np.ascontiguousarray(data).view(f"<u{self.bits // 8}")
        return words.astype(np.int64)

    def store(self, memory: np.ndarray, codes: np.ndarray) -> None:
        """Write codes of whole bytes, modulo 2^bits."""
        words = np.ascontiguousarray(codes.astype(np.int64)).astype(f"<i{self.bits // 8}")
        memory[self.places()] = words.view(np.uint8)
