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
    Move,
    move_place,
)
from hw.soc.schedule.window_runs import Tap, runs
from hw.soc.schedule.window_step import Reached, Step, next_tap

__all__ = ["WindowWalk"]


_ROW = data.StructLayout(dict.fromkeys(("last", "final", "again", "first", "last_code"), 1))
"""What is known of a row that is walked, see :class:`WindowWalk`."""


class _Count(NamedTuple):
    """What is counted in a row: that a tap is of the block, and that it ends the row.

    Members
    -------
    busy : there is a row.
    """

    busy: Signal
    here: Signal
    ends: Signal


class WindowWalk(wiring.Component):
    """Turns rows of A into runs of the map, tap by tap; other rows pass, as a tap each.

    Nothing is multiplied: a step is a move by one pixel or one row, and adds their distance once
    the coordinate is not below 0. So an address is that of the coordinates wherever these are of
    the map, and only then it is read. Taps that follow each other in memory are one run; so are
    those beyond the edges, which do not reach the bus. Throughput: a tap in each cycle, where steps
    are 1; of a block that begins within a window the taps before it pass, too. Of blocks of whole
    windows, a kernel row in each cycle, where its codes follow each other and none is beyond the
    map's sides; but for a job's first window, of which they are counted.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.

    Members
    -------
    i_here : In(1)
        The job is one of windows.
    i_window, i_pixel, i_lda, i_line, i_dense : In
        Its geometry, the distances of pixels and of rows of the map, the bytes of a kernel row, and
        whether pixels follow each other in memory; until all has left by ``o``.
    i_again, i_first, i_last_code : In(1)
        With a row: the next block of A has the same rows as this one; else: the first ones; the
        next one begins with the first tap.
    i : In(stream)
        :class:`hw.soc.schedule.row_request.RowRequest`: the address of a row of A is the map's.
    o : Out(stream)
        The same; rows of several runs, all but the last of which ``joins``, of which some ``fill``.
    """

    i_here: Signal
    i_window: data.View
    i_pixel: Signal
    i_lda: Signal
    i_line: Signal
    i_dense: Signal
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
            "i_line": In(spec.length_width),
            "i_dense": In(1),
            "i_again": In(1),
            "i_first": In(1),
            "i_last_code": In(1),
            "i": In(stream.Signature(RowRequest(spec))),
            "o": Out(stream.Signature(RowRequest(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        row, at = self.i.payload, Step.make()
        mine, walks, go, ended = Signal(), Signal(), Signal(), Signal()
        # A row is taken when it begins: what offers rows waits for no step of a walk.
        begins, walked = (
            Signal(),
            data.View(_ROW, Signal(_ROW.size, name="walked", reset_less=True)),
        )
        # The last tap of the block before, where the next one goes on in the same windows.
        self.skipped, self.part = Signal(16), Signal()
        m.d.comb += mine.eq(self.i_here & (row.to == Destination.A))
        move, dense = Move.make(), Signal()
        # A block of whole windows, of which one after the other is walked.
        rows = dense & walked.last_code & ~self.part
        reached = next_tap(m, self.i_window, at, walks & go, move, rows)
        done = reached.done
        m.d.sync += dense.eq((self.i_window.dx == 1) & self.i_dense)
        count = self._count(m, begins, at, reached)
        m.d.comb += [begins.eq(self.i.valid & mine & ~count.busy & go), ended.eq(done & count.ends)]
        with m.If(begins):
            m.d.sync += [
                *(walked[name].eq(row[name]) for name in ("last", "final")),
                Cat(walked.again, walked.first).eq(Cat(self.i_again, self.i_first)),
                walked.last_code.eq(self.i_last_code),
            ]
        with m.If(ended):
            m.d.sync += [one.eq(1) for one in (at.first_x, at.first_y, at.next_x, at.next_y)]
        # A row passes by the way of a place that is copied.
        free = ~mine & ~move.copies & ~count.busy
        passes = self.i.valid & free
        self._blocks(m, (at, reached), walked, walks, (count.busy, ended), move, go)
        # What is decided in one cycle is done in the next.
        late, still = Move.make("late"), Signal()
        base = Signal(self.spec.address_width, reset_less=True)
        with m.If(begins | (passes & go)):
            m.d.sync += base.eq(row.address)
        size = Signal(len(row.bytes), reset_less=True)
        flags = data.View(Tap(self.spec), Signal(Tap(self.spec).size, name="tap"))
        with m.If(go):
            m.d.sync += [one.eq(other) for one, other in zip(late, move, strict=True)]
            m.d.sync += [
                still.eq((at.still & walks) | passes),
                flags.emits.eq((done & count.here) | passes),
                flags.ends.eq(count.ends | passes),
                flags.first_x.eq(at.first_x),
                flags.row.eq(reached.row),
                flags.passes.eq(passes),
                flags.to.eq(Mux(passes, row.to, Destination.A)),
                *(
                    flags[name].eq(Mux(passes, row[name], walked[name]))
                    for name in ("last", "final")
                ),
                size.eq(Mux(passes, row.bytes, 0)),
            ]
        steps = self.i_pixel, self.i_lda
        now = move_place(m, late, (still, go), self.i_window, base, steps)
        runs(m, self, go, late, now, (flags, size), dense)
        m.d.comb += self.i.ready.eq(go & ~count.busy & (mine | ~move.copies))
        return m

    def _count(self, m: Module, begins: Value, at: Step, reached: Reached) -> _Count:
        """Look for the block's first tap, then count codes, from a cycle after the row begins."""
        row, window, done = self.i.payload, self.i_window, reached.done
        left, after, last = Signal(len(row.bytes)), Signal(len(row.bytes)), Signal()
        count = _Count(*(Signal(name=name) for name in _Count._fields))
        m.d.comb += [
            after.eq(Mux(count.busy, left, row.bytes) - window.channels),
            count.ends.eq(count.here & Mux(reached.row, reached.bottom, last)),
        ]
        with m.If(done & ~count.here):
            m.d.sync += count.here.eq(Cat(at.next_x, at.next_y) == self.skipped)
        with m.If(begins | (done & count.here)):
            m.d.sync += [left.eq(after), last.eq(after == 0)]
        with m.If(begins):
            m.d.sync += [count.busy.eq(1), count.here.eq(~self.part)]
        with m.If(done & count.ends):
            m.d.sync += count.busy.eq(0)
        return count

    def _blocks(
        self,
        m: Module,
        step: tuple[Step, Reached],
        row: data.View,
        walks: Signal,
        state: tuple[Value, Value],
        move: Move,
        go: Value,
    ) -> None:
        """Walk the rows of a block; then keep the place behind them, or go back before them."""
        (at, reached), (busy, ended) = step, state
        lines = Cat(at.line_begins, at.line_ends)
        back, begun, goes_on = Signal(), Signal(), Signal()
        # As they were before the block.
        still, saved_lines, saved = Signal(init=1), Signal.like(lines), Signal.like(at.windows)
        # Windows are counted a cycle late; before a job's first one there is a cycle at least.
        m.d.sync += [begun.eq(reached.begins), goes_on.eq(reached.begins & ~reached.ends)]
        with m.If(back):
            m.d.sync += [at.still.eq(still), lines.eq(saved_lines)]
        with m.If(begun | back):
            m.d.sync += at.windows.eq(Mux(back, saved, at.windows + 1))
        with m.If(at.still | (begun & ~goes_on & ~back)):
            m.d.sync += at.windows.eq(0)
        with m.FSM():
            with m.State("WALK"):
                m.d.comb += walks.eq(busy)
                with m.If(ended & row.last):
                    m.d.sync += self.skipped.eq(Cat(at.next_x, at.next_y))
                    m.d.sync += self.part.eq(~row.last_code)
                    with m.If(row.again):
                        m.d.sync += back.eq(1)
                        m.next = "BACK"
                    with m.Elif(row.first):
                        m.next = "FIRST"
                    with m.Else():
                        m.next = "KEEP"
            with m.State("FIRST"):
                m.d.sync += [at.still.eq(1), still.eq(1)]
                m.next = "WALK"
            for name, states in (
                ("BACK", ((LINE_BEFORE, LINE), (PIXEL_BEFORE, PIXEL))),
                ("KEEP", ((LINE, LINE_BEFORE), (PIXEL, PIXEL_BEFORE))),
            ):
                (first, second), later = states, f"{name}_IN_LINE"
                with m.State(name):
                    move.copy(m, *first)
                    with m.If(go):
                        m.d.sync += back.eq(0)
                        m.next = later
                with m.State(later):
                    move.copy(m, *second)
                    if name == "KEEP":
                        m.d.sync += [still.eq(0), saved_lines.eq(lines), saved.eq(at.windows)]
                    with m.If(go):
                        m.next = "WALK"
