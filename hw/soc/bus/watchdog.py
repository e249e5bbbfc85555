"""Watchdog: tells that something has been waited for for too long."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Watchdog"]


class Watchdog(wiring.Component):
    """Counts cycles of waiting in a row.

    Latency: from the last of :attr:`cycles` cycles of waiting to ``o``: 2 cycles.

    Parameters
    ----------
    cycles : int
        What: cycles of waiting that are too many, 1 or more.

    Members
    -------
    i : In(1)
        Something is waited for, and does not come.
    o : Out(1)
        So it has been for so many cycles; until it comes, and low from the cycle after that.
    """

    i: Signal
    o: Signal

    def __init__(self, cycles: int):
        self.cycles = cycles
        super().__init__({"i": In(1), "o": Out(1)})

    def elaborate(self, platform):
        m = Module()
        # Counted up to the next power of two: one bit tells the end.
        high = (self.cycles - 1).bit_length()
        count = Signal(high + 1, init=(1 << high) - self.cycles)
        waits = Signal()
        m.d.sync += waits.eq(self.i)
        m.d.comb += self.o.eq(count[-1] & waits)
        with m.If(~waits):
            m.d.sync += count.eq(count.init)
        with m.Elif(~count[-1]):
            m.d.sync += count.eq(count + 1)
        return m
