"""A queue of rows before a bus master, where the stalls of the bus end."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.bus import BusSpec
from hw.lib.fifo import Fifo
from hw.soc.bus.burst import Row

__all__ = ["RowQueue"]


class RowQueue(wiring.Component):
    """Holds two rows, each with a mark.

    Latency: 1 cycle. Throughput: one row per cycle. Stalls: none of ``o`` reaches ``i``.

    Parameters
    ----------
    spec : BusSpec
        What: the bus.

    Members
    -------
    i, i_mark : In(stream), In(1)
        :class:`hw.soc.bus.burst.Row`.
    o, o_mark : Out(stream), Out(1)
        The same.
    """

    i: stream.Interface
    i_mark: Signal
    o: stream.Interface
    o_mark: Signal

    def __init__(self, spec: BusSpec):
        self.spec = spec
        super().__init__({
            "i": In(stream.Signature(Row(spec))),
            "i_mark": In(1),
            "o": Out(stream.Signature(Row(spec))),
            "o_mark": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        shape = data.StructLayout({"row": Row(self.spec), "mark": 1})
        m.submodules.queue = queue = Fifo(shape, 2)
        m.d.comb += [
            queue.i.valid.eq(self.i.valid),
            queue.i.payload.row.eq(self.i.payload),
            queue.i.payload.mark.eq(self.i_mark),
            self.i.ready.eq(queue.i.ready),
            self.o.valid.eq(queue.o.valid),
            self.o.payload.eq(queue.o.payload.row),
            self.o_mark.eq(queue.o.payload.mark),
            queue.o.ready.eq(self.o.ready),
        ]
        return m
