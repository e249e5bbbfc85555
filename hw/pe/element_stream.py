"""One processing element, between two streams."""

from typing import ClassVar

from amaranth import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter
from golden.pe.mac import MacSpec
from hw.lib.array_entry import ArrayEntry
from hw.lib.shared_module import SharedModule
from hw.pe.element import Element
from hw.pe.registered_element import RegisteredElement

__all__ = ["Operands", "StreamPe", "Total"]


class Operands(data.StructLayout):
    """k operand pairs, the first lowest; ``last`` ends the sum."""

    def __init__(self, spec: MacSpec):
        super().__init__({"a": spec.k * spec.a_code_width, "b": spec.k * spec.b_width, "last": 1})


class Total(data.StructLayout):
    """One sum; with a carry row if it is not resolved."""

    def __init__(self, spec: MacSpec, *, resolved: bool):
        rows = ("sum",) if resolved else ("sum", "carry")
        super().__init__(dict.fromkeys(rows, spec.accumulator_width))


class StreamPe(wiring.Component):
    """One element, as an array of one.

    Latency, last pairs to their sum: :attr:`latency` cycles. Throughput: k pairs per cycle.
    Stalls: a sum that is not taken stalls the input; ``o.ready`` reaches ``i.ready``
    combinationally.

    Parameters
    ----------
    spec : MacSpec
        What: operand and accumulator widths.
    build
        How: as the element's.

    Members
    -------
    i : In(stream)
        :class:`Operands`, in the formats of `spec`.
    o : Out(stream)
        :class:`Total`, modulo 2^accumulator_width.
    """

    CELL: ClassVar[type[Element]]
    BUILD: ClassVar[dict[str, Parameter]]

    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: MacSpec, **build):
        self._element = self.CELL(spec, **build)
        self.cell = RegisteredElement(self._element)
        self.spec = spec
        super().__init__({
            "i": In(stream.Signature(Operands(spec))),
            "o": Out(stream.Signature(Total(spec, resolved=not self.cell.layout.carries))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The one cell."""
        return (self.cell,)

    @property
    def latency(self) -> int:
        """Cycles from the last pairs of a sum to the sum."""
        return 2 + self.cell.pipeline + self.cell.layout.registers

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition for each pair."""
        return 2 * self.spec.k

    def elaborate(self, platform):
        m = Module()
        m.submodules.feed = feed = ArrayEntry()
        m.submodules.pe = pe = self.cell.place()
        done = Signal(self.latency - 1)

        m.d.comb += [
            pe.en.eq(~self.o.valid | self.o.ready),
            feed.move.eq(pe.en),
            feed.valid.eq(self.i.valid),
            feed.last.eq(self.i.payload.last),
            self.i.ready.eq(feed.accept),
            pe.i_a.eq(Mux(feed.accept, self._element.encode(m, self.i.payload.a), 0)),
            pe.i_b.eq(self._element.beside(m, feed.accept, self.i.payload.b)),
            pe.i_clear.eq(feed.clear),
            self.o.valid.eq(done[-1]),
        ]
        rows = self.cell.layout.rows(m, pe.en, pe.o)
        m.d.comb += self.o.payload.sum.eq(Cat(column[0] for column in rows))
        with m.If(pe.en):
            m.d.sync += done.eq((done << 1) | feed.finish)
        if self.cell.layout.carries:
            carries = (column[1] if len(column) == 2 else C(0, 1) for column in rows)
            m.d.comb += self.o.payload.carry.eq(Cat(carries))
        return m
