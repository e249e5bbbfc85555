"""Matrices that stay in the device's memory, and products of them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .job import Job
from .mode import Mode
from .number import Number

__all__ = ["Allocate", "Matrix", "Product"]

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

    def _part(self, first: int, columns: int) -> "Matrix":
        """Return some columns, from a byte on."""
        part = copy(self)
        part.shape = self.shape[0], columns
        skip, part.row_bytes = (self.number.row_bytes(count) for count in (first, columns))
        part.address = self.address + skip
        part._rows = self._rows[:, skip : skip + part.row_bytes]
        return part

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

    def free(self) -> None:
        """Free the memory explicitly, if the allocator supports it."""
        free = getattr(self._buffer, "freebuffer", None)
        if free is not None:
            free()


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
    def kept(self) -> tuple[Matrix, ...]:
        """Memory that must stay allocated."""
        return tuple(self.matrices.values())
