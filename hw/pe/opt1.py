"""OPT1: multiply-accumulate that keeps its sum in carry-save form."""

from amaranth import C, Module, Value

from hw.arith.bit_heap import BitHeap
from hw.arith.schedule import sparse_heights
from hw.pe.cell import KEPT, PeCell
from hw.pe.stream import StreamPe

__all__ = ["Opt1", "Opt1Cell"]


class Opt1Cell(PeCell):
    """Compresses product bits and the sum so far together, with no carry propagation.

    Compressed accumulation of the HPCA 2025 bit-weight paper (OPT1). The sum keeps a carry only at
    weights where passing it on would cost time: for int8 that is a third of a carry row. One
    addition for each sum resolves it, outside. Members: see :class:`PeCell`.
    """

    module = "opt1"

    def _heights(self, products: BitHeap) -> list[int]:
        return sparse_heights(products.width, lambda heights: _delay(products, heights))

    def _last_delay(self, products: BitHeap) -> float:
        return _delay(products, [2] * products.width)

    def _accumulate(
        self, m: Module, products: BitHeap, kept: list[list[Value]]
    ) -> list[list[Value]]:
        """Put the sum on the heap of the products, and compress it to its own shape."""
        products.add_columns(kept, arrival=KEPT)
        return products.compress(m, [len(column) for column in kept])


def _delay(products: BitHeap, heights: list[int]) -> float:
    """Delay of adding products to a sum of these heights, in XOR gates."""
    heap = products.copy()
    heap.add_columns([[C(0, 1)] * height for height in heights], arrival=KEPT)
    return heap.schedule(heights).delay


class Opt1(StreamPe):
    """Sums products of operand pairs, in carry-save form.

    Computes :func:`golden.pe.opt1.opt1`, exactly: the sum is ``o.sum + o.carry`` modulo
    2^accumulator_width.
    """

    CELL = Opt1Cell
    HOWS = Opt1Cell.HOWS
