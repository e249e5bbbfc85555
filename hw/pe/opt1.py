"""OPT1: multiply-accumulate that keeps its sum in carry-save form."""

from amaranth import C, Module, Signal, Value

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
    PRODUCT_ROWS = 3

    def _heights(self) -> list[int]:
        spec = self.spec
        operands = Signal(spec.k * spec.a_width), Signal(spec.k * spec.b_width)
        products = self._products(Module(), C(1, 1), *operands)

        def delay(heights: list[int]) -> float:
            heap = products.copy()
            heap.add_columns([[C(0, 1)] * height for height in heights], arrival=KEPT)
            return heap.schedule(heights).delay

        return sparse_heights(products.width, delay)

    def step(
        self, m: Module, enable: Value, a: Value, b: Value, kept: list[list[Value]]
    ) -> list[list[Value]]:
        """Put the sum on the heap of the products, and compress it to its own shape."""
        heap = self._products(m, enable, a, b)
        heap.add_columns(kept, arrival=KEPT)
        return heap.compress(m, [len(column) for column in kept])


class Opt1(StreamPe):
    """Sums products of operand pairs, in carry-save form.

    Computes :func:`golden.pe.opt1.opt1`, exactly: the sum is ``o.sum + o.carry`` modulo
    2^accumulator_width.
    """

    CELL = Opt1Cell
    HOWS = Opt1Cell.HOWS
