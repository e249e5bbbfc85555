"""Arrays whose rows of C finish one cycle apart: control, for any kind of operands."""

from collections.abc import Mapping

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Member, Out

from golden.tpe.rows import RowsSpec
from hw.lib.array_entry import ArrayEntry
from hw.lib.shared_module import SharedModule
from hw.tpe.row_exit import RowExit, near
from hw.tpe.rows_column import RowsColumn

__all__ = ["RowCount", "RowsArray", "late", "skew"]


class RowsArray(wiring.Component):
    """An array of m x n elements, each of which accumulates one element of C, and its control.

    If a tile's operands take at least :attr:`RowsSpec.drain` cycles, the next tile follows at once:
    rows finish one cycle apart, so each column completes one sum per cycle, which leaves by a bus,
    without a second set of accumulators. With ``together``, sums leave in the same order, and the
    next tile waits for them.

    Parameters
    ----------
    spec : RowsSpec
        What: the shape.
    column : RowsColumn
        How: the column; the array has n of them.
    ports
        Of the component: the streams ``i_a``, ``i_b``, ``o_c``; the payloads of the first and the
        last have a member ``last``.
    """

    i_a: stream.Interface
    i_b: stream.Interface
    o_c: stream.Interface

    def __init__(self, spec: RowsSpec, column: RowsColumn, ports: Mapping[str, Member]):
        self.spec = spec
        self.column = column
        super().__init__(dict(ports))

    def build(self, m: Module, move: ValueLike, feed: ArrayEntry, clear: Value) -> Value:
        """Build the array and its edge.

        Parameters
        ----------
        m, move : where, and the common clock enable.
        feed : tells which beats are accepted.
        clear : one bit per row: a new sum starts with the operands of this cycle.

        Returns
        -------
        A row of C, all columns at once, :attr:`latency` cycles after the last operands.
        """
        raise NotImplementedError

    def ends(self, m: Module, feed: ArrayEntry) -> tuple[Value, Value, Value]:
        """Find out what ends; a tile has one sum for each element of C, or several.

        Returns
        -------
        last : sums end with the beat offered.
        taken : the beat enters the array for the last time.
        finish : results begin to leave; ``feed.finish``, or a subset of it.
        """
        return self.i_a.payload.last, feed.accept, feed.finish

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The column."""
        return (self.column,)

    @property
    def stops_late(self) -> bool:
        """Whether a row of C that is not taken stops the array a cycle later."""
        return False

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C."""
        return 2 + self.column.latency

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.submodules.feed = feed = ArrayEntry(spec.drain, idle=spec.together)
        m.submodules.rows = rows = RowCount(spec, self.latency - 1)
        last, taken, finish = self.ends(m, feed)
        leaving = RowExit(m, self.o_c, late=self.stops_late)
        move = leaving.move
        m.d.comb += [
            feed.move.eq(move),
            feed.valid.eq(self.i_a.valid & self.i_b.valid),
            feed.last.eq(last),
            self.i_a.ready.eq(taken),
            self.i_b.ready.eq(taken),
            rows.move.eq(move),
            rows.finish.eq(finish),
            leaving.valid.eq(rows.valid),
            leaving.payload.last.eq(rows.last),
        ]
        clear = Signal(spec.m)
        later = Signal(spec.m - 1, reset_less=True)
        m.d.comb += clear.eq(Cat(feed.clear, later))
        with m.If(move):
            m.d.sync += later.eq(clear)
        m.d.comb += leaving.payload.data.eq(self.build(m, move, feed, clear))
        return m


def skew(
    m: Module, move: ValueLike, name: str, codes: Value, count: int, width: int
) -> list[Value]:
    """Delay code i of a beat by i cycles."""
    skewed = [codes[:width]]
    for stage in range(1, count):
        late = Signal((count - stage) * width, name=f"{name}{stage}", reset_less=True)
        with m.If(near(move)):
            m.d.sync += late.eq(codes[width:])
        codes = late
        skewed.append(codes[:width])
    return skewed


def late(m: Module, move: ValueLike, name: str, value: Value, count: int) -> list[Value]:
    """Delay a value by 0, 1, ... cycles of `move`, `count` times in all."""
    values = [value]
    for stage in range(1, count):
        register = Signal(len(value), name=f"{name}{stage}", reset_less=True)
        with m.If(near(move)):
            m.d.sync += register.eq(values[-1])
        values.append(register)
    return values


class RowCount(wiring.Component):
    """Tells in which cycles a row of C arrives, from the cycles in which tiles finish.

    ``valid`` comes straight from a register, since it drives the enable of the whole array.

    Parameters
    ----------
    spec : RowsSpec
        What: the array.
    delay : int
        How: cycles from ``finish`` to row 0, 2 or more.

    Members
    -------
    move : In(1)
        Common clock enable.
    finish : In(1)
        A tile's sums begin to leave.
    valid, last : Out(1)
        A row of C is valid; it is row m - 1.
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
