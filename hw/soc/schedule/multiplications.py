"""What is multiplied, bit by bit, when a job is checked."""

from typing import Any, NamedTuple

from amaranth import Module, Mux, Signal, Value

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

    def look_at_strides(self, m: Module, address: Value) -> None:
        """Check the stride of a matrix, or of pixels, while its multiplication starts.

        The bytes of the last row minus one are added last, and the end address is checked while the
        next multiplication starts; so is the stride.

        Parameters
        ----------
        m : where.
        address : of the next matrix.
        """
        first = Signal(len(self.length) + 1)
        m.d.sync += [self.striding.eq(0), self.address.eq(address)]
        m.d.comb += first.eq(self.y)
        short = first <= self.length
        if self.windows is None:
            with m.If(self.striding & short):
                m.d.sync += self.short.eq(1)
            return
        with m.If(self.striding):
            with m.If(self.step == self.windows.first):
                self.windows.look_at_pixels(m, short, first == self.length)
            with m.Elif(short):
                m.d.sync += self.short.eq(1)

    def begin_sum(self, m: Module, value: Value) -> None:
        """Begin a sum with a value, if the product is not added to the one before."""
        if self.windows is None:
            m.d.sync += self.total.eq(value)
            return
        with m.If(~self.windows.adds(self.step)):
            m.d.sync += self.total.eq(value)

    def last_of_row(self, number: int, end: MatrixEnd, job: Any) -> Value:
        """Return the last byte of a row of a matrix; that of a map is known already."""
        if self.windows is None or number:
            return end.last
        return Mux(job.mode.window, self.length, end.last)

    def look_at_windows(self, m: Module, windows: WindowSteps, job: Any, geometry: Any) -> None:
        """Look at what is multiplied for windows."""
        with m.If(self.step == windows.first):
            m.d.sync += self.striding.eq(1)
        with m.If(self.of_row):
            # The last byte of a row of the map.
            length, total = self.length, self.total
            m.d.sync += [length.eq(total), self.short.eq(total[len(length) : 50].any())]
            windows.row(m, total, geometry)
        with m.If((self.step == 0) & job.mode.window):
            windows.look_at_window(m, self.total)
