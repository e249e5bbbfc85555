"""The way through the taps of windows: which place is next."""

from typing import Any, NamedTuple, Self

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data

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
    begins, ends : the tap is the first one of a window; that is the last one of its row.
    """

    done: Signal
    row: Signal
    wraps: Signal
    bottom: Signal
    begins: Signal
    ends: Signal


class Step(NamedTuple):
    """A step from place to place: the registers that say where the walk is.

    Members
    -------
    first_x, second_x, first_y, second_y : the tap is in the first or second column, or row, of the
        kernel.
    next_x, next_y : numbers of the column and of the row of the kernel that are next.
    repeats : moves that are done of a step of several, with the next one.
    still : no window has been walked yet: the first place is the map's first.
    line_begins : the window is the first one of its row.
    windows : number of the next one in its row of windows.
    line_ends, row_ends : the window is the last one of its row; the tap of its kernel row, if it is
        not the first one, too.
    by_rows : the window is walked a kernel row in a step.
    bottom : the kernel row is the last one, if it is not the first one, too.
    """

    first_x: Signal
    second_x: Signal
    first_y: Signal
    second_y: Signal
    next_x: Signal
    next_y: Signal
    repeats: Signal
    still: Signal
    line_begins: Signal
    windows: Signal
    line_ends: Signal
    row_ends: Signal
    by_rows: Signal
    bottom: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals, as they are at the begin of a job."""
        ones = {name: Signal(name=name, init=1) for name in ("first_x", "first_y", "still")}
        bits = {name: Signal(name=name) for name in _FLAGS}
        return cls(
            next_x=Signal(8, name="next_x", init=1),
            next_y=Signal(8, name="next_y", init=1),
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
    single, low, first = Signal(), Signal(), Signal()
    reached = Reached(*(Signal(name=name) for name in Reached._fields))
    done, wraps = reached.done, reached.wraps
    begins, new = at.first_x & at.first_y, at.still | at.line_ends
    between = _between(m, window, at.still, reached)
    m.d.comb += [
        reached.begins.eq(begins & done),
        reached.ends.eq(at.windows == window.across),
        first.eq(at.repeats == 1),
        wraps.eq(Mux(at.first_x, single | reached.row, at.row_ends)),
        reached.row.eq(Mux(begins, rows & ~at.still & between, at.by_rows)),
        reached.bottom.eq(Mux(at.first_y, low, at.bottom)),
    ]
    m.d.sync += [single.eq(window.kw == 0), low.eq(window.kh == 0)]
    last = _last_of_step(m, window, at, walks, done)
    m.d.comb += [move.walks.eq(walks), done.eq(walks & _choose(m, at, walks, move, first, last))]
    with m.If(walks):
        m.d.sync += at.repeats.eq(Mux(done, 1, at.repeats + 1))
    with m.If(done):
        m.d.sync += [
            at.next_x.eq(Mux(wraps, 1, at.next_x + 1)),
            at.row_ends.eq(at.next_x == window.kw),
            at.first_x.eq(wraps),
            at.second_x.eq(at.first_x & ~wraps),
        ]
        with m.If(wraps):
            m.d.sync += [at.next_y.eq(at.next_y + 1), at.bottom.eq(at.next_y == window.kh)]
            m.d.sync += [at.first_y.eq(0), at.second_y.eq(at.first_y)]
        with m.If(begins):
            m.d.sync += [at.by_rows.eq(reached.row), at.still.eq(0), at.line_begins.eq(new)]
            m.d.sync += at.line_ends.eq(reached.ends)
    return reached


def _last_of_step(m: Module, window: Any, at: Step, walks: Value, done: Value) -> data.View:
    """Return whether the next move is the last one of its step, if that is each of the steps.

    It is known a cycle before, whatever is chosen; not of the first step of a job, which is one
    move.
    """
    layout = data.StructLayout(dict.fromkeys(("sy", "sx", "dy", "dx"), 1))
    single, last = (
        data.View(layout, Signal(layout.size, name=name)) for name in ("of_one", "of_last")
    )
    for name, _ in layout:
        m.d.sync += single[name].eq(window[name] == 1)
        with m.If(walks):
            m.d.sync += last[name].eq(Mux(done, single[name], at.repeats + 1 == window[name]))
    return last


def _choose(m: Module, at: Step, walks: Value, move: Move, first: Value, last: data.View) -> Value:
    """Choose the places of the next move, and its direction; return whether it is the last one.

    Parameters
    ----------
    first : it has not been done yet.
    last : it is the last one, of each step.
    """
    ends, pixel = Signal(name="ends_step"), Signal(range(PLACES), name="pixel")
    begins, new = at.first_x & at.first_y, at.still | at.line_ends
    m.d.comb += pixel.eq(Mux(at.line_begins, LINE, PIXEL))
    with m.If(begins & new):
        m.d.comb += [move.source.eq(LINE), move.along.eq(LINE), move.to.eq(LINE)]
        m.d.comb += [move.edge.eq(at.still), move.y.eq(walks & ~at.still)]
        m.d.comb += ends.eq(at.still | last.sy)
    with m.Elif(begins):
        m.d.comb += [move.source.eq(pixel), move.along.eq(PIXEL), move.to.eq(PIXEL)]
        m.d.comb += [move.edge.eq(at.line_begins & first), move.x.eq(walks)]
        m.d.comb += ends.eq(last.sx)
    with m.Elif(at.first_x):
        m.d.comb += move.source.eq(Mux(at.second_y, pixel, KERNEL_ROW))
        m.d.comb += move.along.eq(Mux(at.second_y, LINE, KERNEL_ROW))
        m.d.comb += [move.to.eq(KERNEL_ROW), move.y.eq(walks), ends.eq(last.dy)]
    with m.Else():
        row = Mux(at.first_y, pixel, KERNEL_ROW)
        m.d.comb += move.source.eq(Mux(at.second_x, row, TAP))
        m.d.comb += move.along.eq(Mux(at.second_x, PIXEL, TAP))
        m.d.comb += move.edge.eq(at.second_x & at.line_begins & first)
        m.d.comb += [move.to.eq(TAP), move.x.eq(walks), ends.eq(last.dx)]
    with m.If(~first):
        m.d.comb += [move.source.eq(move.to), move.along.eq(move.to)]
    return ends


def _between(m: Module, window: Any, still: Value, reached: Reached) -> Value:
    """Return whether the window that begins next is between the map's sides; not of the first one.

    Its column is counted beside the walk, and looked at in the cycle before. One that has passed
    2^17 comes back: then a window is wholly beyond the map, and as right in steps of a kernel row.
    """
    column, last = Signal(signed(SIDE + 2)), Signal(signed(SIDE + 1))
    edge, between = Signal(signed(9)), Signal()
    m.d.comb += edge.eq(Cat(window.left, window.left.any()))
    m.d.sync += [
        last.eq(window.width - window.kw),
        # A difference's sign takes less than a comparison.
        between.eq(~column[-1] & ~(last - column)[SIDE + 1]),
    ]
    with m.If(reached.begins | still):
        goes_on = reached.begins & ~reached.ends
        m.d.sync += column.eq(Mux(goes_on, column + window.sx, edge))
    return between
