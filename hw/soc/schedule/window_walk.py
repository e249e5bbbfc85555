"""Rows of A as runs of a map: what is read, and what is beyond its edges."""

from typing import NamedTuple

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH
from hw.soc.schedule.row_request import RowRequest
from hw.soc.schedule.window_place import (
    LINE,
    LINE_BEFORE,
    PIXEL,
    PIXEL_BEFORE,
    SIDE,
    Move,
    move_place,
)  # fmt: skip
from hw.soc.schedule.window_runs import Taps, runs
from hw.soc.schedule.window_step import Step, next_tap

__all__ = ["WindowWalk"]


class _Count(NamedTuple):
    """What is counted in a row: that a tap is of the block, ends the row; taps before it.

    Members
    -------
    ready : the row has been looked at.
    """

    ready: Signal
    here: Signal
    ends: Signal
    taps: Signal


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
        row, at = self.i.payload, Step.make()
        mine, walks, go, taken = Signal(), Signal(), Signal(), Signal()
        m.d.comb += mine.eq(self.i_here & (row.to == Destination.A))
        move = Move.make()
        done = next_tap(m, self.i_window, at, walks & go, move)
        count = self._count(m, self.i.valid & mine, done)
        m.d.comb += taken.eq(done & count.ends)
        with m.If(taken):
            m.d.sync += [at.first_x.eq(1), at.first_y.eq(1)]
        self._blocks(m, at, count, walks, taken, move, go)
        # What is decided in one cycle is done in the next.
        late, still = Move.make("late"), Signal()
        base = Signal(self.spec.address_width, reset_less=True)
        flags = Taps.make()
        with m.If(go):
            m.d.sync += [one.eq(other) for one, other in zip(late, move, strict=True)]
            m.d.sync += [
                still.eq(at.still & walks),
                base.eq(row.address),
                flags.emits.eq(done & count.here),
                flags.ends.eq(count.ends),
                flags.first_x.eq(at.first_x),
                flags.last.eq(row.last),
                flags.final.eq(row.final),
            ]
        steps = self.i_pixel, self.i_lda
        now = move_place(m, late, (still, go), self.i_window, base, steps)
        empty = runs(m, self, go, now, flags)
        passes = self.i.valid & ~mine & empty
        with m.If(empty):
            m.d.comb += [self.o.valid.eq(passes), self.o.payload.eq(row)]
        m.d.comb += self.i.ready.eq(Mux(mine, taken, empty & self.o.ready))
        return m

    def _count(self, m: Module, offered: Value, done: Value) -> _Count:
        """Count taps up to the block's first, then codes, from a cycle after the row is offered."""
        row, window = self.i.payload, self.i_window
        self.skipped = skipped = Signal(SIDE)
        left, after, last = Signal(len(row.bytes)), Signal(len(row.bytes)), Signal()
        ready, here, ends = (Signal(name=name) for name in ("ready", "here", "ends"))
        count = _Count(ready, here, ends, Signal(SIDE, name="taps"))
        m.d.comb += [
            after.eq(Mux(count.ready, left, row.bytes) - window.channels),
            ends.eq(here & last),
        ]
        with m.If(done):
            m.d.sync += count.taps.eq(count.taps + 1)
            with m.If(~count.here):
                m.d.sync += count.here.eq(count.taps + 1 == skipped)
        with m.If((offered & ~count.ready) | (done & count.here)):
            m.d.sync += [left.eq(after), last.eq(after == 0)]
        with m.If(offered & ~count.ready):
            m.d.sync += [count.ready.eq(1), count.taps.eq(0), count.here.eq(skipped == 0)]
        with m.If(done & count.ends):
            m.d.sync += count.ready.eq(0)
        return count

    def _blocks(
        self,
        m: Module,
        at: Step,
        count: _Count,
        walks: Signal,
        taken: Value,
        move: Move,
        go: Value,
    ) -> None:
        """Walk the rows of a block; then keep the place behind them, or go back before them."""
        before = Cat(at.still, at.line_begins, at.line_ends, at.windows)
        saved = Signal(len(before), init=1)
        with m.FSM():
            with m.State("WALK"):
                m.d.comb += walks.eq(count.ready)
                with m.If(taken & self.i.payload.last):
                    m.d.sync += self.skipped.eq(Mux(self.i_last_code, 0, count.taps + 1))
                    with m.If(self.i_again):
                        m.next = "BACK"
                    with m.Elif(self.i_first):
                        m.next = "FIRST"
                    with m.Else():
                        m.next = "KEEP"
            with m.State("FIRST"):
                m.d.sync += [at.still.eq(1), saved.eq(1)]
                m.next = "WALK"
            for name, states in (
                ("BACK", ((LINE_BEFORE, LINE), (PIXEL_BEFORE, PIXEL))),
                ("KEEP", ((LINE, LINE_BEFORE), (PIXEL, PIXEL_BEFORE))),
            ):
                (first, second), later = states, f"{name}_IN_LINE"
                with m.State(name):
                    move.copy(m, *first)
                    with m.If(go):
                        m.d.sync += before.eq(saved) if name == "BACK" else saved.eq(before)
                        m.next = later
                with m.State(later):
                    move.copy(m, *second)
                    with m.If(go):
                        m.next = "WALK"
