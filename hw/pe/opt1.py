"""OPT1: multiply-accumulate that keeps its sum in carry-save form."""

from amaranth import Module, Value

from hw.arith.bit_heap import BitHeap
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
        return products.sum_heights(KEPT)

    def _last_delay(self, products: BitHeap) -> float:
        return products.sum_delay([2] * products.width, KEPT)

    def _accumulate(
        self, m: Module, products: BitHeap, kept: list[list[Value]]
    ) -> list[list[Value]]:
        """Put the sum on the heap of the products, and compress it to its own shape."""
        products.add_columns(kept, arrival=KEPT)
        return products.compress(m, [len(column) for column in kept])


class Opt1(StreamPe):
    """Sums products of operand pairs, in carry-save form.

    Computes :func:`golden.pe.opt1.opt1`, exactly: the sum is ``o.sum + o.carry`` modulo
    2^accumulator_width.
    """

    CELL = Opt1Cell
    HOWS = Opt1Cell.HOWS
