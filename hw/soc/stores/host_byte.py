"""A host's byte on its way to memory: refused where there is none, given up without an answer."""

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.soc.bus import BusSpec
from hw.soc.bus.watchdog import Watchdog
from hw.soc.stores.byte_access import UNSTARTED, ByteAccess

__all__ = ["HostByte"]

_BEYOND, _SILENT = 3, 1
"""Errors of :class:`hw.soc.stores.byte_access.ByteAccess`."""


class HostByte(wiring.Component):
    """Asks memory for a host's byte, and ends the access even if memory does not.

    If memory does not move for `spec.patience` cycles in which it is to, a byte is given up, and so
    are those after it, each at once, up to its next move. What memory is asked for stays so, and
    its late answer is dropped; only then the next byte is asked for.

    Latency, answer to ``done``: 1 cycle.

    Parameters
    ----------
    spec : BusSpec
        What: how long memory may take.
    size : int
        What: bytes of the memory, a power of two.

    Members
    -------
    host : In(ByteAccess)
        Single bytes.
    i_started : In(1)
        Memory has started; before, a byte is refused.
    o_read, o_write : Out(1)
        The byte is to be read, is to be written; until ``i_answer``.
    o_place, o_data : Out
        Its address and what is written, from the next cycle on; as long as memory is asked.
    i_busy : In(1)
        Memory is asked for it.
    i_answer, i_read, i_error : In(1), In(8), In(1)
        Memory answers: the byte, if it was read; with an error.
    i_owed, i_moves : In(1)
        Memory is to take or to give something, and does not; anything moves on its bus.
    """

    host: Any
    i_started: Signal
    o_read: Signal
    o_write: Signal
    o_place: Signal
    o_data: Signal
    i_busy: Signal
    i_answer: Signal
    i_read: Signal
    i_error: Signal
    i_owed: Signal
    i_moves: Signal

    def __init__(self, spec: BusSpec, size: int):
        self.spec = spec
        super().__init__({
            "host": In(ByteAccess()),
            "i_started": In(1, init=1),  # type: ignore[call-arg]
            "o_read": Out(1),
            "o_write": Out(1),
            "o_place": Out((size - 1).bit_length()),
            "o_data": Out(8),
            "i_busy": In(1),
            "i_answer": In(1),
            "i_read": In(8),
            "i_error": In(1),
            "i_owed": In(1),
            "i_moves": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        host, asks, far, near = self.host, Signal(), Signal(), Signal()
        late, gone, ends, refused = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            asks.eq(host.request & ~host.done),
            far.eq(host.address[len(self.o_place) :] != 0),
            refused.eq(asks & (far | ~self.i_started)),
            near.eq(asks & ~refused & ~late & ~gone),
            self.o_read.eq(near & ~host.write),
            self.o_write.eq(near & host.write),
            host.done.eq(ends),
        ]
        m.d.sync += ends.eq(refused)
        with m.If(refused):
            m.d.sync += host.error.eq(Mux(far, _BEYOND, UNSTARTED))
        with m.If(near):
            m.d.sync += [self.o_place.eq(host.address), self.o_data.eq(host.data)]
        if self.spec.patience:
            m.submodules.watchdog = watchdog = Watchdog(self.spec.patience)
            m.d.comb += [watchdog.i.eq(self.i_owed & ~self.i_moves), late.eq(watchdog.o)]
            with m.If(asks & ~refused & late):
                m.d.sync += [ends.eq(1), host.error.eq(_SILENT), gone.eq(self.i_busy)]
        with m.If(self.i_answer):
            m.d.sync += gone.eq(0)
            with m.If(~gone):
                m.d.sync += [
                    ends.eq(1),
                    host.read.eq(self.i_read),
                    host.error.eq(self.i_error.replicate(2)),
                ]
        return m
