"""Matrices of numbers in a program's memory, or on chip, and parts of them."""

from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from carrysave.compiler.program.floats import INTEGERS, Format, Operand
from carrysave.compiler.program.places import places_of
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.driver.job import Job
from golden.soc.blocking import Blocks

__all__ = ["Buffer", "Choice", "Packing", "packed"]


@dataclass(frozen=True, kw_only=True)
class Packing:
    """How matrices B are without their zeros: bytes of the image of each, and its blocks."""

    bytes: int
    blocks: Blocks


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which of several matrices B a product reads: its number, of 32 bits, is in memory.

    Members
    -------
    place : address of the number.
    count : of matrices.
    apart : bytes from one to the next; a buffer has the address of the first.
    """

    place: int
    count: int
    apart: int


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """Rows of numbers; or a part of them, which has the same name.

    Members
    -------
    name : of the whole.
    address : of the first byte; from :data:`.golden_job.CHIP` on it is on chip.
    rows, columns : how many.
    bits : of a number: 8, 16, 32 or 64.
    stride : bytes from a row to the next.
    column : bytes from a number of a row to the next; 0: they follow each other.
    format : of a number that a step on floats works on; NONE: codes, two's complement.
    moves : parameters, and by how many bytes the address goes on with each.
    grows : the parameter by which columns grow; empty: `columns` are all.
    by : columns at the parameter's least value, 0, and more with each.
    packing : rows are of images, one behind the other, each of which has some rows; None: of none.
    choice : it is one of several, for products; None: it is the only one.
    """

    name: str
    address: int
    rows: int
    columns: int
    bits: int
    stride: int
    column: int = 0
    format: Format = Format.NONE
    moves: tuple[tuple[str, int], ...] = ()
    grows: str = ""
    by: int = 1
    packing: Packing | None = None
    choice: Choice | None = None

    @property
    def on_chip(self) -> bool:
        """Whether only jobs see it."""
        return self.address >= CHIP

    @property
    def row_bytes(self) -> int:
        """Bytes of a row whose numbers follow each other."""
        return self.columns * self.bits // 8

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.address + (self.rows - 1) * self.stride + self.row_bytes

    @property
    def step(self) -> int:
        """Bytes from a number of a row to the next."""
        return self.column or self.bits // 8

    @property
    def type(self) -> "np.dtype[Any]":
        """Of its numbers, in numpy."""
        return self.format.type if self.format else np.dtype(f"<i{self.bits // 8}")

    @property
    def operand(self) -> Operand:
        """What a step on floats takes; one row or column is repeated."""
        row = self.stride if self.rows > 1 else 0
        column = self.step if self.columns > 1 else 0
        format_ = self.format or INTEGERS[self.bits]
        return Operand(address=self.address, format=format_, row=row, column=column)

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
        part = self.at(first, last - first).across(start, stop - start)
        return replace(part, rows=part.rows * parts, stride=self.stride // parts)

    def at(self, first: int, count: int, step: int = 1) -> "Buffer":
        """Return some rows, so many apart."""
        address = self.address + first * self.stride
        return replace(self, address=address, rows=count, stride=self.stride * step)

    def across(self, first: int, count: int, step: int = 1) -> "Buffer":
        """Return some columns, so many apart."""
        address = self.address + first * self.step
        return replace(self, address=address, columns=count, column=self.step * step)

    def split(self, size: int) -> "Buffer":
        """Return one row as rows of a size."""
        assert self.rows == 1
        return replace(self, rows=self.columns // size, columns=size, stride=size * self.step)

    @property
    def turned(self) -> "Buffer":
        """Rows for columns."""
        return replace(
            self, rows=self.columns, columns=self.rows, stride=self.step, column=self.stride
        )

    def moving(self, parameter: str, bytes_: int) -> "Buffer":
        """Return what is so many bytes further on for each of a parameter."""
        return replace(self, moves=(*self.moves, (parameter, bytes_)))

    def growing(self, parameter: str, by: int = 1) -> "Buffer":
        """Return as many times `by` columns, of those there are, as the parameter says, and one."""
        return replace(self, grows=parameter, by=by)

    def packs(self, job: Job) -> Job:
        """Return a product by this B: in the blocks of the image, if packed; one of several."""
        if (of := self.choice) is not None:
            return replace(job, places=of.place, ldsa=of.apart, ldsb=of.count)
        if self.packing is None:
            return job
        m, n, k, by_columns = astuple(self.packing.blocks)
        size = self.packing.bytes
        return replace(
            job, packed=True, ldb=size, block_m=m, block_n=n, block_k=k, by_columns=by_columns
        )

    @property
    def places(self) -> np.ndarray:
        """Addresses of all numbers, rows x columns."""
        return places_of(self.address, (self.rows, self.columns), (self.stride, self.step))

    def view(self, memory: np.ndarray) -> "np.ndarray[Any, Any]":
        """Return the numbers, in place.

        Parameters
        ----------
        memory : the program's, uint8; or what is on chip, if the buffer is there.
        """
        shape, strides = (self.rows, self.columns), (self.stride, self.step)
        first = self.address - CHIP * self.on_chip
        return np.ndarray(shape, self.type, memory, first, strides)

    def read(self, memory: np.ndarray) -> np.ndarray:
        """Return the codes, rows x columns of int64; see :meth:`view`."""
        return self.view(memory).astype(np.int64)

    def write(self, memory: np.ndarray, codes: np.ndarray) -> None:
        """Write all codes; see :meth:`view`.

        Raises
        ------
        ValueError
            Another shape, or codes that do not fit; nothing is written.
        """
        if codes.shape != (self.rows, self.columns):
            raise ValueError(
                f"{self.name!r} must be {self.rows} x {self.columns}, not {codes.shape}"
            )
        self.view(memory)[:] = packed(self.name, codes, self.bits)


def packed(name: str, codes: np.ndarray, bits: int) -> np.ndarray:
    """Return codes in as many bits as they have in memory.

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
    return codes.astype(f"<i{bits // 8}")
