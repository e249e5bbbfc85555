"""Tables of the codes of B, of the jobs that are under way."""

from amaranth import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import UNINITIALISED
from hw.soc.bus.burst import Beat

__all__ = ["Codebooks"]


class Codebooks(wiring.Component):
    """Keeps a table for each job that may be under way: none is overwritten while it is needed.

    Tables come in the order of jobs. One is read in the same cycle, whole.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the table's entries, the bus, jobs under way.

    Members
    -------
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: a table, an entry to a byte, in one word; always taken.
    i_turn : In
        Number of the job, from that of the first one on, modulo 4.
    o : Out
        Its table, the entry of code 0 lowest, of each as many bits as a number of B has; where it
        is mirrored, one less.
    """

    i: stream.Interface
    i_turn: Signal
    o: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        book = spec.inside.expander
        self.entries, self.width = book.table_bytes, spec.inside.b_width - book.mirrored
        self.word_bytes = max(spec.bytes, self.entries)
        """Bytes of the word in which a table comes."""
        super().__init__({
            "i": In(stream.Signature(Beat(8 * self.word_bytes))),
            "i_turn": In(range(spec.PARTS)),
            "o": Out(self.entries * self.width),
        })

    def elaborate(self, platform):
        m = Module()
        depth = self.spec.PARTS if self.spec.follows_ring else 1
        tables: Memory[int, Value] = Memory(
            shape=len(self.o), depth=depth, init=[], attrs={UNINITIALISED: "1"}
        )
        m.submodules.tables = tables
        write, read = tables.write_port(), tables.read_port(domain="comb")
        turn = Signal(range(self.spec.PARTS))
        entries: list[Value] = [
            self.i.payload.data.word_select(entry, 8)[: self.width] for entry in range(self.entries)
        ]
        for entry, number in enumerate(entries):
            m.d.comb += write.data.word_select(entry, self.width).eq(number)
        m.d.comb += [
            self.i.ready.eq(1),
            write.en.eq(self.i.valid),
            write.addr.eq(turn),
            read.addr.eq(self.i_turn),
            self.o.eq(read.data),
        ]
        with m.If(self.i.valid):
            m.d.sync += turn.eq(turn + 1)
        return m
