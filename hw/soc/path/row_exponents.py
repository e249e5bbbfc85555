"""Exponents of the blocks of a row of shares, which follow the row's codes."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec

__all__ = ["RowExponents", "flags_of", "operation_of"]


class RowExponents(wiring.Component):
    """Collects an exponent of each block of a row, and gives them as words when its codes are out.

    Throughput: a beat of codes, or a word of exponents, in each cycle. The first word is there in
    the cycle after the row's last beat.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: lanes, codes of a block, length.

    Members
    -------
    i, take, ends : In
        The exponent of a beat's block; a beat of codes leaves; it is the row's last.
    there : Out(1)
        Words are to leave, before the next row's codes.
    o, last, next : Out, Out, In
        A word of an exponent for each lane; the row has no more; it leaves.
    """

    i: Signal
    take: Signal
    ends: Signal
    there: Signal
    o: Signal
    last: Signal
    next: Signal

    def __init__(self, spec: VectorUnitSpec):
        self.spec = spec
        super().__init__({
            "i": In(8),
            **dict.fromkeys(("take", "ends", "next"), In(1)),
            **dict.fromkeys(("there", "last"), Out(1)),
            "o": Out(8 * spec.lanes),
        })

    def connect(self, m: Module, exponent: Value, take: Value, ends: Value, sent: Value) -> None:
        """Connect a beat of codes that leaves, and a word that does."""
        m.d.comb += [self.i.eq(exponent), self.take.eq(take), self.ends.eq(ends)]
        m.d.comb += self.next.eq(sent & self.there)

    def elaborate(self, platform):
        m = Module()
        lanes, beats = self.spec.lanes, self.spec.block // self.spec.lanes
        words = -(-self.spec.blocks(self.spec.length) // lanes)
        memory: Memory[int, Signal] = Memory(shape=8 * lanes, depth=words, init=[])
        m.submodules.memory = memory
        write, read = memory.write_port(), memory.read_port(domain="comb")
        # Of the block: its next beat. Of the word: the next exponent. Words that are to leave.
        beat, lane = Signal(range(beats)), Signal(range(lanes))
        word, final = Signal(range(words + 1)), Signal(range(words + 1))
        gathered, grown = Signal(8 * lanes), Signal(8 * lanes)
        begins, full, none = Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq(beat == 0),
            grown.eq(gathered),
            grown.word_select(lane, 8).eq(Mux(begins, self.i, gathered.word_select(lane, 8))),
            full.eq(begins & (lane == lanes - 1)),
            # A word that was full before this beat is the last one.
            none.eq(~begins & (lane == 0)),
            write.en.eq(self.take & (full | (self.ends & ~none))),
            write.addr.eq(word),
            write.data.eq(grown),
            read.addr.eq(word),
            self.o.eq(read.data),
            self.last.eq(word == final),
        ]
        with m.If(self.take):
            m.d.sync += [gathered.eq(grown), beat.eq(Mux(beat == beats - 1, 0, beat + 1))]
            with m.If(begins):
                m.d.sync += lane.eq(Mux(full, 0, lane + 1))
            with m.If(full):
                m.d.sync += word.eq(word + 1)
            with m.If(self.ends):
                m.d.sync += [final.eq(word - none), word.eq(0), beat.eq(0), lane.eq(0)]
                m.d.sync += self.there.eq(1)
        with m.If(self.next):
            m.d.sync += word.eq(word + 1)
            with m.If(self.last):
                m.d.sync += [word.eq(0), self.there.eq(0)]
        return m


def flags_of(spec: VectorUnitSpec) -> dict[str, int]:
    """Return what of a job's mode tells operations of one number apart."""
    return {"requantise": 1} if spec.builds(spec.SHARES) else {}


def operation_of(spec: VectorUnitSpec, mode: Any, numbers: dict[str, int]) -> Value:
    """Return the number of a job's operation in the vector unit."""
    number: Value = mode.operation - numbers["softmax"]
    if not spec.builds(spec.SHARES):
        return number
    first = spec.OPERATIONS.index("exps")
    return Mux(mode.operation == numbers["exps"], first + mode.requantise, number)
