"""One column of an array whose rows of C finish one cycle apart, with an output bus."""

from amaranth import C, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from golden.tpe.rows import RowsSpec
from hw.arith.adder import resolve
from hw.lib.shared_module import Placement, SharedModule
from hw.pe.element import SumModule
from hw.pe.registered_element import RegisteredElement

__all__ = ["RowsColumn"]


class RowsColumn(SharedModule):
    """One column of elements, whose sums leave by a bus.

    An element drives the bus for one cycle when its sum is complete, and zeros otherwise, so the
    bus is an OR. Registers cut it into segments of :attr:`RowsSpec.SEGMENT` rows. The resolver at
    its end adds the carries in, with one adder per column; a short bus needs no register before it.

    Parameters
    ----------
    spec : RowsSpec
        What: the array.
    element : RegisteredElement or SumModule
        How: the element of each row.
    adder : str
        How: the resolver, see :func:`hw.arith.adder.resolve`.
    held : bool
        How: the bus has registers; always so with several segments, or without an adder.

    Members
    -------
    en : In(1)
        Common clock enable.
    i_a : In
        Operands of A of each row, row 0 lowest, in the element's encoding.
    i_b : In
        Operands of B, for row 0, in the element's encoding.
    i_clear : In
        One bit per row: a new sum starts.
    o : Out
        A sum: row i at :attr:`latency` + i + i // SEGMENT cycles after its first ``i_clear``.
    """

    module = "column"

    en: Signal
    i_a: Signal
    i_b: Signal
    i_clear: Signal
    o: Signal

    def __init__(
        self,
        spec: RowsSpec,
        element: RegisteredElement | SumModule,
        adder: str,
        *,
        held: bool = True,
        **members: Member,
    ):
        self.spec = spec
        self.held = held
        self.element = element
        self.adder = adder
        super().__init__({
            "en": In(1),
            "i_a": In(spec.m * len(element.i_a)),
            "i_b": In(len(element.i_b)),
            "i_clear": In(spec.m),
            "o": Out(element.layout.width),
            **members,
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The element."""
        return (self.element,)

    @property
    def latency(self) -> int:
        """Cycles from the registered ``i_clear`` to the sum."""
        layout = self.element.layout
        bus = 1 if self._bus else 0
        return bus + self.element.pipeline + layout.registers + self.adds

    @property
    def adds(self) -> bool:
        """Whether the sums on the bus have carries to add."""
        return bool(self.element.layout.carries)

    @property
    def _bus(self) -> bool:
        """Whether the bus has registers: a single sum can be resolved in place."""
        rows = self.spec.m
        return not self.adds or rows > self.spec.SEGMENT or (rows > 1 and self.held)

    def connect(self, m: Module, rows: list[Placement]) -> None:
        """Connect the operands of the elements."""
        raise NotImplementedError

    def settle(self, m: Module, rows: list[list[Value]]) -> list[list[Value]]:
        """Reduce the columns of a sum to at most two bits each, for the resolver."""
        return rows

    def elaborate(self, platform):
        m = Module()
        spec, layout = self.spec, self.element.layout
        rows = [self.element.place() for _ in range(spec.m)]
        for number, row in enumerate(rows):
            m.submodules[f"pe{number}"] = row
            m.d.comb += row.en.eq(self.en)
        self.connect(m, rows)

        bus = self._collect(m, rows)
        if not self.adds:
            m.d.comb += self.o.eq(bus.as_value())
            return m
        total = Signal(layout.width, reset_less=True)
        added = resolve(m, self.settle(m, layout.rows(m, self.en, bus)), self.adder)
        with m.If(self.en):
            m.d.sync += total.eq(added)
        m.d.comb += self.o.eq(total)
        return m

    def _collect(self, m: Module, rows: list[Placement]) -> data.View:
        """Put the completed sum on the bus."""
        spec, layout = self.spec, self.element.layout
        if not self._bus and len(rows) == 1:
            return rows[0].o
        sums: Value = C(0, layout.size)
        for segment in reversed(range(0, spec.m, spec.SEGMENT)):
            for row in rows[segment : segment + spec.SEGMENT]:
                sums = sums | Mux(row.o_done, row.o.as_value(), 0)
            if self._bus:
                bus = layout.register(f"bus{segment}")
                with m.If(self.en):
                    m.d.sync += bus.as_value().eq(sums)
                sums = bus.as_value()
        return data.View(layout, sums)
