"""Numbers in a program's memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from carrysave.compiler.program.floats import Format, Operand

__all__ = ["BYTES", "TYPES", "Array"]

BYTES = {Format.I8: 1, Format.I16: 2, Format.I32: 4, Format.F16: 2, Format.F32: 4, Format.F64: 8,
         Format.POWER: 4, Format.FRACTION: 2}  # fmt: skip
TYPES = {Format.I8: "<i1", Format.I16: "<i2", Format.I32: "<i4", Format.F16: "<f2",
         Format.F32: "<f4", Format.F64: "<f8", Format.POWER: "<i4", Format.FRACTION: "<i2",
         }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Array:
    """Numbers in a program's memory, rows x columns.

    Members
    -------
    address, format, row, column : see :class:`Operand`.
    rows, columns : how many.
    moves : parameters, and by how many bytes the address goes on with each.
    grows : the parameter by which columns grow, which begin as one; empty: `columns` are all.
    """

    address: int
    format: Format
    rows: int
    columns: int
    row: int
    column: int
    moves: tuple[tuple[str, int], ...] = ()
    grows: str = ""

    @property
    def operand(self) -> Operand:
        """What a step on floats takes; one row or column is repeated."""
        row = self.row if self.rows > 1 else 0
        column = self.column if self.columns > 1 else 0
        return Operand(address=self.address, format=self.format, row=row, column=column)

    def moving(self, parameter: str, bytes_: int) -> "Array":
        """Return what is so many bytes further on for each of a parameter."""
        return replace(self, moves=(*self.moves, (parameter, bytes_)))

    def growing(self, parameter: str) -> "Array":
        """Return as many columns, of those there are, as the parameter says, and one."""
        return replace(self, grows=parameter)

    def at(self, first: int, count: int, step: int = 1) -> "Array":
        """Return some rows."""
        return replace(
            self, address=self.address + first * self.row, rows=count, row=self.row * step
        )

    def across(self, first: int, count: int, step: int = 1) -> "Array":
        """Return some columns."""
        return replace(
            self,
            address=self.address + first * self.column,
            columns=count,
            column=self.column * step,
        )

    @property
    def turned(self) -> "Array":
        """Rows for columns."""
        return replace(self, rows=self.columns, columns=self.rows, row=self.column, column=self.row)

    def split(self, size: int) -> "Array":
        """Return one row as rows of a size."""
        assert self.rows == 1
        return replace(self, rows=self.columns // size, columns=size, row=size * self.column)

    def view(self, memory: np.ndarray) -> "np.ndarray[Any, Any]":
        """Return the numbers, in place.

        Parameters
        ----------
        memory : uint8, of the program.
        """
        strides = self.row, self.column
        return np.ndarray(
            (self.rows, self.columns), np.dtype(TYPES[self.format]), memory, self.address, strides
        )
