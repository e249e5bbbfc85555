"""The way through the taps of windows: which place is next."""

from typing import Any, NamedTuple, Self

from amaranth import Cat, Module, Mux, Signal, Value, signed

from hw.soc.schedule.window_place import KERNEL_ROW, LINE, PIXEL, PLACES, SIDE, TAP, Move

__all__ = ["Reached", "Step", "next_tap"]

_FLAGS = ("second_x", "second_y", "line_begins", "line_ends", "row_ends", "by_rows", "bottom")


class Reached(NamedTuple):
    """What a step reaches.

    Members
    -------
    done : a tap, or the first tap of a kernel row that is walked at once.
    row : the kernel row is walked at once.
    wraps : the next tap begins a kernel row.
    bottom : the kernel row is the last one of the window.
    """

    done: Signal
    row: Signal
    wraps: Signal
    bottom: Signal


class Step(NamedTuple):
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
    line_ends, row_ends : the window is the last one of its row; the tap of its kernel row, if it is
        not the first one, too.
    by_rows : the window is walked a kernel row in a step.
    below : kernel rows that are left.
    bottom : the kernel row is the last one, if it is not the first one, too.
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
    line_ends: Signal
    row_ends: Signal
    by_rows: Signal
    below: Signal
    bottom: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals, as they are at the begin of a job."""
        ones = {name: Signal(name=name, init=1) for name in ("first_x", "first_y", "still")}
        bits = {name: Signal(name=name) for name in _FLAGS}
        return cls(
            left=Signal(8, name="left"),
            below=Signal(8, name="below"),
            repeats=Signal(4, name="repeats", init=1),
            windows=Signal(SIDE, name="windows"),
            **ones,
            **bits,
        )


def next_tap(m: Module, window: Any, at: Step, walks: Value, move: Move, rows: Value) -> Reached:
    """Choose the next move; return what is reached with it.

    Parameters
    ----------
    window : :class:`~hw.soc.registers.window_layout.WindowLayout`.
    at : where the walk is.
    walks : it goes on.
    move : what is chosen.
    rows : kernel rows can be walked at once, where they are between the map's sides.
    """
    times, single, low = Signal(4), Signal(), Signal()
    reached = Reached(*(Signal(name=name) for name in Reached._fields))
    done, wraps = reached.done, reached.wraps
    pixel = Signal(range(PLACES))
    rest = Mux(at.first_x, window.kw, at.left)
    begins = at.first_x & at.first_y
    m.d.comb += [
        pixel.eq(Mux(at.line_begins, LINE, PIXEL)),
        wraps.eq(Mux(at.first_x, single | reached.row, at.row_ends)),
        reached.row.eq(Mux(begins, rows & _between(m, window, at, begins & done), at.by_rows)),
        reached.bottom.eq(Mux(at.first_y, low, at.bottom)),
    ]
    m.d.sync += [single.eq(window.kw == 0), low.eq(window.kh == 0)]
    with m.If(begins & (at.still | at.line_ends)):
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
    m.d.comb += [move.walks.eq(walks), done.eq(walks & (at.repeats == times))]
    with m.If(walks):
        m.d.sync += at.repeats.eq(Mux(done, 1, at.repeats + 1))
    with m.If(done):
        m.d.sync += [
            at.left.eq(rest - 1),
            at.row_ends.eq(rest == 1),
            at.first_x.eq(wraps),
            at.second_x.eq(at.first_x & ~wraps),
        ]
        with m.If(wraps):
            below = Mux(at.first_y, window.kh, at.below)
            m.d.sync += [at.below.eq(below - 1), at.bottom.eq(below == 1)]
            m.d.sync += [at.first_y.eq(0), at.second_y.eq(at.first_y)]
        with m.If(begins):
            m.d.sync += at.by_rows.eq(reached.row)
            new, left = at.still | at.line_ends, Signal(SIDE)
            m.d.comb += left.eq(Mux(new, window.across, at.windows - 1))
            m.d.sync += [at.still.eq(0), at.line_begins.eq(new)]
            m.d.sync += [at.windows.eq(left), at.line_ends.eq(left == 0)]
    return reached


def _between(m: Module, window: Any, at: Step, begins: Value) -> Value:
    """Return whether the window that begins next is between the map's sides.

    Its column is counted beside the walk, which is at the window before. One that has passed 2^17
    comes back: then a window is wholly beyond the map, and as right in steps of a kernel row.
    """
    column, last = Signal(signed(SIDE + 2)), Signal(signed(SIDE + 1))
    before_last = Signal(signed(SIDE + 2))
    edge, here, after = Signal(signed(9)), Signal(signed(SIDE + 2)), Signal(signed(SIDE + 2))
    first, between, ends = Signal(), Signal(), Signal()
    new = at.still | at.line_ends
    m.d.comb += [
        edge.eq(Cat(window.left, window.left.any())),
        here.eq(Mux(at.still, edge, column)),
        after.eq(here + window.sx),
        ends.eq(Mux(new, window.across == 0, at.windows == 1)),
    ]
    m.d.sync += [
        last.eq(window.width - window.kw),
        before_last.eq(last - window.sx),
        first.eq(~window.left.any() & (last >= 0)),
    ]
    with m.If(begins):
        m.d.sync += [
            column.eq(Mux(ends, edge, after)),
            between.eq(Mux(ends, first, ~after[-1] & (here <= before_last))),
        ]
    return Mux(at.still, first, between)
