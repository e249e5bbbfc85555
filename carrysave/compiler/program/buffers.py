"""Matrices of codes in a program's memory, or on chip, and parts of them."""

from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.program.words import CHIP

__all__ = ["Buffer", "packed"]


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """Rows of codes, two's complement; or a part of them, which has the same name.

    Members
    -------
    name : of the whole.
    address : of the first byte; from :data:`.words.CHIP` on it is on chip.
    rows, columns : how many.
    bits : of a code: 8, 16, 32 or 64.
    stride : bytes from a row to the next.
    """

    name: str
    address: int
    rows: int
    columns: int
    bits: int
    stride: int

    @property
    def on_chip(self) -> bool:
        """Whether only jobs see it."""
        return self.address >= CHIP

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.columns * self.bits // 8

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.address + (self.rows - 1) * self.stride + self.row_bytes

    def part(
        self,
        rows: tuple[int, int] | None = None,
        columns: tuple[int, int] | None = None,
        *,
        parts: int = 1,
    ) -> "Buffer":
        """Return some rows, and some columns.

        Parameters
        ----------
        rows, columns : ranges; None: all.
        parts : rows that each row counts as, one after the other; columns are those of such a row.

        Raises
        ------
        ValueError
            A part that is not within it, or rows that cannot be split so.
        """
        first, last = rows or (0, self.rows)
        wide = self.columns // parts
        start, stop = columns or (0, wide)
        split = parts == 1 or (self.columns % parts == 0 and self.stride == self.row_bytes)
        if not (0 <= first < last <= self.rows and 0 <= start < stop <= wide and split):
            raise ValueError(
                f"a part of {self.name!r} must be within its {self.rows} x {self.columns} codes,"
                f" not rows {first}..{last} and columns {start}..{stop} of {parts} parts"
            )
        return replace(
            self,
            address=self.address + first * self.stride + start * self.bits // 8,
            rows=(last - first) * parts,
            columns=stop - start,
            stride=self.stride // parts,
        )

    def read(self, memory: np.ndarray) -> np.ndarray:
        """Return the codes, rows x columns of int64.

        Parameters
        ----------
        memory : the program's, uint8; or what is on chip, if the buffer is there.
        """
        data = np.ascontiguousarray(self.rows_of(memory))
        return data.view(f"<i{self.bits // 8}").astype(np.int64)

    def write(self, memory: np.ndarray, codes: np.ndarray) -> None:
        """Write all codes.

        Raises
        ------
        ValueError
            Another shape, or codes that do not fit; nothing is written.
        """
        if codes.shape != (self.rows, self.columns):
            raise ValueError(
                f"{self.name!r} must be {self.rows} x {self.columns}, not {codes.shape}"
            )
        self.rows_of(memory)[:] = packed(self.name, codes, self.bits)

    def rows_of(self, memory: np.ndarray) -> np.ndarray:
        """Return the bytes of rows, in place."""
        first = self.address - CHIP * self.on_chip
        shape, strides = (self.rows, self.row_bytes), (self.stride, 1)
        return np.lib.stride_tricks.as_strided(memory[first:], shape, strides)


def packed(name: str, codes: np.ndarray, bits: int) -> np.ndarray:
    """Return the bytes of rows of codes.

    Raises
    ------
    ValueError
        They are not rows of integers, or do not fit.
    """
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ValueError(f"buffer {name!r} must be of integers, rows x columns")
    high = (1 << bits - 1) - 1
    if codes.size and not (-high - 1 <= codes.min() and codes.max() <= high):
        most = int(codes.max() if codes.max() > high else codes.min())
        raise ValueError(f"buffer {name!r} must have {bits} bits, not {most}")
    return np.ascontiguousarray(codes.astype(f"<i{bits // 8}")).view(np.uint8)
