"""What the processing elements of arrays have in common: ports, products, operand registers."""

from typing import ClassVar

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Integer, Parameter, check_fields
from golden.pe.mac import MacSpec
from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave
from hw.arith.product import ENCODINGS, add_product
from hw.cell import Cell

__all__ = ["KEPT", "Hop", "PeCell"]

KEPT = 0.6
"""Arrival of the sum so far, in XOR gates: one gate clears it."""


class PeCell(Cell):
    """Multiply-accumulate of k operand pairs a cycle, inside an array.

    ``i_clear`` comes with the first pairs of a sum: the sum so far is on ``o`` in the cycle in
    which ``o_done`` is set, and is gone with the next.

    Parameters
    ----------
    spec : MacSpec
        What: operand and accumulator widths, and k.
    encoding : str
        How: multiplier, see :func:`hw.arith.product.add_product`.
    pipeline : int
        How: registers between products and accumulator, 0 or 1.

    Members
    -------
    en : In(1)
        Common enable; where it is low nothing moves.
    i_a, i_b : In
        k operands each, the first lowest. The element has no register for them.
    i_clear : In(1)
        A new sum starts with these pairs.
    o_done : Out(1)
        ``o`` is complete: `pipeline` cycles after ``i_clear``.
    o : Out(CarrySave)
        The sum.
    """

    PRODUCT_ROWS: ClassVar[int]
    """Rows of the product between its register and the sum: what divides the delay evenly."""

    HOWS: ClassVar[dict[str, Parameter]] = {
        "encoding": Choice(
            "product: Booth or EN-T rows, AND array, or the tool's", "booth", ENCODINGS
        ),
        "pipeline": Integer("registers between product and accumulator", 0, 0, 1),
    }

    en: Signal
    i_a: Signal
    i_b: Signal
    i_clear: Signal
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
            "i_a": In(spec.k * spec.a_width),
            "i_b": In(spec.k * spec.b_width),
            "i_clear": In(1),
            "o_done": Out(1),
            "o": Out(self.layout),
        })

    def _heights(self) -> list[int]:
        """Bits of the sum in each column."""
        raise NotImplementedError

    def step(
        self, m: Module, enable: Value, a: Value, b: Value, kept: list[list[Value]]
    ) -> list[list[Value]]:
        """Add the products of `a` and `b` to a sum; both are columns of :attr:`layout`.

        The products of a cycle meet the sum of `pipeline` cycles later.
        """
        raise NotImplementedError

    def elaborate(self, platform):
        m = Module()
        if self.pipeline:
            with m.If(self.en):
                m.d.sync += self.o_done.eq(self.i_clear)
        else:
            m.d.comb += self.o_done.eq(self.i_clear)
        total = self.layout.register("total")
        kept = data.View(self.layout, Signal(self.layout.size, name="kept"))
        m.d.comb += kept.as_value().eq(Mux(self.o_done, 0, total.as_value()))
        columns = self.step(m, self.en, self.i_a, self.i_b, self.layout.columns(kept))
        with m.If(self.en):
            m.d.sync += total.as_value().eq(self.layout.pack(columns))
        m.d.comb += self.o.as_value().eq(total.as_value())
        return m

    def _products(self, m: Module, enable: Value, a: Value, b: Value) -> BitHeap:
        """Put the products on a heap as wide as the accumulator."""
        spec = self.spec
        heap = BitHeap(spec.accumulator_width)
        for pair in range(spec.k):
            x, y = a.word_select(pair, spec.a_width), b.word_select(pair, spec.b_width)
            add_product(m, heap, x, y, spec.a_format, spec.b_format, self.encoding)
        return heap.register(m, enable, self.PRODUCT_ROWS) if self.pipeline else heap


class Hop(Cell):
    """An element with operand registers, from which its neighbours take the operands.

    Parameters
    ----------
    element : PeCell
        What hangs on the registers.

    Members
    -------
    en, o_done, o : as the element's
    i_a, i_b, i_clear : In
        As the element's, one cycle earlier.
    o_a, o_b, o_clear : Out
        The same, one cycle later.
    """

    en: Signal
    i_a: Signal
    i_b: Signal
    i_clear: Signal
    o_a: Signal
    o_b: Signal
    o_clear: Signal
    o_done: Signal
    o: data.View

    def __init__(self, element: PeCell):
        self.element = element
        self.module = element.module
        self.layout = element.layout
        self.pipeline = element.pipeline
        a, b = len(element.i_a), len(element.i_b)
        super().__init__({
            **element.signature.members,
            "o_a": Out(a),
            "o_b": Out(b),
            "o_clear": Out(1),
        })

    def elaborate(self, platform):
        element = self.element
        m = element.elaborate(platform)
        with m.If(self.en):
            m.d.sync += [
                self.o_a.eq(self.i_a),
                self.o_b.eq(self.i_b),
                self.o_clear.eq(self.i_clear),
            ]
        m.d.comb += [
            element.en.eq(self.en),
            element.i_a.eq(self.o_a),
            element.i_b.eq(self.o_b),
            element.i_clear.eq(self.o_clear),
            self.o_done.eq(element.o_done),
            self.o.as_value().eq(element.o.as_value()),
        ]
        return m
