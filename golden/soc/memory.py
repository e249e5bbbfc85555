"""Matrices in memory: rows of packed codes with a stride."""

from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Matrix", "Space"]


_PLAIN = {8: "<u1", 16: "<u2", 32: "<u4"}
"""Types of codes by their bits."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A matrix in memory; rows are packed from bit 0 of their first byte."""

    address: int
    rows: int
    columns: int
    distance: int
    bits: int

    @property
    def row_bytes(self) -> int:
        """Bytes of a row; the last one may have padding bits."""
        return -(-self.columns * self.bits // 8)

    @property
    def end(self) -> int:
        """First address after it."""
        return self.address + (self.rows - 1) * self.distance + self.row_bytes

    def places(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """List the addresses of all bytes, rows x bytes; of the rows with some numbers alone."""
        rows = np.arange(self.rows) if chosen is None else chosen.astype(np.int64)
        starts = self.address + self.distance * rows
        return starts[:, None] + np.arange(self.row_bytes)

    def _bytes(self, memory: np.ndarray) -> np.ndarray:
        """Return the bytes of rows, in place; rows do not overlap."""
        shape = self.rows, self.row_bytes
        return np.ndarray(shape, np.uint8, memory, self.address, (self.distance, 1))

    def load(self, memory: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
        """Read codes, unsigned: rows x columns, int64; Python integers if of 64 bits or more.

        Parameters
        ----------
        memory : bytes.
        chosen : numbers of rows; None: all.
        """
        if chosen is None and self.bits in _PLAIN:
            data = np.ascontiguousarray(self._bytes(memory))
            return data.view(_PLAIN[self.bits]).astype(np.int64)
        data = memory[self.places(chosen)]
        if self.bits < 8:
            parts = np.arange(0, 8, self.bits)
            codes = data[:, :, None] >> parts & (1 << self.bits) - 1
            return codes.reshape(len(data), -1)[:, : self.columns].astype(np.int64)
        numbers = data.reshape(len(data), self.columns, self.bits // 8)
        if self.bits > 32:
            numbers = numbers.astype(object)
        return (
            numbers.astype(numbers.dtype if self.bits > 32 else np.int64)
            << 8 * np.arange(self.bits // 8)
        ).sum(axis=-1)

    def store(self, memory: np.ndarray, codes: np.ndarray) -> None:
        """Write codes, modulo 2^bits; padding bits in the last byte of a row are 0."""
        if self.bits < 8:
            count = 8 // self.bits
            filled = np.pad(codes, [(0, 0), (0, -self.columns % count)]) & (1 << self.bits) - 1
            parts = filled.reshape(self.rows, -1, count) << self.bits * np.arange(count)
            memory[self.places()] = parts.sum(axis=-1).astype(np.uint8)
            return
        if self.bits in _PLAIN:
            plain = np.ascontiguousarray(codes.astype(np.int64)).astype(_PLAIN[self.bits])
            self._bytes(memory)[:] = plain.view(np.uint8)
            return
        steps = 8 * np.arange(self.bits // 8)
        parts = codes.astype(object if self.bits > 32 else np.int64)[..., None] >> steps & 0xFF
        memory[self.places()] = parts.astype(np.uint8).reshape(self.rows, -1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Space:
    """All addresses: those of memory, from 0 on, and those on chip, behind them.

    Members
    -------
    memory, scratch : bytes, uint8.
    base : first address on chip.
    """

    memory: np.ndarray
    scratch: np.ndarray
    base: int

    def load(self, matrix: Matrix, chosen: np.ndarray | None = None) -> np.ndarray:
        """Read the codes of a matrix, or of some of its rows."""
        return self._near(matrix).load(self._bytes(matrix), chosen)

    def store(self, matrix: Matrix, codes: np.ndarray) -> None:
        """Write the codes of a matrix."""
        self._near(matrix).store(self._bytes(matrix), codes)

    def _bytes(self, matrix: Matrix) -> np.ndarray:
        return self.scratch if matrix.address >= self.base else self.memory

    def _near(self, matrix: Matrix) -> Matrix:
        """Return a matrix with its address in what holds it."""
        if matrix.address < self.base:
            return matrix
        return replace(matrix, address=matrix.address - self.base)
