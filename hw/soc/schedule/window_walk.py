"""Rows of A as runs of a map: what is read, and what is beyond its edges."""

from typing import Any, NamedTuple, Self

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH
from hw.soc.schedule.row_request import RowRequest
from hw.soc.schedule.window_place import (
    KERNEL_ROW,
    LINE,
    LINE_BEFORE,
    PIXEL,
    PIXEL_BEFORE,
    PLACES,
    SIDE,
    TAP,
    Move,
    move_place,
)  # fmt: skip
from hw.soc.schedule.window_runs import Taps, runs

__all__ = ["WindowWalk"]


class _Step(NamedTuple):
    """A step from place to place: the registers that say where the walk is.

    Members
    -------
    first_x, second_x, first_y, second_y : the tap is in the first or second column, or row, of the
        kernel.
    left : taps that are left in the kernel row.
    repeats : moves that are done of a step of several.
    still : no window has been walked yet: the first place is the map's first.
    line_begins : the window is the first one of its row.
    windows : that are left in the row of windows.
    """

    first_x: Signal
    second_x: Signal
    first_y: Signal
    second_y: Signal
    left: Signal
    repeats: Signal
    still: Signal
    line_begins: Signal
    windows: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals, as they are at the begin of a job."""
        ones = {name: Signal(name=name, init=1) for name in ("first_x", "first_y", "still")}
        bits = {name: Signal(name=name) for name in ("second_x", "second_y", "line_begins")}
        return cls(
            left=Signal(8, name="left"),
            repeats=Signal(4, name="repeats", init=1),
            windows=Signal(SIDE, name="windows"),
            **ones,
            **bits,
        )


class WindowWalk(wiring.Component):
    """Turns rows of A into runs of the map, tap by tap; other rows pass as they are.

    Nothing is multiplied: a step is a move by one pixel or one row, and adds their distance once
    the coordinate is not below 0. So an address is that of the coordinates wherever these are of
    the map, and only then it is read. Taps that follow each other in memory are one run; so are
    those beyond the edges, which do not reach the bus. Throughput: a tap in each cycle, where steps
    are 1; of a block that begins within a window the taps before it pass, too.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.

    Members
    -------
    i_here : In(1)
        The job is one of windows.
    i_window, i_pixel, i_lda : In
        Its geometry, and the distances of pixels and of rows of the map.
    i_again, i_first, i_last_code : In(1)
        The next block of A has the same rows as this one; else: the first ones; the next one begins
        with the first tap.
    i : In(stream)
        :class:`hw.soc.schedule.row_request.RowRequest`: the address of a row of A is the map's.
    o : Out(stream)
        The same; rows of several runs, all but the last of which ``joins``, of which some ``fill``.
    """

    i_here: Signal
    i_window: data.View
    i_pixel: Signal
    i_lda: Signal
    i_again: Signal
    i_first: Signal
    i_last_code: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "i_here": In(1),
            "i_window": In(WindowLayout()),
            "i_pixel": In(BYTES_WIDTH),
            "i_lda": In(BYTES_WIDTH),
            "i_again": In(1),
            "i_first": In(1),
            "i_last_code": In(1),
            "i": In(stream.Signature(RowRequest(spec))),
            "o": Out(stream.Signature(RowRequest(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        row, at = self.i.payload, _Step.make()
        mine, walks, go, taken = Signal(), Signal(), Signal(), Signal()
        m.d.comb += mine.eq(self.i_here & (row.to == Destination.A))
        move = Move.make()
        steps = self.i_pixel, self.i_lda
        now = move_place(m, move, at.still, self.i_window, row.address, steps)
        done = self._tap(m, at, walks & go, move)
        emits, ends, count = self._count(m, done)
        m.d.comb += taken.eq(done & ends)
        with m.If(taken):
            m.d.sync += [at.first_x.eq(1), at.first_y.eq(1)]
        self._blocks(m, at, self.i.valid & mine, walks, taken, count, move)
        empty = runs(m, self, go, Taps(now, emits, ends, at.first_x))
        passes = self.i.valid & ~mine & empty
        with m.If(empty):
            m.d.comb += [self.o.valid.eq(passes), self.o.payload.eq(row)]
        m.d.comb += self.i.ready.eq(Mux(mine, taken, empty & self.o.ready))
        return m

    def _tap(self, m: Module, at: _Step, walks: Value, move: Move) -> Value:
        """Choose the next move; return that a tap is reached with it."""
        window: Any = self.i_window
        times, done, wraps, edge = Signal(4), Signal(), Signal(), Signal()
        pixel = Signal(range(PLACES))
        rest = Mux(at.first_x, window.kw, at.left)
        begins = at.first_x & at.first_y
        m.d.comb += [
            pixel.eq(Mux(at.line_begins, LINE, PIXEL)),
            edge.eq(at.windows == 0),
            wraps.eq(rest == 0),
        ]
        with m.If(begins & (at.still | edge)):
            m.d.comb += [move.source.eq(LINE), move.to.eq(LINE), move.y.eq(walks & ~at.still)]
            m.d.comb += times.eq(Mux(at.still, 1, window.sy))
        with m.Elif(begins):
            m.d.comb += [move.source.eq(pixel), move.to.eq(PIXEL), move.x.eq(walks)]
            m.d.comb += times.eq(window.sx)
        with m.Elif(at.first_x):
            m.d.comb += move.source.eq(Mux(at.second_y, pixel, KERNEL_ROW))
            m.d.comb += [move.to.eq(KERNEL_ROW), move.y.eq(walks), times.eq(window.dy)]
        with m.Else():
            row = Mux(at.first_y, pixel, KERNEL_ROW)
            m.d.comb += move.source.eq(Mux(at.second_x, row, TAP))
            m.d.comb += [move.to.eq(TAP), move.x.eq(walks), times.eq(window.dx)]
        with m.If(at.repeats != 1):
            m.d.comb += move.source.eq(move.to)
        m.d.comb += move.walks.eq(walks)
        m.d.comb += done.eq(walks & (at.repeats == times))
        with m.If(walks):
            m.d.sync += at.repeats.eq(Mux(done, 1, at.repeats + 1))
        with m.If(done):
            m.d.sync += [
                at.left.eq(rest - 1),
                at.first_x.eq(wraps),
                at.second_x.eq(at.first_x & ~wraps),
            ]
            with m.If(wraps):
                m.d.sync += [at.first_y.eq(0), at.second_y.eq(at.first_y)]
            with m.If(begins):
                new = at.still | edge
                m.d.sync += [at.still.eq(0), at.line_begins.eq(new)]
                m.d.sync += at.windows.eq(Mux(new, window.across, at.windows - 1))
        return done

    def _count(self, m: Module, done: Value) -> tuple[Value, Value, Signal]:
        """Count taps up to the block's first, then codes; return what is of it, its end, and taps.

        The end is only looked at with a tap that is of the block.
        """
        row, window = self.i.payload, self.i_window
        self.skipped = skipped = Signal(SIDE)
        taps, inside, left = Signal(SIDE), Signal(), Signal(len(row.bytes))
        here, after = Signal(), Signal(len(left))
        m.d.comb += [
            here.eq(inside | (taps == skipped)),
            after.eq(Mux(inside, left, row.bytes) - window.channels),
        ]
        ends = Signal()
        m.d.comb += ends.eq(here & (after == 0))
        with m.If(done):
            m.d.sync += [taps.eq(Mux(ends, 0, taps + 1)), inside.eq(here & ~ends)]
            m.d.sync += left.eq(after)
        return done & here, ends, taps

    def _blocks(
        self,
        m: Module,
        at: _Step,
        offered: Value,
        walks: Signal,
        taken: Value,
        taps: Value,
        move: Move,
    ) -> None:
        """Walk the rows of a block; then keep the place behind them, or go back before them."""
        before = Cat(at.still, at.line_begins, at.windows)
        saved = Signal(len(before), init=1)
        with m.FSM():
            with m.State("WALK"):
                m.d.comb += walks.eq(offered)
                with m.If(taken & self.i.payload.last):
                    m.d.sync += self.skipped.eq(Mux(self.i_last_code, 0, taps + 1))
                    with m.If(self.i_again):
                        m.next = "BACK"
                    with m.Elif(self.i_first):
                        m.next = "FIRST"
                    with m.Else():
                        m.next = "KEEP"
            with m.State("FIRST"):
                m.d.sync += [at.still.eq(1), saved.eq(1)]
                m.next = "WALK"
            with m.State("BACK"):
                m.d.sync += before.eq(saved)
                move.copy(m, LINE_BEFORE, LINE)
                m.next = "BACK_IN_LINE"
            with m.State("BACK_IN_LINE"):
                move.copy(m, PIXEL_BEFORE, PIXEL)
                m.next = "WALK"
            with m.State("KEEP"):
                m.d.sync += saved.eq(before)
                move.copy(m, LINE, LINE_BEFORE)
                m.next = "KEEP_IN_LINE"
            with m.State("KEEP_IN_LINE"):
                move.copy(m, PIXEL, PIXEL_BEFORE)
                m.next = "WALK"
