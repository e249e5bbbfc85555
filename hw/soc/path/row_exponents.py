"""Exponents of the blocks of a row of shares, or octaves, which follow the row's codes."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec
from golden.soc.spec import CoprocessorSpec
from hw.soc.path.row_octaves import RowOctaves
from hw.soc.registers.rdl import number_width

__all__ = ["ModeLayout", "RowExponents", "operation_of"]


class RowExponents(wiring.Component):
    """Collects an exponent of each block of a row, and gives them as words when its codes are out.

    Where products take shares, words are of octaves: :func:`golden.soc.shares.octaves`.
    Throughput: a beat of codes, or a word of exponents, in each cycle. The first word is there in
    the cycle after the row's last beat; of octaves, :data:`hw.soc.path.row_octaves.LATENCY` later.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: lanes, codes of a block, length.
    shares : bool
        What: octaves, not exponents.

    Members
    -------
    i, i_codes, take, ends : In
        The exponent of a beat's block; its codes; a beat of codes leaves; it is the row's last.
    there, valid : Out(1), Out(1)
        Words are to leave, before the next row's codes; there is one.
    o, last, next : Out, Out, In
        A word of an exponent for each lane; the row has no more; it leaves.
    """

    i: Signal
    i_codes: Signal
    take: Signal
    ends: Signal
    there: Signal
    valid: Signal
    o: Signal
    last: Signal
    next: Signal

    def __init__(self, spec: VectorUnitSpec, *, shares: bool = False):
        self.spec = spec
        self.octaves = RowOctaves(spec) if shares else None
        super().__init__({
            "i": In(8),
            **({"i_codes": In(spec.lanes * spec.out_width), "valid": Out(1)} if shares else {}),
            **dict.fromkeys(("take", "ends", "next"), In(1)),
            **dict.fromkeys(("there", "last"), Out(1)),
            "o": Out(8 * spec.lanes),
        })

    def connect(self, m: Module, beat: Any, take: Value, ends: Value, sent: Value) -> Value:
        """Connect a beat of codes that leaves, and a word that does; return whether there is any.

        Parameters
        ----------
        m : where.
        beat : :class:`~hw.npe.activations.row_beats.CodeBeat`, as a stream.
        take, ends : it leaves; it is the row's last.
        sent : it, or a word, leaves.
        """
        m.d.comb += [self.i.eq(beat.payload.exponent), self.take.eq(take), self.ends.eq(ends)]
        m.d.comb += self.next.eq(sent & self.there)
        if self.octaves is None:
            some: Value = beat.valid | self.there
            return some
        m.d.comb += self.i_codes.eq(beat.payload.data)
        return Mux(self.there, self.valid, beat.valid)

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
            self.o.eq(read.data if self.octaves is None else self._octaves(m, read.data)),
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

    def _octaves(self, m: Module, exponents: Value) -> Value:
        """Return octaves of a word of exponents."""
        assert self.octaves is not None
        m.submodules.octaves = octaves = self.octaves
        m.d.comb += [
            octaves.i.eq(self.i),
            octaves.i_codes.eq(self.i_codes),
            octaves.take.eq(self.take),
            octaves.ends.eq(self.ends),
            octaves.i_word.eq(exponents),
            self.valid.eq(octaves.valid),
        ]
        word: Value = octaves.o
        return word


class ModeLayout(data.StructLayout):
    """What of a job's mode vector jobs look at: ``requantise`` tells shares from divisions.

    ``operation`` has the bits of numbers of vector jobs of the build; ``wide`` codes two bytes.
    """

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        flags = {"requantise": 1} if spec.vector.builds(spec.vector.SHARES) else {}
        super().__init__({"operation": number_width(spec.vector_jobs), "wide": 1, **flags})


def operation_of(spec: VectorUnitSpec, mode: Any, numbers: dict[str, int]) -> Value:
    """Return the number of a job's operation in the vector unit."""
    number: Value = mode.operation - numbers["softmax"]
    if spec.builds(["sigmoid"]):
        sigmoid = mode.operation == numbers["sigmoid"]
        number = Mux(sigmoid, spec.OPERATIONS.index("sigmoid"), number)
    if not spec.builds(spec.SHARES):
        return number
    first = spec.OPERATIONS.index("exps")
    return Mux(mode.operation == numbers["exps"], first + mode.requantise, number)
