"""What is multiplied, bit by bit, when a job is checked."""

from typing import NamedTuple

from amaranth import Signal, Value

from hw.soc.schedule.matrix_ends import MatrixEnd
from hw.soc.schedule.window_check import WindowSteps

__all__ = ["FLAGS", "Multiplications"]

FLAGS = (
    "next", "of_row", "ending", "striding", "begins", "short", "beyond", "large_block",
)  # fmt: skip
"""Those of its members that are a bit."""


class Multiplications(NamedTuple):
    """One multiplication for the end of each matrix, then for the bytes of blocks in stores.

    Members
    -------
    windows : what is multiplied before, of a job of windows.
    ends : the matrices.
    sizes : factors of the bytes of a block in a store, and how many the store has.
    x, y, total : what is left of the factor; the other one, shifted; the sum.
    step : the number of the multiplication.
    length : bytes of a row less one; they are added last.
    address : of the next matrix, there when its step begins, and requested long before.
    next : the matrix of the step begins, and the end of the one before is known.
    of_row : the sum is the bytes of a row of a map less one.
    ending, striding : the end address, and the stride, are to be checked.
    begins : the matrix begins on chip.
    short, beyond, large_block : a stride is short of a row, an end is outside of memory, a block
        is larger than its store.
    """

    windows: WindowSteps | None
    ends: list[MatrixEnd]
    sizes: list[tuple[Value, Value, int]]
    x: Signal
    y: Signal
    total: Signal
    step: Signal
    length: Signal
    address: Signal
    ending: Signal
    striding: Signal
    begins: Signal
    next: Signal
    of_row: Signal
    short: Signal
    beyond: Signal
    large_block: Signal
