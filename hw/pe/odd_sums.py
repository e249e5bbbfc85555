"""Accumulates bit-plane sums on the odd grid, and converts them to results."""

from amaranth import C, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.lib.shared_module import UNINITIALISED, SharedModule

__all__ = ["ODD", "SUM", "OddSums"]

SUM = 32
"""Bits of results, and of the C added to them."""
ODD = SUM + 1
"""Bits of plane sums: sums on the odd grid are halved, and are then modulo 2^32."""


class OddSums(SharedModule):
    """Accumulates the planes of one column of C, row by row, and converts the sums to results.

    Parameters
    ----------
    rows, planes, width : int
        What: rows of C, maximum planes, and bits of one plane's sum.
    adder : str
        How: see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i_add : In(1)
        A row of a plane arrives.
    i_row : In
        Its number.
    i_first, i_doubles : In(1)
        It is of the first plane; the sum so far is doubled.
    i : In
        The plane's sum.
    i_take : In(1)
        Convert the sum of the last row to a result.
    i_whole, i_narrow : In(1)
        It is not halved; the result is int8.
    i_correction : In
        Added before halving.
    i_before : In
        Added to the result.
    o : Out
        The result, one cycle after ``i_take``.
    """

    module = "sum_column"

    i_add: Signal
    i_row: Signal
    i_first: Signal
    i_doubles: Signal
    i: Signal
    i_take: Signal
    i_whole: Signal
    i_narrow: Signal
    i_correction: Signal
    i_before: Signal
    o: Signal

    def __init__(self, rows: int, planes: int, width: int, adder: str):
        self.rows = rows
        self.stored_width = min(width + planes, ODD)
        self.adder = adder
        super().__init__({
            "i_add": In(1),
            "i_row": In(range(max(rows, 2))),
            "i_first": In(1),
            "i_doubles": In(1),
            "i": In(width),
            "i_take": In(1),
            "i_whole": In(1),
            "i_narrow": In(1),
            "i_correction": In(ODD),
            "i_before": In(SUM),
            "o": Out(SUM),
        })

    def elaborate(self, platform):
        m = Module()
        rows: Memory[int, Value] = Memory(
            shape=self.stored_width, depth=max(self.rows, 2), init=[], attrs={UNINITIALISED: "1"}
        )
        m.submodules.rows = rows
        into, out = rows.write_port(), rows.read_port(domain="comb")
        before = Signal(self.stored_width)
        total = Signal(self.stored_width, reset_less=True)
        with m.If(~self.i_first):
            m.d.comb += before.eq(Mux(self.i_doubles, out.data << 1, out.data))
        sums = BitHeap(self.stored_width)
        sums.add_term(list(before), signed=False)
        sums.add_term(list(self.i), signed=True)
        added = self._resolve(m, sums)
        m.d.comb += [
            out.addr.eq(self.i_row),
            into.addr.eq(self.i_row),
            into.en.eq(self.i_add),
            into.data.eq(added),
        ]
        with m.If(self.i_add):
            m.d.sync += total.eq(added)

        # Twice the result: always even where it is halved.
        number = total.as_signed()
        twice = Signal(ODD)
        m.d.comb += twice.eq(Mux(self.i_whole, number << 1, number))
        sums = BitHeap(ODD)
        sums.add_term(list(twice), signed=False)
        sums.add_term(list(self.i_correction), signed=False)
        sums.add_term(list(self.i_before), 1, signed=False)
        result = self._resolve(m, sums)[1:]
        fits = (result[7:] == 0) | result[7:].all()
        least = 1 << 7
        clipped = Mux(result[-1], C(-least, SUM), C(least - 1, SUM))
        with m.If(self.i_take):
            m.d.sync += self.o.eq(Mux(self.i_narrow & ~fits, clipped, result))
        return m

    def _resolve(self, m: Module, heap: BitHeap) -> Value:
        return resolve(m, heap.compress(m, [2] * heap.width), self.adder)
