"""Taps of a window that follow each other in memory, joined to runs."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.row_request import RowRequest

__all__ = ["Tap", "runs"]


class Tap(data.StructLayout):
    """A tap that is reached, or a row that passes.

    ``emits``: it is of the block; ``ends`` its row; ``first_x``: it is the first one of its kernel
    row, and ``row``: the others come with it; ``last``, ``final``, ``to`` and, if it ``passes``,
    ``bytes`` are the row's, see :class:`~hw.soc.schedule.row_request.RowRequest`.
    """

    def __init__(self, spec: CoprocessorSpec):
        row = RowRequest(spec)
        super().__init__({
            **dict.fromkeys(("emits", "ends", "first_x", "row", "passes"), 1),
            **{name: row[name].shape for name in ("last", "final", "to", "bytes")},
        })


def runs(
    m: Module,
    walk: Any,
    go: Signal,
    now: data.View,
    reached: data.View,
    dense: Value,
    line: Value,
) -> None:
    """Join taps to runs, two cycles later.

    Parameters
    ----------
    walk : :class:`~hw.soc.schedule.window_walk.WindowWalk`, whose ``o`` they are offered by.
    go : the walk can go on.
    now, reached : what it reaches.
    dense : taps of a kernel row follow each other in memory.
    line : bytes of a kernel row.
    """
    window, out, layout = walk.i_window, walk.o.payload, reached.shape()
    pixel = data.View(now.shape(), Signal(now.shape().size, name="place", reset_less=True))
    run = data.View(out.shape(), Signal(out.shape().size, name="run", reset_less=True))
    seen, tap = (data.View(layout, Signal(layout.size, name=name)) for name in ("seen", "joined"))
    address = Signal(len(pixel.address), reset_less=True)
    inside, some, flush = Signal(), Signal(), Signal()
    fits, offers = Signal(), Signal()
    m.d.comb += [
        fits.eq(some & (run.fill != inside) & (~inside | (dense & ~tap.first_x))),
        offers.eq(flush | (some & tap.emits & ~fits)),
        go.eq(~offers | walk.o.ready),
        walk.o.valid.eq(offers),
        out.eq(run),
    ]
    of_map = (
        ~pixel.x[-1]
        & ~pixel.y[-1]
        & (pixel.x[:-1] <= window.width)
        & (pixel.y[:-1] <= window.height)
    )
    with m.If(go):
        m.d.sync += [seen.eq(reached), tap.eq(seen), pixel.eq(now), address.eq(pixel.address)]
        m.d.sync += [inside.eq(of_map | seen.passes), flush.eq(tap.emits & tap.ends)]
        with m.If(tap.emits):
            joined = Mux(fits, run.bytes, 0) + Mux(tap.row, line, window.channels)
            m.d.sync += [
                some.eq(~tap.ends),
                run.fill.eq(~inside),
                run.joins.eq(~tap.ends),
                run.to.eq(tap.to),
                run.last.eq(tap.last),
                run.final.eq(tap.final & tap.ends),
                run.bytes.eq(Mux(tap.passes, tap.bytes, joined)),
            ]
            with m.If(~fits):
                m.d.sync += run.address.eq(address)
