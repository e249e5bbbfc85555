"""Matrices of codes in memory, and the parts of them that jobs read and write."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Memory", "View"]


@dataclass(frozen=True)
class View:
    """A part of a matrix: some rows, and some columns.

    Members
    -------
    name : of the matrix.
    rows, columns : ranges; None: all.
    parts : rows that each row counts as, one after the other; columns are those of such a row.
    """

    name: str
    rows: tuple[int, int] | None = None
    columns: tuple[int, int] | None = None
    parts: int = 1

    @property
    def index(self) -> tuple[slice, slice]:
        """Index into the matrix."""
        rows, columns = (slice(*one) if one else slice(None) for one in (self.rows, self.columns))
        return rows, columns


@dataclass
class Memory:
    """Matrices by name, rows x columns; int64, whatever their width in memory is.

    Members
    -------
    matrices : by name.
    bits : of a code of each, in memory.
    chip : bytes on chip.
    on_chip : first byte there of each matrix that is on chip; its rows are packed. What is there is
        one matrix's until a job writes another one.
    """

    matrices: dict[str, np.ndarray] = field(default_factory=dict)
    bits: dict[str, int] = field(default_factory=dict)
    chip: int = 0
    on_chip: dict[str, int] = field(default_factory=dict)

    def place(self, name: str, codes: np.ndarray, bits: int) -> None:
        """Bring a matrix.

        Parameters
        ----------
        name : of the matrix; new.
        codes : integers, rows x columns.
        bits : of a code, two's complement.

        Raises
        ------
        ValueError
            Codes that do not fit, or a name that is used.
        """
        if name in self.matrices:
            raise ValueError(f"matrix {name!r} must be placed once")
        if codes.ndim != 2 or codes.dtype.kind not in "iu":
            raise ValueError(f"matrix {name!r} must be of integers, rows x columns")
        _check(name, codes, bits)
        self.matrices[name] = codes.astype(np.int64)
        self.bits[name] = bits

    def reserve(
        self, name: str, rows: int, columns: int, bits: int, *, chip: int | None = None
    ) -> View:
        """Make room for a result; returns all of it.

        Parameters
        ----------
        name, rows, columns, bits : as :meth:`place` has them.
        chip : the first byte on chip that it takes; None: it is in memory.

        Raises
        ------
        ValueError
            It does not fit on chip; and as :meth:`place`.
        """
        end = (chip or 0) + rows * columns * bits // 8
        if chip is not None and not 0 <= chip <= end <= self.chip:
            raise ValueError(
                f"matrix {name!r} must be within the {self.chip} bytes on chip, not {chip}..{end}"
            )
        self.place(name, np.zeros((rows, columns), np.int64), bits)
        if chip is not None:
            self.on_chip[name] = chip
        return View(name)

    def read(self, view: View) -> np.ndarray:
        """Return the codes of a part; its own, not a copy."""
        return self._split(view)[_columns(view)]

    def write(self, view: View, codes: np.ndarray) -> None:
        """Write the codes of a part, all of it.

        Raises
        ------
        ValueError
            Another shape, or codes that do not fit; nothing is written.
        """
        _check(view.name, codes, self.bits[view.name])
        place = self.read(view)
        if place.shape != codes.shape:
            raise ValueError(f"{view.name!r} must be {place.shape} here, not {codes.shape}")
        place[:] = codes

    def _split(self, view: View) -> np.ndarray:
        """Return the rows of a part, in place."""
        rows = self.matrices[view.name][view.index[0]]
        return rows.reshape(len(rows) * view.parts, rows.shape[1] // view.parts)


def _columns(view: View) -> tuple[slice, slice]:
    return slice(None), view.index[1]


def _check(name: str, codes: np.ndarray, bits: int) -> None:
    high = (1 << bits - 1) - 1
    if codes.size and not (-high - 1 <= codes.min() and codes.max() <= high):
        most = int(codes.max() if codes.max() > high else codes.min())
        raise ValueError(f"matrix {name!r} must have {bits} bits, not {most}")
