"""One column of an array whose rows of C are done one cycle apart: its sums leave by a bus."""

from amaranth import C, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from golden.tpe.rows import RowsSpec
from hw.arith.adder import resolve
from hw.lib.shared_module import Placement, SharedModule
from hw.pe.element import Hop, SumModule

__all__ = ["RowsColumn"]


class RowsColumn(SharedModule):
    """One column of elements, whose sums leave by its bus.

    An element whose sum is done puts it on the bus for one cycle; all others put zeros, so the bus
    is an OR. It is cut into segments of :attr:`RowsSpec.SEGMENT` rows by registers, through which
    sums move up. The resolver at its end adds the carries in: one adder a column, of which a short
    bus needs no register.

    Parameters
    ----------
    spec : RowsSpec
        What: the array.
    element : Hop or SumCell
        How: what stands in a row.
    adder : str
        How: the resolver, see :func:`hw.arith.adder.resolve`.
    held : bool
        How: the bus has registers; it always has where it has several segments, or no adder.

    Members
    -------
    en : In(1)
        Common enable.
    i_a : In
        Operands of A of each row, row 0 lowest, as the element takes them.
    i_b : In
        Operands of B, for row 0, as the element takes them.
    i_clear : In
        One bit for each row: a new sum starts.
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
        element: Hop | SumModule,
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
        """Cycles from ``i_clear``, as it stands in a register, to the sum."""
        layout = self.element.layout
        bus = 1 if self._bus else 0
        return bus + self.element.pipeline + layout.registers + self.adds

    @property
    def adds(self) -> bool:
        """Whether anything is left to be added to what is on the bus."""
        return bool(self.element.layout.carries)

    @property
    def _bus(self) -> bool:
        """Whether the bus has registers: a single sum can be resolved where it stands."""
        rows = self.spec.m
        return not self.adds or rows > self.spec.SEGMENT or (rows > 1 and self.held)

    def connect(self, m: Module, rows: list[Placement]) -> None:
        """Connect the operands of the elements."""
        raise NotImplementedError

    def settle(self, m: Module, rows: list[list[Value]]) -> list[list[Value]]:
        """Make of the columns of a sum those that are resolved, of at most two bits."""
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
        """Let the sum that is done go by the bus."""
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
