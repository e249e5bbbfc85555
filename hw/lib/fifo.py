"""A small FIFO, with a typed payload."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["Fifo"]


class Fifo(wiring.Component):
    """Holds a few entries in order; its depth limits how many transactions are in flight.

    Latency, entry in to entry out: 1 cycle. Throughput: one entry per cycle. Stalls: a full FIFO
    takes nothing, even while an entry leaves; no path from ``o.ready`` to ``i.ready``.

    Parameters
    ----------
    shape : ShapeLike
        What: an entry.
    depth : int
        What: entries, 1 or more. They are read asynchronously, so they are in LUT RAM or
        registers.

    Members
    -------
    i, o : In(stream), Out(stream)
        Entries.
    o_level : Out
        Entries held, 0 .. `depth`.
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
        memory: Memory[Any, Any] = Memory(shape=self.shape, depth=self.depth, init=[])
        m.submodules.memory = memory
        write, read = memory.write_port(), memory.read_port(domain="comb")
        head, tail = Signal(range(self.depth)), Signal(range(self.depth))
        put, take = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(self.o_level != self.depth),
            self.o.valid.eq(self.o_level != 0),
            put.eq(self.i.valid & self.i.ready),
            take.eq(self.o.valid & self.o.ready),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            write.en.eq(put),
            read.addr.eq(head),
            self.o.payload.eq(read.data),
        ]
        m.d.sync += self.o_level.eq(self.o_level + put - take)
        with m.If(put):
            m.d.sync += tail.eq(self._after(tail))
        with m.If(take):
            m.d.sync += head.eq(self._after(head))
        return m

    def _after(self, pointer: Value) -> Value:
        """Move a pointer on by one entry."""
        return Mux(pointer == self.depth - 1, 0, pointer + 1)
