"""Operand stores: rows of words, one bank for each row that a beat reads at once."""

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.lib.shared_module import NO_COLLISION, UNINITIALISED, SharedModule
from hw.soc.bus.burst import Beat

__all__ = ["Bank", "OperandStore"]


class Bank(SharedModule):
    """Block RAM: one word written and one word read per cycle.

    It has no initial contents: no result may depend on an unwritten word, nor on one that is read
    in the cycle in which it is written: there is no logic around block RAM that has no old one.

    Parameters
    ----------
    name : str
        What: of the module.
    width, depth : int
        What: bits of a word, and words.
    slices : int
        What: slices of a word, a power of two, of which one is read; the lowest bits of
        ``o_address`` are its number.
    reads : str
        How: domain in which words are read.

    Members
    -------
    write, i_address, i : In
        A word is written.
    en, o_address : In
        A word, or a slice, is read.
    o : Out
        What was read with the last ``en``.
    """

    write: Signal
    i_address: Signal
    i: Signal
    en: Signal
    o_address: Signal
    o: Signal

    def __init__(
        self,
        name: str,
        width: int,
        depth: int,
        *,
        slices: int = 1,
        reads: str = "sync",
    ):
        self.module = name
        self.reads = reads
        self.domains = tuple(dict.fromkeys(("sync", reads)))
        self.slices = slices
        self.width = width
        self.depth = depth
        super().__init__({
            "write": In(1),
            "i_address": In(range(depth)),
            "i": In(width),
            "en": In(1),
            "o_address": In(range(depth * slices)),
            "o": Out(width // slices),
        })

    def elaborate(self, platform):
        m = Module()
        slices, width = self.slices, len(self.o)
        memory: Memory[int, Value] = Memory(
            shape=width,
            depth=self.depth * slices,
            init=[],
            attrs={UNINITIALISED: "1", NO_COLLISION: "1"},
        )
        m.submodules.memory = memory
        for number in range(slices):
            write = memory.write_port()
            m.d.comb += [
                write.en.eq(self.write),
                write.addr.eq(Cat(C(number, exact_log2(slices)), self.i_address)),
                write.data.eq(self.i.word_select(number, width)),
            ]
        read = memory.read_port(domain=self.reads)
        m.d.comb += [
            read.en.eq(self.en),
            read.addr.eq(self.o_address),
            self.o.eq(read.data),
        ]
        return m


class OperandStore(wiring.Component):
    """Multi-buffered store; buffers are filled in turn, row by row, each row into the next bank.

    Row r of a block is in bank r mod `banks`, from address (r div `banks`) * stride.

    Parameters
    ----------
    name : str
        What: of the module of a bank.
    banks, word_bytes, words : int
        What: banks, bytes of a word, and words per buffer and bank.
    parts : int
        What: buffers, a power of two.
    slices : int
        What: slices of a word, a power of two, of which one is read.
    reads : str
        How: domain in which words are read; a word only after ``o_filled`` has said that it is
        there, since no other word of a block RAM is as it was while it is written.

    Members
    -------
    i_stride : In
        Words between rows of a bank.
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: words of rows, always taken.
    i_end : In(1)
        The row is its block's last one.
    o_filled : Out(1)
        In the previous cycle a row of each bank, or the block, became complete.
    en, o_part, o_address : In
        Read; buffer, and word address in all banks.
    o_slice : In
        Which slice, if words have several.
    o : Out
        The words, or slices, of all banks, bank 0 lowest, of the last ``en``.
    """

    i_stride: Signal
    i: stream.Interface
    i_end: Signal
    o_filled: Signal
    en: Signal
    o_part: Signal
    o_address: Signal
    o_slice: Signal
    o: Signal

    def __init__(
        self,
        name: str,
        banks: int,
        word_bytes: int,
        words: int,
        parts: int,
        *,
        slices: int = 1,
        reads: str = "sync",
    ):
        self.banks = banks
        self.slices = slices
        self.words = words
        self.parts = parts
        # Buffers are aligned to a power of two: the highest address bits are the buffer's number.
        self.high = max(words - 1, 1).bit_length()
        depth = parts << self.high
        self.bank = Bank(name, 8 * word_bytes, depth, slices=slices, reads=reads)
        super().__init__({
            "i_stride": In(range(words + 1)),
            "i": In(stream.Signature(Beat(8 * word_bytes))),
            "i_end": In(1),
            "o_filled": Out(1),
            "en": In(1),
            "o_part": In(range(parts)),
            "o_address": In(range(words)),
            "o_slice": In(range(slices)),
            "o": Out(banks * 8 * word_bytes // slices),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The bank."""
        return (self.bank,)

    def elaborate(self, platform):
        m = Module()
        part = Signal(range(self.parts))
        base, word = (Signal(range(self.words + 1), name=name) for name in ("base", "word"))
        chosen = Signal(self.banks, init=1)
        taken, ends = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(1),
            taken.eq(self.i.valid),
            ends.eq(taken & self.i.payload.last),
        ]
        m.d.sync += self.o_filled.eq(ends & (chosen[-1] | self.i_end))
        with m.If(taken):
            m.d.sync += word.eq(word + 1)
        with m.If(ends):
            m.d.sync += word.eq(base)
            m.d.sync += chosen.eq(chosen.rotate_left(1))
            with m.If(chosen[-1]):
                m.d.sync += [base.eq(base + self.i_stride), word.eq(base + self.i_stride)]
        with m.If(ends & self.i_end):
            m.d.sync += [base.eq(0), word.eq(0), chosen.eq(1), part.eq(part + 1)]
        high, low = self.high, exact_log2(self.slices)
        words = []
        for number in range(self.banks):
            m.submodules[f"bank{number}"] = bank = self.bank.place()
            m.d.comb += [
                bank.write.eq(taken & chosen[number]),
                bank.i_address.eq(word[:high]),
                bank.i_address[high:].eq(part),
                bank.i.eq(self.i.payload.data),
                bank.en.eq(self.en),
                bank.o_address.eq(Cat(self.o_slice, self.o_address)),
                bank.o_address[low + high :].eq(self.o_part),
            ]
            words.append(bank.o)
        m.d.comb += self.o.eq(Cat(words))
        return m
