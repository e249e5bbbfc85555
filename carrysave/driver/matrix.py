"""Matrices that stay in the device's memory, and products of them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .allocator import Room
from .job import Job
from .mode import Mode
from .number import Number

__all__ = ["Allocate", "Matrix", "OnChip", "Product"]

Allocate = Callable[..., Any]
"""Like ``pynq.allocate``: takes `shape` and `dtype`, returns an array with an address."""


class Matrix:
    """Rows of numbers in contiguous memory, each row aligned to bus beats.

    ``with`` frees it at its end.

    Parameters
    ----------
    allocate : allocates the memory.
    shape : rows and columns.
    number : format of a number.
    beat : bytes of a beat.
    """

    def __init__(
        self, allocate: Allocate, shape: tuple[int, int], number: Number, beat: int
    ) -> None:
        self.shape = shape
        self.number = number
        rows, columns = shape
        self.row_bytes = number.row_bytes(columns)
        self.distance = -(-self.row_bytes // beat) * beat
        # One extra beat, because allocators need not align.
        buffer: Any = allocate(shape=(rows * self.distance + beat,), dtype=np.uint8)
        address = getattr(buffer, "device_address", None)
        start = int(buffer.physical_address if address is None else address)
        self.address = -(-start // beat) * beat
        self._buffer: Any = buffer
        skip = self.address - start
        data = np.asarray(buffer)[skip : skip + rows * self.distance]
        self._rows = data.reshape(rows, self.distance)[:, : self.row_bytes]
        # Dirty cache lines must not overwrite the device's data later.
        with self.freed_on_error():
            buffer.flush()

    @property
    def end(self) -> int:
        """First address after it."""
        return self.address + (self.shape[0] - 1) * self.distance + self.row_bytes

    @property
    def lost(self) -> bool:
        """Whether the device has lost it, and it must be written again."""
        return bool(getattr(self._buffer, "lost", False))

    def __enter__(self) -> "Matrix":
        """Use it up to the end of a ``with``, which frees it."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Free the memory."""
        self.free()

    @contextmanager
    def freed_on_error(self) -> Iterator[None]:
        """Free the memory if what is done with it raises."""
        try:
            yield
        except BaseException:
            self.free()
            raise

    def first(self, columns: int) -> "Matrix":
        """Return its first columns: the same memory, which is freed with either.

        Raises
        ------
        ValueError
            It has fewer.
        """
        most = self.shape[1]
        if not 1 <= columns <= most:
            raise ValueError(f"columns must be 1..{most}, not {columns}")
        return self._part(0, columns)

    def last(self) -> "Matrix":
        """Return its last column, as :meth:`first` does; of numbers of whole bytes.

        Raises
        ------
        ValueError
            Its numbers are of less.
        """
        if self.number.bits % 8:
            raise ValueError(f"numbers must be of whole bytes, not of {self.number.bits} bits")
        return self._part(self.shape[1] - 1, 1)

    def within(self, shape: tuple[int, int], number: Number, start: int, distance: int) -> "Matrix":
        """Return a matrix anywhere in the memory of its rows; it is freed with either.

        Parameters
        ----------
        shape, number : of the matrix.
        start : its first byte, from the first of the first row on.
        distance : bytes from a row to the next.

        Raises
        ------
        ValueError
            It does not fit, or its rows overlap.
        """
        part = copy(self)
        part.shape, part.number, part.distance = shape, number, distance
        part.address, part.row_bytes = self.address + start, number.row_bytes(shape[1])
        if start < 0 or part.end > self.end or (shape[0] > 1 and distance < part.row_bytes):
            raise ValueError(
                f"a matrix of {shape[0]} rows of {part.row_bytes} bytes, by steps of {distance}, "
                f"from byte {start} on must be in {self.end - self.address} bytes"
            )
        part._rows = self._bytes_at(start, (shape[0], part.row_bytes), distance)
        return part

    def _bytes_at(self, start: int, shape: tuple[int, int], distance: int) -> np.ndarray:
        """Return rows of bytes anywhere in its memory."""
        strided = np.lib.stride_tricks.as_strided
        whole = strided(self._rows, (self.end - self.address,), (1,))
        return strided(whole[start:], shape, (distance, 1))

    def _part(self, first: int, columns: int) -> "Matrix":
        """Return some columns, from a byte on."""
        skip = self.number.row_bytes(first)
        return self.within((self.shape[0], columns), self.number, skip, self.distance)

    def write(self, values: Any, name: str = "values") -> None:
        """Copy numbers to the device; the errors of :meth:`Number.check`."""
        array = self.number.check(name, values)
        if array.shape != self.shape:
            raise ValueError(f"{name} must be of shape {self.shape}, not {array.shape}")
        self._rows[:] = self.number.pack(array)
        self._buffer.flush()

    def write_bytes(self, data: np.ndarray) -> None:
        """Copy rows of bytes to the device."""
        self._rows[:] = data
        self._buffer.flush()

    def read(self) -> np.ndarray:
        """Copy numbers from the device."""
        return self.number.unpack(self.read_bytes(), self.shape[1])

    def read_bytes(self) -> np.ndarray:
        """Return its rows of bytes, as the device wrote them."""
        self._buffer.invalidate()
        return self._rows

    def fetch(self, start: int, size: int) -> None:
        """Have :meth:`read_bytes`'s rows right for some bytes from its address on, or for all."""
        if part := getattr(self._buffer, "fetch", None):
            part(self.address - int(self._buffer.device_address) + start, size)
        else:
            self._buffer.invalidate()

    def free(self) -> None:
        """Free the memory explicitly, if the allocator supports it."""
        if free := getattr(self._buffer, "freebuffer", None):
            free()


class OnChip(Matrix):
    """A matrix on chip, which jobs read and write, but not the host.

    Parameters
    ----------
    room : allocates what is on chip.
    base : first address there.
    shape, number, beat : as of other matrices.

    Raises
    ------
    MemoryError
        There is no room.
    """

    def __init__(
        self, room: Room, base: int, shape: tuple[int, int], number: Number, beat: int
    ) -> None:
        self.shape = shape
        self.number = number
        self.row_bytes = number.row_bytes(shape[1])
        self.distance = -(-self.row_bytes // beat) * beat
        start = room.take(shape[0] * self.distance)
        self.address = base + start
        self._buffer = _Chip(room, start)

    def write(self, values: Any, name: str = "values") -> None:
        """Refuse it."""
        raise ValueError(f"{name} must be written by a job, as they are on chip")

    def write_bytes(self, data: np.ndarray) -> None:
        """Refuse it."""
        self.write(data)

    def read_bytes(self) -> np.ndarray:
        """Refuse it."""
        raise ValueError("a matrix on chip must be read by a job")

    def _bytes_at(self, start: int, shape: tuple[int, int], distance: int) -> np.ndarray:
        return np.zeros((0, 0), np.uint8)  # nobody sees them


class _Chip:
    """What a matrix on chip has taken."""

    def __init__(self, room: Room, start: int) -> None:
        self._room, self._start = room, start

    def freebuffer(self) -> None:
        """Give it back."""
        self._room.free(self._start)


@dataclass(frozen=True)
class Product:
    """A product that can be run any number of times."""

    job: Job
    matrices: Mapping[str, Matrix]
    """All matrices of the device: a, b, c; bias, records, a_scales, b_scales if any."""
    mode: Mode
    """Formats of A and B."""

    @property
    def c(self) -> Matrix:
        """What it writes."""
        return self.matrices["c"]

    @property
    def allocated(self) -> tuple[Matrix, ...]:
        """Memory that must stay allocated."""
        return tuple(self.matrices.values())
