"""Output-stationary systolic array."""

from typing import Any, ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Parameter, check_fields
from golden.pe.mac import MacSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.arith.adder import ADDERS, resolve
from hw.cell import Cell
from hw.engine import ASlice, BSlice, CRow
from hw.feed import Feed
from hw.pe.cell import PeCell
from hw.pe.mac import MacCell
from hw.pe.opt1 import Opt1Cell

__all__ = ["SystolicOs"]

_CELLS: dict[str, type[PeCell]] = {"opt1": Opt1Cell, "mac": MacCell}


class Column(Cell):
    """One column of elements: B moves down it, A crosses it, sums leave by its bus.

    An element whose sum is done puts it on the bus for one cycle; all others put zeros, so the bus
    is an OR. It is cut into segments of :attr:`SystolicOsSpec.SEGMENT` rows by registers, through
    which sums move up. The resolver at its end adds the carries in: one adder a column.

    Parameters
    ----------
    spec : SystolicOsSpec
        What: the array.
    pe : PeCell
        How: the element.
    adder : str
        How: the resolver, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    en : In(1)
        Common enable.
    i_a, o_a : m codes of A, row 0 lowest, and the same one cycle later
    i_clear, o_clear : one bit for each row: a new sum starts
    i_b : In
        A code of B, for row 0.
    o : Out
        A sum: row i follows ``i_clear`` of row 0 after ``latency + i + i // SEGMENT`` cycles.
    """

    module = "column"

    en: Signal
    i_a: Signal
    i_b: Signal
    i_clear: Signal
    o_a: Signal
    o_clear: Signal
    o: Signal

    def __init__(self, spec: SystolicOsSpec, pe: PeCell, adder: str):
        self.spec = spec
        self.pe = pe
        self.adder = adder
        self.latency = 2 + pe.pipeline + bool(pe.layout.carries)
        super().__init__({
            "en": In(1),
            "i_a": In(spec.m * spec.a_width),
            "i_b": In(spec.b_width),
            "i_clear": In(spec.m),
            "o_a": Out(spec.m * spec.a_width),
            "o_clear": Out(spec.m),
            "o": Out(spec.accumulator_width),
        })

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The element."""
        return (self.pe,)

    def elaborate(self, platform):
        m = Module()
        spec, layout = self.spec, self.pe.layout
        elements = [self.pe.place() for _ in range(spec.m)]
        b = self.i_b
        for row, element in enumerate(elements):
            m.submodules[f"pe{row}"] = element
            m.d.comb += [
                element.en.eq(self.en),
                element.i_a.eq(self.i_a.word_select(row, spec.a_width)),
                element.i_b.eq(b),
                element.i_clear.eq(self.i_clear[row]),
                self.o_a.word_select(row, spec.a_width).eq(element.o_a),
                self.o_clear[row].eq(element.o_clear),
            ]
            b = element.o_b

        bus = layout.register("bus")
        for segment in reversed(range(0, spec.m, spec.SEGMENT)):
            sums = bus.as_value() if segment + spec.SEGMENT < spec.m else C(0, layout.size)
            for element in elements[segment : segment + spec.SEGMENT]:
                sums = sums | Mux(element.o_done, element.o.as_value(), 0)
            bus = layout.register(f"bus{segment}")
            with m.If(self.en):
                m.d.sync += bus.as_value().eq(sums)

        if not layout.carries:
            m.d.comb += self.o.eq(bus.sum)
            return m
        total = Signal(spec.accumulator_width, reset_less=True)
        added = resolve(m, layout.columns(bus), self.adder)
        with m.If(self.en):
            m.d.sync += total.eq(added)
        m.d.comb += self.o.eq(total)
        return m


class SystolicOs(wiring.Component):
    """Multiplies matrices tile by tile; each of m x n elements keeps one number of C.

    Computes :func:`golden.tpe.systolic_os.systolic_os`, exactly. A and B enter skewed, A moves
    right and B moves down one element a cycle. A tile takes K cycles; the next one follows at
    once if K is at least :attr:`SystolicOsSpec.drain`, since in each column one sum is done per
    cycle and leaves by a bus, without a second set of accumulators.

    Latency, last operand beat of a tile to its row 0: :attr:`latency` cycles. Throughput: m n
    multiply-accumulates a cycle. Stalls: a missing operand puts a bubble into the array; a row of
    C that is not taken stops all of it: ``o_c.ready`` reaches every register's enable and
    ``i_a.ready``, ``i_b.ready`` combinationally. Overflow: none for K <= depth.

    Parameters
    ----------
    spec : SystolicOsSpec
        What: tile, formats, depth.
    pe : str
        How: "opt1" or "mac".
    encoding, pipeline
        How: see :class:`PeCell`.
    adder : str
        How: carry propagation, once a column ("opt1") or in every element ("mac").

    Members
    -------
    i_a : In(stream)
        :class:`ASlice`, a column of the tile of A.
    i_b : In(stream)
        :class:`BSlice`, a row of the tile of B; each moves together with one of ``i_a``.
    o_c : Out(stream)
        :class:`CRow`, the rows of the tile of C, row 0 first.
    """

    HOWS: ClassVar[dict[str, Parameter]] = {
        "pe": Choice("processing element", "opt1", tuple(_CELLS)),
        **PeCell.HOWS,
        "adder": Choice("carry-propagate adder", "sklansky", ADDERS),
    }

    i_a: stream.Interface
    i_b: stream.Interface
    o_c: stream.Interface

    def __init__(
        self,
        spec: SystolicOsSpec,
        *,
        pe: str = "opt1",
        encoding: str = "booth",
        pipeline: int = 0,
        adder: str = "sklansky",
    ):
        if not isinstance(spec, SystolicOsSpec):
            raise TypeError(f"spec must be a SystolicOsSpec, not {spec!r}")
        check_fields(self.HOWS, {
            "pe": pe, "encoding": encoding, "pipeline": pipeline, "adder": adder,
        })  # fmt: skip
        self.spec = spec
        hows: dict[str, Any] = {"encoding": encoding, "pipeline": pipeline}
        if pe == "mac":
            hows["adder"] = adder
        element = _CELLS[pe](
            MacSpec(
                a_width=spec.a_width,
                b_width=spec.b_width,
                a_signed=spec.a_signed,
                b_signed=spec.b_signed,
                accumulator_width=spec.accumulator_width,
            ),
            **hows,
        )
        self.column = Column(spec, element, adder)
        super().__init__({
            "i_a": In(stream.Signature(ASlice(spec))),
            "i_b": In(stream.Signature(BSlice(spec))),
            "o_c": Out(stream.Signature(CRow(spec))),
        })

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The column."""
        return (self.column,)

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C."""
        return self.column.latency + self.spec.n

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition in each element."""
        return 2 * self.spec.m * self.spec.n

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        move = Signal()
        m.submodules.feed = feed = Feed(spec.drain)
        m.submodules.rows = rows = RowCount(spec, self.latency - 2)
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

        a = Mux(feed.accept, self.i_a.payload.data, 0)
        a = Cat(_skew(m, move, "a", a, spec.m, spec.a_width))
        b = _skew(m, move, "b", self.i_b.payload.data, spec.n, spec.b_width)
        clear = Signal(spec.m)
        later = Signal(spec.m - 1, reset_less=True)
        m.d.comb += clear.eq(Cat(feed.clear, later))
        with m.If(move):
            m.d.sync += later.eq(clear)

        # Column j is j cycles late; the sums of those before it wait for the last one.
        early: Value = C(0, 0)
        for number in range(spec.n):
            m.submodules[f"column{number}"] = column = self.column.place()
            m.d.comb += [
                column.en.eq(move),
                column.i_a.eq(a),
                column.i_b.eq(b[number]),
                column.i_clear.eq(clear),
            ]
            a, clear = column.o_a, column.o_clear
            row = Cat(early, column.o)
            if number < spec.n - 1:
                early = Signal(len(row), name=f"c{number}", reset_less=True)
                with m.If(move):
                    m.d.sync += early.eq(row)
        m.d.comb += self.o_c.payload.data.eq(row)
        return m


def _skew(m: Module, move: Value, name: str, codes: Value, count: int, width: int) -> list[Value]:
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

    Parameters
    ----------
    spec : SystolicOsSpec
        What: the array.
    delay : int
        How: cycles from ``finish`` to the one before row 0, 1 or more.

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

    def __init__(self, spec: SystolicOsSpec, delay: int):
        self.spec = spec
        self.delay = delay
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        on_its_way = Signal(self.delay)
        left = Signal(range(spec.drain + 1))
        in_segment = Signal(range(spec.SEGMENT + 1))
        with m.If(self.move):
            m.d.sync += on_its_way.eq((on_its_way << 1) | self.finish)
            with m.If(on_its_way[-1]):
                m.d.sync += [left.eq(spec.drain), in_segment.eq(0)]
            with m.Elif(left != 0):
                m.d.sync += left.eq(left - 1)
                m.d.sync += in_segment.eq(Mux(in_segment == spec.SEGMENT, 0, in_segment + 1))
        m.d.comb += self.valid.eq((left != 0) & (in_segment != spec.SEGMENT))
        m.d.comb += self.last.eq(left == 1)
        return m
