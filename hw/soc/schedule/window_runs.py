"""Taps of a window that follow each other in memory, joined to runs."""

from typing import Any, NamedTuple

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data

from hw.soc.schedule.destination import Destination

__all__ = ["Taps", "runs"]


class Taps(NamedTuple):
    """A tap that is reached: its place; whether it counts, ends its row, begins a kernel row."""

    place: data.View
    emits: Value
    ends: Value
    first_x: Value


def runs(m: Module, walk: Any, go: Signal, taps: Taps) -> Value:
    """Join taps to runs, a cycle later; return that none is under way.

    Parameters
    ----------
    walk : :class:`~hw.soc.schedule.window_walk.WindowWalk`, whose ``o`` they are offered by.
    go : the walk can go on.
    taps : what it reaches.
    """
    window, row, out, now = walk.i_window, walk.i.payload, walk.o.payload, taps.place
    tap = data.View(now.shape(), Signal(now.shape().size, name="tap", reset_less=True))
    run = data.View(out.shape(), Signal(out.shape().size, name="run", reset_less=True))
    valid, some, flush = Signal(), Signal(), Signal()
    new_row, end, last, final = (
        Signal(name=name, reset_less=True) for name in ("new_row", "end", "last", "final")
    )
    inside, fits, dense, offers = Signal(), Signal(), Signal(), Signal()
    m.d.sync += dense.eq((window.dx == 1) & (walk.i_pixel == window.channels))
    m.d.comb += [
        inside.eq(
            ~tap.x[-1] & ~tap.y[-1]
            & (tap.x[:-1] <= window.width) & (tap.y[:-1] <= window.height)
        ),
        fits.eq(some & (run.fill != inside) & (~inside | (dense & ~new_row))),
        offers.eq(flush | (some & valid & ~fits)),
        go.eq(~offers | walk.o.ready),
    ]  # fmt: skip
    with m.If(go):
        m.d.sync += [
            valid.eq(taps.emits),
            tap.eq(now),
            new_row.eq(taps.first_x),
            end.eq(taps.ends),
            last.eq(row.last),
            final.eq(row.final),
            flush.eq(valid & end),
        ]
        with m.If(valid):
            m.d.sync += [
                some.eq(~end),
                run.fill.eq(~inside),
                run.joins.eq(~end),
                run.to.eq(Destination.A),
                run.last.eq(last),
                run.final.eq(final & end),
                run.bytes.eq(Mux(fits, run.bytes, 0) + window.channels),
            ]
            with m.If(~fits):
                m.d.sync += run.address.eq(tap.address)
    m.d.comb += [walk.o.valid.eq(offers), out.eq(run)]
    return ~valid & ~some & ~flush
