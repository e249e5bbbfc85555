"""Column of a weight-stationary array: elements that hold their weight, and a ring of sums."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from golden.tpe.systolic_ws import SystolicWsSpec
from hw.arith.adder import resolve
from hw.lib.shared_module import SharedModule
from hw.pe.element import Element

__all__ = ["FirstPe", "StationaryColumn", "StationaryPe"]


class StationaryPe(SharedModule):
    """An element that holds its weight and adds the product to a passing partial sum.

    Parameters
    ----------
    element : Element
        How: the accumulation step; its operand a is the weight.

    Members
    -------
    en : In(1)
        Common clock enable.
    i_a : In
        Code of A, one cycle before it is multiplied.
    i_swap : In(1)
        ``i_b`` is the weight of this and the following ``i_a``.
    i_b : In
        Weight, encoded by :meth:`Element.encode`.
    i_sum : In(CarrySave)
        Sum that the product is added to, in the cycle of the product, plus one per pipeline
        register of the element.
    o_a, o_swap : Out
        ``i_a`` and ``i_swap``, one cycle later.
    o : Out(CarrySave)
        The new sum, one cycle after ``i_sum``.
    """

    en: Signal
    i_a: Signal
    i_swap: Signal
    i_b: Signal
    i_sum: data.View
    o_a: Signal
    o_swap: Signal
    o: data.View

    def __init__(self, element: Element, **members: Member):
        self.element = element
        self.module = element.module
        self.layout = element.layout
        self.pipeline = element.pipeline
        self.weight = Signal(len(element.i_a), reset_less=True)
        super().__init__({
            "en": In(1),
            "i_a": In(len(element.i_b)),
            "i_swap": In(1),
            "i_b": In(len(element.i_a)),
            "i_sum": In(self.layout),
            "o_a": Out(len(element.i_b)),
            "o_swap": Out(1),
            "o": Out(self.layout),
            **members,
        })

    def sum_before(self, m: Module) -> data.View:
        """Return the sum that the product is added to."""
        return self.i_sum

    def elaborate(self, platform):
        m = Module()
        columns = self.layout.columns(self.sum_before(m))
        columns = self.element.step(m, self.en, self.weight, self.o_a, columns)
        total = self.layout.register("total")
        with m.If(self.en):
            m.d.sync += [
                self.o_a.eq(self.i_a),
                self.o_swap.eq(self.i_swap),
                total.as_value().eq(self.layout.pack(columns)),
            ]
            with m.If(self.i_swap):
                m.d.sync += self.weight.eq(self.i_b)
        m.d.comb += self.o.as_value().eq(total.as_value())
        return m


class FirstPe(StationaryPe):
    """The element of the first row, where sums start.

    A class of its own, so that the others need no clear gates.

    Members
    -------
    i_clear : In(1)
        With ``i_a``: the sum starts with this product.
    o_clear : Out(1)
        The same, one cycle later.
    """

    i_clear: Signal
    o_clear: Signal

    def __init__(self, element: Element):
        super().__init__(element, i_clear=In(1), o_clear=Out(1))
        self.module = f"{element.module}_first"

    def sum_before(self, m: Module) -> data.View:
        """Clear the sum when a new one starts."""
        clear = Signal(1 + self.pipeline, reset_less=True)
        with m.If(self.en):
            m.d.sync += clear.eq(Cat(self.i_clear, clear))
        accumulator = data.View(self.layout, Signal(self.layout.size, name="kept"))
        m.d.comb += [
            self.o_clear.eq(clear[0]),
            accumulator.as_value().eq(Mux(clear[-1], 0, self.i_sum.as_value())),
        ]
        return accumulator


class StationaryColumn(SharedModule):
    """One column of elements, closed to a ring in which the sums of a tile circulate.

    The sum of a row of C passes all elements in k cycles, one product in each, and is back at the
    top when the same row of A returns with the next beat. So the sum registers are the
    accumulators.

    Parameters
    ----------
    spec : SystolicWsSpec
        What: the array.
    element : Element
        How: the accumulation step of the element in each row.
    adder : str
        How: the resolver, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    en : In(1)
        Common clock enable.
    i_a, i_swap : In
        For each row of the column, row 0 lowest: as the element's.
    i_b : In
        Weight of the row whose ``i_swap`` is set.
    i_clear : In(1)
        With a code of A for row 0: a new sum starts.
    o_a, o_swap, o_clear : Out
        The same, one cycle later, for the next column.
    o : Out
        Sum, :attr:`latency` cycles after the code of A for row 0.
    """

    module = "column"

    en: Signal
    i_a: Signal
    i_swap: Signal
    i_b: Signal
    i_clear: Signal
    o_a: Signal
    o_swap: Signal
    o_clear: Signal
    o: Signal

    def __init__(self, spec: SystolicWsSpec, element: Element, adder: str):
        self.spec = spec
        self.first = FirstPe(element)
        self.other = StationaryPe(element)
        self.adder = adder
        super().__init__({
            "en": In(1),
            "i_a": In(spec.k * spec.a_width),
            "i_swap": In(spec.k),
            "i_b": In(len(self.first.i_b)),
            "i_clear": In(1),
            "o_a": Out(spec.k * spec.a_width),
            "o_swap": Out(spec.k),
            "o_clear": Out(1),
            "o": Out(spec.accumulator_width),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The elements."""
        return (self.first, self.other)[: self.spec.k]

    @property
    def latency(self) -> int:
        """Cycles from a code of A for row 0 to the sum."""
        layout = self.first.layout
        resolver = layout.registers + bool(layout.carries)
        return 1 + self.first.pipeline + self.spec.k + resolver

    def elaborate(self, platform):
        m = Module()
        spec, layout = self.spec, self.first.layout
        ring = data.View(layout, Signal(layout.size, name="ring"))
        top = ring.as_value()
        for number in range(spec.k):
            pe = (self.other if number else self.first).place()
            m.submodules[f"pe{number}"] = pe
            if number == 0:
                m.d.comb += [pe.i_clear.eq(self.i_clear), self.o_clear.eq(pe.o_clear)]
            m.d.comb += [
                pe.en.eq(self.en),
                pe.i_a.eq(self.i_a.word_select(number, spec.a_width)),
                pe.i_swap.eq(self.i_swap[number]),
                pe.i_b.eq(self.i_b),
                pe.i_sum.as_value().eq(top),
                self.o_a.word_select(number, spec.a_width).eq(pe.o_a),
                self.o_swap[number].eq(pe.o_swap),
            ]
            top = pe.o.as_value()
        bottom = pe.o
        for number in range(spec.turn - spec.k):
            held = layout.register(f"held{number}")
            with m.If(self.en):
                m.d.sync += held.as_value().eq(top)
            top = held.as_value()
        m.d.comb += ring.as_value().eq(top)

        if not layout.carries:
            m.d.comb += self.o.eq(bottom.as_value())
            return m
        added = resolve(m, layout.rows(m, self.en, bottom), self.adder)
        with m.If(self.en):
            m.d.sync += self.o.eq(added)
        return m
