"""What every processing element of an array has in common: its ports and its operand registers."""

from typing import ClassVar

from amaranth import Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Integer, Parameter, check_fields
from golden.pe.mac import MacSpec
from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave
from hw.arith.product import ENCODINGS, add_product
from hw.cell import Cell

__all__ = ["PeCell"]


class PeCell(Cell):
    """Multiply-accumulate of one operand pair a cycle, inside an array.

    Operands rest in a register for one cycle, in which they are multiplied and go on to the next
    element. ``i_clear`` comes with the first pair of a sum: the sum so far is on ``o`` in the
    cycle in which ``o_done`` is set, and is gone with the next.

    Parameters
    ----------
    spec : MacSpec
        What: operand and accumulator widths.
    encoding : str
        How: multiplier, see :func:`hw.arith.product.add_product`.
    pipeline : int
        How: registers between product and accumulator, 0 or 1.

    Members
    -------
    en : In(1)
        Common enable; where it is low nothing moves.
    i_a, i_b : In
        Operands.
    i_clear : In(1)
        A new sum starts with this pair.
    o_a, o_b, o_clear : Out
        The same, one cycle later.
    o_done : Out(1)
        ``o`` is complete: ``1 + pipeline`` cycles after ``i_clear``.
    o : Out(CarrySave)
        The sum.
    """

    PRODUCT_ROWS: ClassVar[int]
    """Rows of the product between its register and the sum: what divides the delay evenly."""

    HOWS: ClassVar[dict[str, Parameter]] = {
        "encoding": Choice("product: Booth rows, AND array, or the tool's own", "booth", ENCODINGS),
        "pipeline": Integer("registers between product and accumulator", 0, 0, 1),
    }

    en: Signal
    i_a: Signal
    i_b: Signal
    i_clear: Signal
    o_a: Signal
    o_b: Signal
    o_clear: Signal
    o_done: Signal
    o: data.View

    def __init__(self, spec: MacSpec, *, encoding: str = "booth", pipeline: int = 0):
        if not isinstance(spec, MacSpec):
            raise TypeError(f"spec must be a MacSpec, not {spec!r}")
        check_fields(PeCell.HOWS, {"encoding": encoding, "pipeline": pipeline})
        self.spec = spec
        self.encoding = encoding
        self.pipeline = pipeline
        self.layout = CarrySave(self._heights())
        super().__init__({
            "en": In(1),
            "i_a": In(spec.a_width),
            "i_b": In(spec.b_width),
            "i_clear": In(1),
            "o_a": Out(spec.a_width),
            "o_b": Out(spec.b_width),
            "o_clear": Out(1),
            "o_done": Out(1),
            "o": Out(self.layout),
        })

    def _heights(self) -> list[int]:
        """Bits of the accumulator in each column."""
        raise NotImplementedError

    def _operands(self, m: Module) -> None:
        """Build the operand registers."""
        with m.If(self.en):
            m.d.sync += [
                self.o_a.eq(self.i_a),
                self.o_b.eq(self.i_b),
                self.o_clear.eq(self.i_clear),
            ]
        if not self.pipeline:
            m.d.comb += self.o_done.eq(self.o_clear)
            return
        done = Signal(reset_less=True)
        with m.If(self.en):
            m.d.sync += done.eq(self.o_clear)
        m.d.comb += self.o_done.eq(done)

    def _product(self, m: Module, a: Value, b: Value, enable: Value) -> BitHeap:
        """Put the product on a heap as wide as the accumulator."""
        spec = self.spec
        heap = BitHeap(spec.accumulator_width)
        add_product(m, heap, a, b, spec.a_format, spec.b_format, self.encoding)
        return heap.register(m, enable, self.PRODUCT_ROWS) if self.pipeline else heap
