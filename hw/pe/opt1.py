"""OPT1: multiply-accumulate that keeps its sum in carry-save form."""

from amaranth import C, Module, Mux, Signal, Value
from amaranth.lib import data

from hw.arith.bit_heap import BitHeap
from hw.arith.schedule import sparse_heights
from hw.pe.cell import PeCell
from hw.pe.stream import StreamPe

__all__ = ["Opt1", "Opt1Cell"]

# One gate clears the sum: its arrival in XOR gates.
_KEPT = 0.6


class Opt1Cell(PeCell):
    """Compresses product bits and the sum so far together, with no carry propagation.

    Compressed accumulation of the HPCA 2025 bit-weight paper (OPT1). The sum keeps a carry only at
    weights where passing it on would cost time: for int8 that is a third of a carry row. One
    addition for each sum resolves it, outside. Members: see :class:`PeCell`.
    """

    module = "opt1"
    PRODUCT_ROWS = 3

    def _heights(self) -> list[int]:
        spec = self.spec
        operands = Signal(self.k * spec.a_width), Signal(self.k * spec.b_width)
        heap = self._products(Module(), *operands, C(1, 1))

        def delay(heights: list[int]) -> float:
            zeros: list[list[Value]] = [[C(0, 1)] * height for height in heights]
            return _with_sum(heap, zeros).schedule(heights).delay

        return sparse_heights(heap.width, delay)

    def elaborate(self, platform):
        m = Module()
        self._clear(m)
        total = self.layout.register("total")
        kept = data.View(self.layout, Signal(self.layout.size, name="kept"))
        m.d.comb += kept.as_value().eq(Mux(self.o_done, 0, total.as_value()))
        bits = self.layout.columns(kept)
        heap = _with_sum(self._products(m, self.i_a, self.i_b, self.en), bits)
        columns = heap.compress(m, [len(column) for column in bits])
        with m.If(self.en):
            m.d.sync += total.as_value().eq(self.layout.pack(columns))
        m.d.comb += self.o.as_value().eq(total.as_value())
        return m


def _with_sum(heap: BitHeap, columns: list[list[Value]]) -> BitHeap:
    """Add the bits of the sum so far."""
    heap = heap.copy()
    for weight, column in enumerate(columns):
        for bit in column:
            heap.add_bit(bit, weight, arrival=_KEPT)
    return heap


class Opt1(StreamPe):
    """Sums products of operand pairs, in carry-save form.

    Computes :func:`golden.pe.opt1.opt1`, exactly: the sum is ``o.sum + o.carry`` modulo
    2^accumulator_width.
    """

    CELL = Opt1Cell
    HOWS = Opt1Cell.HOWS
