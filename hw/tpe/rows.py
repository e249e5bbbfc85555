"""Arrays of elements whose rows of C are done one cycle apart: what they have in common."""

from typing import Any, ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Member, Out

from golden.check import Parameter, complete
from golden.pe.mac import MacSpec
from golden.tpe.rows import RowsSpec
from hw.arith.adder import resolve
from hw.cell import Cell, Placement
from hw.engine import ASlice, BSlice, CRow
from hw.feed import Feed
from hw.pe.cell import Hop, PeCell
from hw.tpe.element import ELEMENT_HOWS, make_element

__all__ = ["Column", "RowsEngine", "skew"]


class Column(Cell):
    """One column of elements, whose sums leave by its bus.

    An element whose sum is done puts it on the bus for one cycle; all others put zeros, so the bus
    is an OR. It is cut into segments of :attr:`RowsSpec.SEGMENT` rows by registers, through which
    sums move up. The resolver at its end adds the carries in: one adder a column.

    Parameters
    ----------
    spec : RowsSpec
        What: the array.
    element : Hop or PeCell
        How: what stands in a row.
    adder : str
        How: the resolver, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    en : In(1)
        Common enable.
    i_a : In
        k codes of A for each row, row 0 lowest, as the element takes them.
    i_b : In
        k codes of B, for row 0.
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

    def __init__(self, spec: RowsSpec, element: Hop | PeCell, adder: str, **members: Member):
        self.spec = spec
        self.element = element
        self.adder = adder
        super().__init__({
            "en": In(1),
            "i_a": In(spec.m * len(element.i_a)),
            "i_b": In(spec.k * spec.b_width),
            "i_clear": In(spec.m),
            "o": Out(spec.accumulator_width),
            **members,
        })

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The element."""
        return (self.element,)

    @property
    def latency(self) -> int:
        """Cycles from ``i_clear``, as it stands in a register, to the sum."""
        layout = self.element.layout
        bus = 1 if self._bus else 0
        return bus + self.element.pipeline + layout.registers + bool(layout.carries)

    @property
    def _bus(self) -> bool:
        """Whether sums go by a bus: a single one can be resolved where it stands."""
        return self.spec.m > 1 or not self.element.layout.carries

    def connect(self, m: Module, rows: list[Placement]) -> None:
        """Connect the operands of the elements."""
        raise NotImplementedError

    def elaborate(self, platform):
        m = Module()
        spec, layout = self.spec, self.element.layout
        rows = [self.element.place() for _ in range(spec.m)]
        for number, row in enumerate(rows):
            m.submodules[f"pe{number}"] = row
            m.d.comb += row.en.eq(self.en)
        self.connect(m, rows)

        bus = layout.register("bus") if self._bus else rows[0].o
        for segment in reversed(range(0, spec.m if self._bus else 0, spec.SEGMENT)):
            sums = bus.as_value() if segment + spec.SEGMENT < spec.m else C(0, layout.size)
            for row in rows[segment : segment + spec.SEGMENT]:
                sums = sums | Mux(row.o_done, row.o.as_value(), 0)
            bus = layout.register(f"bus{segment}")
            with m.If(self.en):
                m.d.sync += bus.as_value().eq(sums)

        if not layout.carries:
            m.d.comb += self.o.eq(bus.as_value())
            return m
        total = Signal(spec.accumulator_width, reset_less=True)
        added = resolve(m, layout.rows(m, self.en, bus), self.adder)
        with m.If(self.en):
            m.d.sync += total.eq(added)
        m.d.comb += self.o.eq(total)
        return m


