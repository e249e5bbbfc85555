"""A queue between two streams."""

from amaranth import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

__all__ = ["Queue"]


class Queue(wiring.Component):
    """Keeps up to `depth` payloads in order; what enters can leave in the next cycle.

    Parameters
    ----------
    layout : data.StructLayout
        What: the payload.
    depth : int
        How: payloads, 1 or more.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, layout: data.StructLayout, depth: int):
        self.layout = layout
        self.depth = depth
        super().__init__({
            "i": In(stream.Signature(layout)),
            "o": Out(stream.Signature(layout)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = fifo = SyncFIFO(width=self.layout.size, depth=self.depth)
        m.d.comb += [
            fifo.w_data.eq(self.i.payload.as_value()),
            fifo.w_en.eq(self.i.valid),
            self.i.ready.eq(fifo.w_rdy),
            self.o.payload.as_value().eq(fifo.r_data),
            self.o.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.o.ready),
        ]
        return m
