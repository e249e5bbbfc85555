"""Matrices of one product on the device."""

from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np

from .matrix import Matrix, Product
from .mode import Mode
from .number import Number
from .product import check_shape

__all__ = ["Operands", "check_array"]


class Device(Protocol):
    """What places matrices: a co-processor, which may be lost."""

    lost: bool

    def place(self, values: Any, number: Number, name: str = "values") -> Matrix:
        """Copy an array to the device."""


class Operands:
    """Matrices of one product; those that it placed are freed at its end."""

    def __init__(self, device: Device, stack: ExitStack) -> None:
        self.device, self.stack = device, stack
        self.known: set[int] = set()

    def _release(self, matrix: Matrix) -> None:
        if not self.device.lost:
            matrix.free()

    def place(self, values: Any, number: Number, name: str) -> Matrix:
        """Copy an array to the device; a matrix is there."""
        matrix = values
        if not isinstance(values, Matrix):
            matrix = self.device.place(values, number, name)
            self.stack.callback(self._release, matrix)
        self.known.add(id(matrix))
        return matrix

    def place_words(self, values: Any, mode: Mode) -> Matrix:
        """Copy B, K x N, as the mode arranges it."""
        if not isinstance(values, Matrix):
            values = mode.words(np.asarray(values))
        return self.place(values, mode.b_stored, "b")

    def place_row(self, values: Any, number: Number, name: str) -> Matrix | None:
        """Copy a row, if there is one."""
        if values is None:
            return None
        row = values if isinstance(values, Matrix) else np.atleast_2d(values)
        return self.place(row, number, name)

    def place_any(self, values: Any, number: Number | None, name: str) -> Matrix | None:
        """Copy numbers of blocks or groups along K, if there are any."""
        if values is not None and number is None:
            raise ValueError(f"{name} must be None without scales")
        return None if values is None or number is None else self.place(values, number, name)

    def noted(self, matrix: Matrix | None) -> Matrix | None:
        """Note a matrix that is not freed here."""
        self.known.add(id(matrix))
        return matrix

    def release_rest(self, product: Product) -> None:
        """Free what the product allocated itself at the end, too."""
        for matrix in product.allocated:
            if id(matrix) not in self.known:
                self.stack.callback(self._release, matrix)


def check_array(out: Any, c: Matrix) -> None:
    """Refuse an array that results cannot be copied to."""
    if isinstance(out, np.ndarray):
        check_shape("out", out, c.shape)
        if not np.can_cast(c.number.dtype, out.dtype, "safe"):
            raise TypeError(f"out must hold {c.number.dtype}, not {out.dtype}")
