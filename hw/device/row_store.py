"""Memory of one column's sums: what leaves an array waits here for the other columns."""

from amaranth import Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.lib.shared_module import UNINITIALISED, SharedModule

__all__ = ["RowStore"]


class RowStore(SharedModule):
    """Holds words that are written at one place and read at another, two cycles later.

    Parameters
    ----------
    width, depth : int
        How: bits and number of words.

    Members
    -------
    i_write : In(1)
        ``i`` is written to ``i_address``.
    i_address, i : In
        Address and word.
    i_read : In(2)
        Enables of the two registers between the word that is read and ``o``.
    i_from : In
        Address that is read; it is never written in the same cycle.
    o : Out
        The word.
    """

    module = "row_store"

    i_write: Signal
    i_address: Signal
    i: Signal
    i_read: Signal
    i_from: Signal
    o: Signal

    def __init__(self, width: int, depth: int):
        self.width = width
        self.depth = depth
        super().__init__({
            "i_write": In(1),
            "i_address": In(range(depth)),
            "i": In(width),
            "i_read": In(2),
            "i_from": In(range(depth)),
            "o": Out(width),
        })

    def elaborate(self, platform):
        m = Module()
        words: Memory = Memory(
            shape=self.width, depth=self.depth, init=[], attrs={UNINITIALISED: "1"}
        )
        m.submodules.words = words
        write, read = words.write_port(), words.read_port(domain="sync")
        m.d.comb += [
            write.en.eq(self.i_write),
            write.addr.eq(self.i_address),
            write.data.eq(self.i),
            read.en.eq(self.i_read[0]),
            read.addr.eq(self.i_from),
        ]
        out = Signal(self.width, reset_less=True)
        with m.If(self.i_read[1]):
            m.d.sync += out.eq(read.data)
        m.d.comb += self.o.eq(out)
        return m