class RowsEngine(wiring.Component):
    """Multiplies matrices tile by tile; each of m x n elements keeps one number of C.

    Computes :func:`golden.engine.matmul`, exactly. A tile takes ceil(K / k) cycles; the next one
    follows at once if that is at least :attr:`RowsSpec.drain`: rows end one cycle apart, so in
    each column one sum is done per cycle and leaves by a bus, without a second set of
    accumulators.

    Latency, last operand beat of a tile to its row 0: :attr:`latency` cycles. Throughput: m n k
    multiply-accumulates a cycle. Stalls: a missing operand puts a bubble into the array; a row of
    C that is not taken stops all of it: ``o_c.ready`` reaches every register's enable and
    ``i_a.ready``, ``i_b.ready`` combinationally. Overflow: none for K <= depth.

    Parameters
    ----------
    spec : RowsSpec
        What: tile, formats, depth.
    pe, encoding, pipeline
        How: see :func:`hw.tpe.element.make_element`.
    adder : str
        How: carry propagation, once a column, or in every element ("mac").

    Members
    -------
    i_a : In(stream)
        :class:`ASlice`, k columns of the tile of A.
    i_b : In(stream)
        :class:`BSlice`, k rows of the tile of B; each moves together with one of ``i_a``.
    o_c : Out(stream)
        :class:`CRow`, the rows of the tile of C, row 0 first.
    """

    SPEC: ClassVar[type[RowsSpec]]
    HOWS: ClassVar[dict[str, Parameter]] = ELEMENT_HOWS

    i_a: stream.Interface
    i_b: stream.Interface
    o_c: stream.Interface

    def __init__(self, spec: RowsSpec, **hows: Any):
        if not isinstance(spec, self.SPEC):
            raise TypeError(f"spec must be a {self.SPEC.__name__}, not {spec!r}")
        hows = complete(self.HOWS, hows)
        self.spec = spec
        self.element = make_element(
            MacSpec(
                k=spec.k,
                a_width=spec.a_width,
                b_width=spec.b_width,
                a_signed=spec.a_signed,
                b_signed=spec.b_signed,
                accumulator_width=spec.accumulator_width,
            ),
            **hows,
        )
        self.column = self.make_column(self.element, hows["adder"])
        super().__init__({
            "i_a": In(stream.Signature(ASlice(spec))),
            "i_b": In(stream.Signature(BSlice(spec))),
            "o_c": Out(stream.Signature(CRow(spec))),
        })

    def make_column(self, element: PeCell, adder: str) -> Column:
        """Make the column that stands n times in the array."""
        raise NotImplementedError

    def place_columns(
        self, m: Module, move: Signal, a: list[Value], b: list[Value], clear: Value
    ) -> Value:
        """Build the array.

        Parameters
        ----------
        m, move : where, and the common enable.
        a, clear : for each row its codes, skewed: row i comes i cycles late.
        b : for each column its codes, not skewed.

        Returns
        -------
        A row of C, all columns at once, :attr:`latency` cycles after the last operands.
        """
        raise NotImplementedError

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The column."""
        return (self.column,)

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C."""
        return 2 + self.column.latency

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition for each product."""
        return 2 * self.spec.m * self.spec.n * self.spec.k

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        move = Signal()
        m.submodules.feed = feed = Feed(spec.drain)
        m.submodules.rows = rows = RowCount(spec, self.latency - 1)
        m.d.comb += [
            move.eq(~self.o_c.valid | self.o_c.ready),
            feed.move.eq(move),
            feed.valid.eq(self.i_a.valid & self.i_b.valid),
            feed.last.eq(self.i_a.payload.last),
            self.i_a.ready.eq(feed.accept),
            self.i_b.ready.eq(feed.accept),
            rows.move.eq(move),
            rows.finish.eq(feed.finish),
            self.o_c.valid.eq(rows.valid),
            self.o_c.payload.last.eq(rows.last),
        ]
        a = self.i_a.payload.data
        b = self.i_b.payload.data
        clear = Signal(spec.m)
        later = Signal(spec.m - 1, reset_less=True)
        m.d.comb += clear.eq(Cat(feed.clear, later))
        with m.If(move):
            m.d.sync += later.eq(clear)
        # Row 0 is coded while it is still decided whether its beat is accepted.
        first = Mux(feed.accept, self.element.encode(m, a[: spec.k * spec.a_width]), 0)
        below = skew(m, move, "a", Mux(feed.accept, a, 0), spec.m, spec.k * spec.a_width)[1:]
        row = self.place_columns(
            m,
            move,
            [first, *(self.element.encode(m, codes) for codes in below)],
            [_column(b, number, spec) for number in range(spec.n)],
            clear,
        )
        m.d.comb += self.o_c.payload.data.eq(row)
        return m


def _column(b: Value, number: int, spec: RowsSpec) -> Value:
    """Take the k codes of one column out of k rows of n codes."""
    return Cat(b.word_select(k * spec.n + number, spec.b_width) for k in range(spec.k))


def skew(m: Module, move: Value, name: str, codes: Value, count: int, width: int) -> list[Value]:
    """Delay code i of a beat by i cycles."""
    skewed = [codes[:width]]
    for stage in range(1, count):
        late = Signal((count - stage) * width, name=f"{name}{stage}", reset_less=True)
        with m.If(move):
            m.d.sync += late.eq(codes[width:])
        codes = late
        skewed.append(codes[:width])
    return skewed


class RowCount(wiring.Component):
    """Tells which cycles bring a row of C, from the cycles in which tiles finish.

    ``valid`` comes straight from a register, since the enable of the whole array hangs on it.

    Parameters
    ----------
    spec : RowsSpec
        What: the array.
    delay : int
        How: cycles from ``finish`` to row 0, 2 or more.

    Members
    -------
    move : In(1)
        Common enable.
    finish : In(1)
        A tile's sums begin to leave.
    valid, last : Out(1)
        A row of C is there; it is row m - 1.
    """

    move: In(1)
    finish: In(1)
    valid: Out(1)
    last: Out(1)

    def __init__(self, spec: RowsSpec, delay: int):
        self.spec = spec
        self.delay = delay
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        on_its_way = Signal(self.delay - 1)
        left = Signal(range(spec.drain))
        gap: Value = C(0, 1)
        with m.If(self.move):
            m.d.sync += on_its_way.eq((on_its_way << 1) | self.finish)
            if spec.m > spec.SEGMENT:
                in_segment = Signal(range(spec.SEGMENT + 1))
                gap = in_segment == spec.SEGMENT
                m.d.sync += in_segment.eq(Mux(on_its_way[-1], 1, Mux(gap, 0, in_segment + 1)))
            with m.If(on_its_way[-1]):
                m.d.sync += [
                    self.valid.eq(1),
                    self.last.eq(spec.drain == 1),
                    left.eq(spec.drain - 1),
                ]
            with m.Else():
                m.d.sync += [
                    self.valid.eq((left != 0) & ~gap),
                    self.last.eq(left == 1),
                    left.eq(Mux(left == 0, 0, left - 1)),
                ]
        return m
