"""First in, first out: a queue between two streams."""

from amaranth import Module, Shape, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

__all__ = ["Fifo"]


class Fifo(wiring.Component):
    """Keeps a few entries in order, in Amaranth's queue.

    Latency, entry in to entry out: 1 cycle. Throughput: one entry per cycle. Stalls: a full queue
    takes nothing, even while an entry leaves; no path from ``o.ready`` to ``i.ready``.

    Parameters
    ----------
    shape : ShapeLike
        What: of an entry.
    depth : int
        What: entries. They are read asynchronously, thus kept in lookup tables or registers. 0:
        there is no queue, ``o`` is ``i``, without latency.

    Members
    -------
    i, o : In(stream), Out(stream)
        Entries.
    o_level : Out
        Number of entries held, 0 .. `depth`.

    Examples
    --------
    >>> from amaranth.sim import Simulator
    >>> fifo, left = Fifo(8, 2), []
    >>> async def bench(ctx):
    ...     for number in (7, 11):
    ...         ctx.set(fifo.i.payload, number)
    ...         ctx.set(fifo.i.valid, 1)
    ...         await ctx.tick()
    ...     ctx.set(fifo.i.valid, 0)
    ...     ctx.set(fifo.o.ready, 1)
    ...     while ctx.get(fifo.o.valid):
    ...         left.append(ctx.get(fifo.o.payload))
    ...         await ctx.tick()
    >>> simulator = Simulator(fifo)
    >>> simulator.add_clock(1e-9)
    >>> simulator.add_testbench(bench)
    >>> simulator.run()
    >>> left
    [7, 11]
    """

    i: stream.Interface
    o: stream.Interface
    o_level: Signal

    def __init__(self, shape: ShapeLike, depth: int):
        self.shape = shape
        self.depth = depth
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
            "o_level": Out(range(depth + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        if not self.depth:
            connect(m, flipped(self.i), flipped(self.o))
            return m
        width = Shape.cast(self.shape).width
        m.submodules.queue = queue = SyncFIFO(width=width, depth=self.depth)
        m.d.comb += [
            queue.w_data.eq(self.i.payload),
            queue.w_en.eq(self.i.valid),
            # Of a power of two, full is the highest bit of the level.
            self.i.ready.eq(queue.w_rdy if self.depth & (self.depth - 1) else ~queue.w_level[-1]),
            Value.cast(self.o.payload).eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
            self.o_level.eq(queue.w_level),
        ]
        return m
