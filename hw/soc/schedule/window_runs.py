"""Taps of a window that follow each other in memory, joined to runs."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.row_request import RowRequest
from hw.soc.schedule.window_place import KERNEL_ROW, LINE, PIXEL, SIDE, Move

__all__ = ["Tap", "runs"]


class Tap(data.StructLayout):
    """A tap that is reached, or a row that passes.

    ``emits``: it is of the block; ``ends`` its row; ``first_x``: it is the first one of its kernel
    row, and ``row``: the others come with it; it ``passes``; ``last``, ``final`` and ``to`` are the
    row's, see :class:`~hw.soc.schedule.row_request.RowRequest`.
    """

    def __init__(self, spec: CoprocessorSpec):
        row = RowRequest(spec)
        super().__init__({
            **dict.fromkeys(("emits", "ends", "first_x", "row", "passes"), 1),
            **{name: row[name].shape for name in ("last", "final", "to")},
        })


def runs(
    m: Module,
    walk: Any,
    go: Signal,
    move: Move,
    now: data.View,
    reached: tuple[data.View, Signal],
    dense: Value,
) -> None:
    """Join taps to runs, two cycles later.

    Parameters
    ----------
    walk : :class:`~hw.soc.schedule.window_walk.WindowWalk`, whose ``o`` they are offered by.
    go : the walk can go on.
    move, now, reached : what it does, and reaches, see
        :func:`~hw.soc.schedule.window_place.move_place`; and bytes, if it is a row that passes, or
        0.
    dense : taps of a kernel row follow each other in memory.
    """
    window, out, (reached_tap, size) = walk.i_window, walk.o.payload, reached
    layout = reached_tap.shape()
    pixel = Signal(len(now.at), name="pixel", reset_less=True)
    run = data.View(out.shape(), Signal(out.shape().size, name="run", reset_less=True))
    seen, tap = (data.View(layout, Signal(layout.size, name=name)) for name in ("seen", "joined"))
    address = Signal(len(now.address), reset_less=True)
    codes, seen_size, tap_size = (
        Signal(len(size), name=name, reset_less=True) for name in ("codes", "seen_size", "tap_size")
    )
    inside, some, flush = Signal(), Signal(), Signal()
    fits, offers = Signal(), Signal()
    m.d.comb += [
        fits.eq(some & (run.fill != inside) & (~inside | (dense & ~tap.first_x))),
        offers.eq(flush | (some & tap.emits & ~fits)),
        # A walk that has nothing to offer waits, too: what is taken waits for memory then.
        go.eq(walk.o.ready),
        walk.o.valid.eq(offers),
        out.eq(run),
    ]
    of_map = _inside(m, window, pixel, (move, go))
    with m.If(go):
        m.d.sync += [seen.eq(reached_tap), tap.eq(seen), pixel.eq(now.at), address.eq(now.address)]
        m.d.sync += [inside.eq(of_map | seen.passes), flush.eq(tap.emits & tap.ends)]
        m.d.sync += [seen_size.eq(size), tap_size.eq(seen_size)]
        m.d.sync += codes.eq(Mux(seen.passes, 0, Mux(seen.row, walk.i_line, window.channels)))
        with m.If(tap.emits):
            m.d.sync += [
                some.eq(~tap.ends),
                run.fill.eq(~inside),
                run.joins.eq(~tap.ends),
                run.to.eq(tap.to),
                run.last.eq(tap.last),
                run.final.eq(tap.final & tap.ends),
                run.bytes.eq(Mux(fits, run.bytes, tap_size) + codes),
            ]
            with m.If(~fits):
                m.d.sync += run.address.eq(address)


def _inside(m: Module, window: Any, at: Value, step: tuple[Move, Value]) -> Value:
    """Return whether a place is of the map, a cycle after a move, from its column or its row.

    What is not moved is as it was with the place from which it was moved.
    """
    (move, go), last = step, Signal(SIDE)
    to, steps, moved = Signal.like(move.to), Signal(), Signal()
    with m.If(go):
        m.d.sync += [to.eq(move.to), steps.eq(move.walks | move.copies)]
    m.d.comb += [
        last.eq(Mux(to[0], window.height, window.width)),
        moved.eq(~at[-1] & ~(last - at[:-1])[-1]),
    ]
    # Of the first row of a row of windows, of a kernel row; of the first column of a window.
    line, row, pixel = (Signal(name=name) for name in ("line", "row", "pixel"))
    down, across = Signal(), Signal()
    with m.Switch(to):
        with m.Case(LINE):
            m.d.comb += [down.eq(moved), across.eq(~window.left.any())]
        with m.Case(PIXEL):
            m.d.comb += [down.eq(line), across.eq(moved)]
        with m.Case(KERNEL_ROW):
            m.d.comb += [down.eq(moved), across.eq(pixel)]
        with m.Default():
            m.d.comb += [down.eq(row), across.eq(moved)]
    with m.If(go & steps):
        m.d.sync += row.eq(down)
        with m.If(to == LINE):
            m.d.sync += line.eq(moved)
        with m.If((to == LINE) | (to == PIXEL)):
            m.d.sync += pixel.eq(across)
    return down & across
