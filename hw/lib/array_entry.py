"""Entry of an array: beats from a stream, bubbles in between, and the start of each sum."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ArrayEntry"]


class ArrayEntry(wiring.Component):
    """Decides each cycle whether a beat or a bubble enters the array.

    A bubble is a zero operand, which changes no sum; so an array needs no valid bits inside and
    never stalls for operands. ``clear`` accompanies the first beat after a ``last``, or a bubble if
    no beat is there yet, and pushes the finished sums out. After reset one such bubble flushes the
    array, and beats wait until it is gone.

    Parameters
    ----------
    spacing : int
        How: minimum cycles between two ``finish``, 1 or more: the time the array needs to drain.
    idle : bool
        What: no beat enters until the array has drained.

    Members
    -------
    move : In(1)
        Clock enable of the array; while it is low, nothing happens.
    valid, last : In(1)
        A beat is offered; it is the last one of its sums.
    accept : Out(1)
        The beat enters the array in this cycle.
    clear : Out(1)
        New sums start with the operands of this cycle.
    finish : Out(1)
        ``clear``, and the sums that end here are results.
    """

    move: In(1)
    valid: In(1)
    last: In(1)
    accept: Out(1)
    clear: Out(1)
    finish: Out(1)

    def __init__(self, spacing: int = 1, *, idle: bool = False):
        self.spacing = spacing
        self.idle = idle
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        owed = Signal(init=1)
        clean = Signal()
        wait = Signal(range(self.spacing))
        drained = Signal()

        # A beat enters the array one cycle after the last sum began to leave, or later.
        free = ~owed & (wait < 2) if self.idle else ~owed | drained
        m.d.comb += [
            drained.eq(wait == 0),
            self.clear.eq(owed & drained),
            self.finish.eq(self.clear & clean),
            self.accept.eq(self.move & self.valid & clean & free),
        ]
        with m.If(self.move):
            with m.If(self.clear):
                m.d.sync += [owed.eq(0), wait.eq(self.spacing - 1)]
            with m.Elif(~drained):
                m.d.sync += wait.eq(wait - 1)
            with m.If(self.clear if self.spacing == 1 else wait == 1):
                m.d.sync += clean.eq(1)
            with m.If(self.accept & self.last):
                m.d.sync += owed.eq(1)
        return m
