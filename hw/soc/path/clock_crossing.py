"""What goes between two clocks of one source, one of them twice as fast as the other.

Edges of the slow clock are edges of the fast one, too. So a register of either may take one of the
other as it is, if the way between them takes less than a cycle of the fast clock: there is nothing
to be synchronised, and all takes the same cycles each time. There is no logic on such ways, but for
memory that is read. Neither part here needs to know which of its clocks is the fast one, nor which
half of a slow cycle it is.
"""

from typing import NamedTuple

from amaranth import Module, Mux, Shape, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec

__all__ = ["FAST", "SLOW", "ClockPair", "ClockPulses", "ClockQueue", "ClockTotal", "clears"]

SLOW, FAST = "sync", "fast"
"""Names of the domains."""


class ClockPair(NamedTuple):
    """Domains of what comes in, and of what goes out."""

    source: str
    target: str


class ClockQueue(wiring.Component):
    """Queue whose entries come by one clock and leave by the other.

    Latency, entry in to entry out: a cycle of the clock that it comes by, and two of the other one.
    Throughput: one entry per cycle of the slower one. Stalls: no path from ``o.ready`` to
    ``i.ready``, nor from ``i.valid`` to ``o.valid``.

    Parameters
    ----------
    shape : ShapeLike
        What: of an entry.
    depth : int
        What: entries, a power of two, of at least 4. The count of those that have left is late:
        fewer than 8 are not enough for an entry in each cycle of the slower clock. They are read
        asynchronously, thus kept in lookup tables or registers.
    clocks : ClockPair
        What: domains of ``i`` and of ``o``.

    Members
    -------
    i, o : In(stream), Out(stream)
        Entries.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, depth: int, clocks: ClockPair):
        if depth < 4 or depth.bit_count() != 1:
            raise ValueError(f"depth must be a power of two of 4 or more, not {depth}")
        self.shape = shape
        self.depth = depth
        self.clocks = clocks
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        source, target = (m.d[name] for name in self.clocks)
        storage: Memory[int, Value] = Memory(
            shape=Shape.cast(self.shape).width, depth=self.depth, init=[]
        )
        m.submodules.storage = storage
        write = storage.write_port(domain=self.clocks.source)
        read = storage.read_port(domain="comb")
        # Of all that came and left, modulo twice the depth; each as it is, and as the other side
        # knows it, where it is never ahead of what there is.
        came, left, known, gone = (
            Signal(range(2 * self.depth), name=name) for name in ("came", "left", "known", "gone")
        )
        full, takes = Signal(), Signal()
        held = (came - gone)[: len(came)]
        # One that comes now is not counted yet.
        source += [
            gone.eq(left),
            came.eq(came + write.en),
            full.eq(held >= self.depth - 1),
        ]
        # Whether there is another one is known before it is known whether one leaves.
        target += [
            known.eq(came),
            left.eq(left + takes),
            self.o.valid.eq(Mux(takes, known != (left + 1)[: len(left)], known != left)),
        ]
        m.d.comb += [
            self.i.ready.eq(~full),
            write.en.eq(self.i.valid & ~full),
            write.addr.eq(came[:-1]),
            write.data.eq(self.i.payload),
            takes.eq(self.o.valid & self.o.ready),
            read.addr.eq(left[:-1]),
            Value.cast(self.o.payload).eq(read.data),
        ]
        return m


class ClockPulses(wiring.Component):
    """Gives each pulse of one clock again, as a pulse of the other.

    Latency: a cycle of the clock that it comes by, and one of the other one; a pulse of a slower
    clock waits for those before it.

    Parameters
    ----------
    most : int
        What: pulses that wait at most, of those that come by the faster clock; of others, 1.
    clocks : ClockPair
        What: domains of ``i`` and of ``o``.

    Members
    -------
    i, o : In(1), Out(1)
        Pulses; of two cycles, two.
    """

    i: Signal
    o: Signal

    def __init__(self, most: int, clocks: ClockPair):
        self.most = most
        self.clocks = clocks
        super().__init__({"i": In(1), "o": Out(1)})

    def elaborate(self, platform):
        m = Module()
        came, known, given = (
            Signal(range(self.most + 1), name=name) for name in ("came", "known", "given")
        )
        m.d[self.clocks.source] += came.eq(came + self.i)
        m.d[self.clocks.target] += [known.eq(came), given.eq(given + self.o)]
        m.d.comb += self.o.eq(known != given)
        return m


class ClockTotal(wiring.Component):
    """Adds up numbers of cycles of the fast clock, for each cycle of the slow one.

    Latency: a cycle of each clock.

    Parameters
    ----------
    most : int
        What: of a number.

    Members
    -------
    i : In
        Number, each cycle of the domain ``fast``.
    o : Out
        Sum of two of them, in the domain ``sync``.
    """

    i: Signal
    o: Signal

    def __init__(self, most: int):
        super().__init__({"i": In(range(most + 1)), "o": Out(range(2 * most + 1))})

    def elaborate(self, platform):
        m = Module()
        total, seen = Signal.like(self.o, name="total"), Signal.like(self.o, name="seen")
        m.d[FAST] += total.eq(total + self.i)
        m.d[SLOW] += seen.eq(total)
        # Modulo a power of two that is more than the sum.
        m.d.comb += self.o.eq(total - seen)
        return m


def clears(m: Module, spec: CoprocessorSpec, clear: Signal) -> dict[str, Value]:
    """Return the resets of what works by both clocks, by domain, of a register of the slow one.

    Both sides leave their reset at the same edge of the slow clock: at the fast side a register is
    between, which is a cycle of the fast clock late.
    """
    if spec.array_clock == 1:
        return {SLOW: clear}
    fast = Signal(init=1, name="clear_fast")
    m.d[FAST] += fast.eq(clear)
    return {SLOW: clear, FAST: fast}
