"""The job in the registers: words in memory that host and core read."""

from collections.abc import Mapping

from amaranth import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.lib.shared_module import UNINITIALISED

__all__ = ["JobWords"]

_WORDS = 32


class JobWords(wiring.Component):
    """Keeps 32 words of 32 bits in small memories, read in the same cycle.

    Memories cannot be reset: they are swept, a pair of words in a cycle, after a reset too.

    Parameters
    ----------
    masks : mapping of int to int
        What: stored bits of the words that have any.

    Members
    -------
    i_clear : In(1)
        All words become 0, while ``o_sweeps``, from the next cycle on.
    o_sweeps : Out(1)
        Words must be neither written nor read.
    write, i_address, i_strobe, i_data : In
        A word is written, byte by byte.
    i_host, o_host : In, Out
        A word's address, and the word.
    i_pair, o_pair : In, Out
        Address and contents of two words, the even one lowest.
    """

    i_clear: Signal
    o_sweeps: Signal
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
            "o_sweeps": Out(1, init=1),  # type: ignore[call-arg]
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
        sweeps, swept = self.o_sweeps, Signal(range(_WORDS // 2))
        mask = Array(C(self.masks.get(word, 0), 32) for word in range(_WORDS))[self.i_address]
        old = [Signal(32, name=f"old{half}") for half in range(2)]
        pair: list[Value] = []
        for half in range(2):
            memory: Memory[int, Value] = Memory(
                shape=32, depth=_WORDS // 2, init=[], attrs={UNINITIALISED: "1"}
            )
            m.submodules[f"half{half}"] = memory
            write = memory.write_port(granularity=8)
            host, core = (memory.read_port(domain="comb") for _ in range(2))
            here = self.write & (self.i_address[0] == half)
            m.d.comb += [
                write.addr.eq(Mux(sweeps, swept, self.i_address[1:])),
                write.data.eq(Mux(sweeps, 0, self.i_data & mask)),
                write.en.eq((self.i_strobe & here.replicate(4)) | sweeps.replicate(4)),
                host.addr.eq(self.i_host[1:]),
                core.addr.eq(self.i_pair),
                old[half].eq(host.data),
            ]
            pair.append(core.data)
        m.d.comb += [self.o_host.eq(Array(old)[self.i_host[0]]), self.o_pair.eq(Cat(pair))]
        m.d.sync += swept.eq(Mux(sweeps, swept + 1, 0))
        with m.If(self.i_clear):
            m.d.sync += sweeps.eq(1)
        with m.Elif(swept == _WORDS // 2 - 1):
            m.d.sync += sweeps.eq(0)
        return m
