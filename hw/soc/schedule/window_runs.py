"""Taps of a window that follow each other in memory, joined to runs."""

from typing import Any, NamedTuple, Self

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data

from hw.soc.schedule.destination import Destination

__all__ = ["Taps", "runs"]


class Taps(NamedTuple):
    """A tap that is reached.

    Members
    -------
    emits : it is of the block.
    ends : it ends its row.
    first_x : it is the first one of its kernel row.
    last, final : of the row, see :class:`~hw.soc.schedule.row_request.RowRequest`.
    """

    emits: Signal
    ends: Signal
    first_x: Signal
    last: Signal
    final: Signal

    @classmethod
    def make(cls, prefix: str = "tap") -> Self:
        """Make the signals."""
        return cls(*(Signal(name=f"{prefix}_{name}") for name in cls._fields))


def runs(m: Module, walk: Any, go: Signal, now: data.View, taps: Taps) -> Value:
    """Join taps to runs, two cycles later; return that none is under way.

    Parameters
    ----------
    walk : :class:`~hw.soc.schedule.window_walk.WindowWalk`, whose ``o`` they are offered by.
    go : the walk can go on.
    now, taps : what it reaches.
    """
    window, out = walk.i_window, walk.o.payload
    place = data.View(now.shape(), Signal(now.shape().size, name="place", reset_less=True))
    run = data.View(out.shape(), Signal(out.shape().size, name="run", reset_less=True))
    seen, tap = Taps.make("seen"), Taps.make("joined")
    address = Signal(len(place.address), reset_less=True)
    inside, some, flush = Signal(), Signal(), Signal()
    fits, dense, offers = Signal(), Signal(), Signal()
    m.d.sync += dense.eq((window.dx == 1) & (walk.i_pixel == window.channels))
    m.d.comb += [
        fits.eq(some & (run.fill != inside) & (~inside | (dense & ~tap.first_x))),
        offers.eq(flush | (some & tap.emits & ~fits)),
        go.eq(~offers | walk.o.ready),
        walk.o.valid.eq(offers),
        out.eq(run),
    ]
    with m.If(go):
        m.d.sync += [one.eq(other) for one, other in zip(seen, taps, strict=True)]
        m.d.sync += [one.eq(other) for one, other in zip(tap, seen, strict=True)]
        m.d.sync += [
            place.eq(now),
            address.eq(place.address),
            inside.eq(
                ~place.x[-1]
                & ~place.y[-1]
                & (place.x[:-1] <= window.width)
                & (place.y[:-1] <= window.height)
            ),
            flush.eq(tap.emits & tap.ends),
        ]
        with m.If(tap.emits):
            m.d.sync += [
                some.eq(~tap.ends),
                run.fill.eq(~inside),
                run.joins.eq(~tap.ends),
                run.to.eq(Destination.A),
                run.last.eq(tap.last),
                run.final.eq(tap.final & tap.ends),
                run.bytes.eq(Mux(fits, run.bytes, 0) + window.channels),
            ]
            with m.If(~fits):
                m.d.sync += run.address.eq(address)
    return ~taps.emits & ~seen.emits & ~tap.emits & ~some & ~flush
