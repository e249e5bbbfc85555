"""First in, first out: a queue between two streams."""

from amaranth import C, Module, Mux, Shape, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

__all__ = ["Fifo"]


class Fifo(wiring.Component):
    """Keeps a few entries in order.

    Latency, entry in to entry out: 1 cycle. Throughput: one entry per cycle. Stalls: a full queue
    takes nothing, even while an entry leaves; no path from ``o.ready`` to ``i.ready``.

    Parameters
    ----------
    shape : ShapeLike
        What: of an entry.
    depth : int
        What: entries. They are read asynchronously, thus kept in lookup tables or registers. 0:
        there is no queue, ``o`` is ``i``, without latency.
    registered : bool
        How: the oldest entry is in registers, so that it leaves early in its cycle; `depth` is 2 or
        more.

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

    def __init__(self, shape: ShapeLike, depth: int, *, registered: bool = False):
        self.shape = shape
        self.depth = depth
        self.registered = registered
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
        if self.registered:
            self._register(m)
            return m
        m.submodules.queue = queue = Module()
        storage: Memory[int, Value] = Memory(
            shape=Shape.cast(self.shape).width, depth=self.depth, init=[]
        )
        queue.submodules.storage = storage
        write, read = storage.write_port(), storage.read_port(domain="comb")
        # What the level says to both ends, known a cycle before.
        some, full = Signal(), Signal()
        produce, consume = (Signal(range(self.depth), name=name) for name in ("produce", "consume"))
        writes, reads = self.i.valid & self.i.ready, self.o.valid & self.o.ready
        m.d.comb += [
            self.i.ready.eq(~full),
            self.o.valid.eq(some),
            Value.cast(self.o.payload).eq(read.data),
            read.addr.eq(consume),
            write.addr.eq(produce),
            write.data.eq(self.i.payload),
            write.en.eq(writes),
        ]
        if self.depth > 2:
            level = Signal.like(self.o_level, name="level")
            m.d.comb += self.o_level.eq(level)
            # One adder for both ways.
            with queue.If(writes != reads):
                queue.d.sync += [
                    level.eq(level + Mux(reads, -1, 1)),
                    some.eq(~reads | (level != 1)),
                    full.eq(~reads & (level == self.depth - 1)),
                ]
        else:
            # Both say all of the level: from a stall, which is late, there is one table to each.
            second = full if self.depth == 2 else C(0, 1)
            m.d.comb += self.o_level.eq(some + second)
            queue.d.sync += some.eq(Mux(reads, second | writes, some | writes))
            if self.depth == 2:
                queue.d.sync += full.eq(~reads & (full | (some & writes)))
            else:
                m.d.comb += full.eq(some)
        for place, moves in ((produce, writes), (consume, reads)):
            if self.depth == 2:
                queue.d.sync += place.eq(place ^ moves)
                continue
            with queue.If(moves):
                queue.d.sync += place.eq(place + 1)
                if self.depth != 1 << len(place):
                    with queue.If(place == self.depth - 1):
                        queue.d.sync += place.eq(0)
        return m

    def _register(self, m: Module) -> None:
        """Keep the oldest entry in registers, and the others in a queue; the first passes it by."""
        m.submodules.others = others = Fifo(self.shape, self.depth - 1)
        leaves = ~self.o.valid | self.o.ready
        m.d.comb += [
            self.i.ready.eq(others.i.ready),
            others.i.valid.eq(self.i.valid & ~(leaves & ~others.o.valid)),
            others.i.payload.eq(self.i.payload),
            others.o.ready.eq(leaves),
            self.o_level.eq(others.o_level + self.o.valid),
        ]
        with m.If(leaves):
            m.d.sync += [
                self.o.valid.eq(others.o.valid | self.i.valid),
                self.o.payload.eq(Mux(others.o.valid, others.o.payload, self.i.payload)),
            ]
