"""The job in the registers: words in memory that host and core read."""

from collections.abc import Mapping

from amaranth import Array, C, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.lib.shared_module import UNINITIALISED

__all__ = ["JobWords"]

_WORDS = 32


class JobWords(wiring.Component):
    """Keeps 32 words of 32 bits in small memories, read in the same cycle.

    Memories cannot be reset: a flag for each word tells whether it has been written since.

    Parameters
    ----------
    masks : mapping of int to int
        What: stored bits of the words that have any.

    Members
    -------
    i_clear : In(1)
        All words become 0.
    write, i_address, i_strobe, i_data : In
        A word is written, byte by byte.
    i_host, o_host : In, Out
        A word's address, and the word.
    i_pair, o_pair : In, Out
        Address and contents of two words, the even one lowest.
    """

    i_clear: Signal
    write: Signal
    i_address: Signal
    i_strobe: Signal
    i_data: Signal
    i_host: Signal
    o_host: Signal
    i_pair: Signal
    o_pair: Signal

    def __init__(self, masks: Mapping[int, int]):
        self.masks = dict(masks)
        super().__init__({
            "i_clear": In(1),
            "write": In(1),
            "i_address": In(range(_WORDS)),
            "i_strobe": In(4),
            "i_data": In(32),
            "i_host": In(range(_WORDS)),
            "o_host": Out(32),
            "i_pair": In(range(_WORDS // 2)),
            "o_pair": Out(64),
        })

    def elaborate(self, platform):
        m = Module()
        known = Signal(_WORDS)
        mask = Array(C(self.masks.get(word, 0), 32) for word in range(_WORDS))[self.i_address]
        strobes = Cat(strobe.replicate(8) for strobe in self.i_strobe)
        fresh, old = Signal(), [Signal(32, name=f"old{half}") for half in range(2)]
        m.d.comb += fresh.eq(~known.bit_select(self.i_address, 1))
        pair: list[Value] = []
        for half in range(2):
            memory: Memory[int, Value] = Memory(
                shape=32, depth=_WORDS // 2, init=[], attrs={UNINITIALISED: "1"}
            )
            m.submodules[f"half{half}"] = memory
            write = memory.write_port(granularity=8)
            host, core = (memory.read_port(domain="comb") for _ in range(2))
            here = self.write & (self.i_address[0] == half)
            # The first write of a word writes its other bytes too.
            m.d.comb += [
                write.addr.eq(self.i_address[1:]),
                write.data.eq(self.i_data & mask & strobes),
                write.en.eq((self.i_strobe | fresh.replicate(4)) & here.replicate(4)),
                host.addr.eq(self.i_host[1:]),
                core.addr.eq(self.i_pair),
                old[half].eq(host.data),
            ]
            flag = known.bit_select(Cat(C(half, 1), self.i_pair), 1)
            pair.append(core.data & flag.replicate(32))
        there = known.bit_select(self.i_host, 1)
        m.d.comb += [
            self.o_host.eq(Array(old)[self.i_host[0]] & there.replicate(32)),
            self.o_pair.eq(Cat(pair)),
        ]
        with m.If(self.i_clear):
            m.d.sync += known.eq(0)
        with m.Elif(self.write):
            m.d.sync += known.bit_select(self.i_address, 1).eq(1)
        return m
