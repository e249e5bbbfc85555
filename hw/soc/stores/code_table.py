"""Tables that codes are looked up in on their way to memory, a copy for each code of a cycle."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import SharedModule
from hw.soc.bus.burst import Beat
from hw.soc.stores.operand_store import Bank

__all__ = ["CodeTable"]

_WORD = 4
"""Bytes that a block RAM takes at once."""


class CodeTable(wiring.Component):
    """Looks up codes of a byte, some columns per cycle; codes of other jobs pass.

    There is a table for each job that may be under way, so that nothing is overwritten that is
    needed: jobs with tables take them in turn.

    Latency: 2 cycles. Stalls: ``o.ready`` reaches ``i.ready`` combinationally, unless the build is
    lean without regard to ``o.valid``. A table is written in words of 4 bytes, one per cycle.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, jobs under way.
    columns, bits : int
        What: codes per cycle, and bits of each.
    stops : bool
        How: ``o.ready`` alone lets codes move.

    Members
    -------
    i_looks : In(1)
        The job looks codes up.
    i_table : In(stream)
        :class:`hw.soc.bus.burst.Beat`: beats of a table.
    i, o : In(stream), Out(stream)
        Codes.
    i_ends : In(1)
        With ``i``: they are the last ones of their job.
    """

    i_looks: Signal
    i_table: stream.Interface
    i: stream.Interface
    i_ends: Signal
    o: stream.Interface

    def __init__(self, spec: CoprocessorSpec, columns: int, bits: int, *, stops: bool):
        self.columns, self.bits, self.stops = columns, bits, stops
        self.word_bytes = min(_WORD, spec.bytes)
        self.slices = spec.bytes // self.word_bytes
        words = spec.TABLE_BYTES // self.word_bytes
        self.bank = Bank("table_bank", 8 * self.word_bytes, spec.PARTS * words)
        super().__init__({
            "i_looks": In(1),
            "i_table": In(stream.Signature(Beat(spec.data_width))),
            "i": In(stream.Signature(columns * bits)),
            "i_ends": In(1),
            "o": Out(stream.Signature(columns * bits)),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The bank."""
        return (self.bank,)

    def elaborate(self, platform):
        m = Module()
        write, address, word = self._take(m)
        low = (self.word_bytes - 1).bit_length()
        en, part = Signal(), Signal(range(CoprocessorSpec.PARTS))
        valid, codes = Signal(2), self.i.payload
        held = Signal(len(codes), reset_less=True)
        m.d.comb += [
            en.eq(self.o.ready if self.stops else ~self.o.valid | self.o.ready),
            self.i.ready.eq(en),
            self.o.valid.eq(valid[-1]),
        ]
        with m.If(en):
            m.d.sync += [valid.eq(Cat(self.i.valid, valid)), held.eq(codes)]
            with m.If(self.i.valid & self.i_ends & self.i_looks):
                m.d.sync += part.eq(part + 1)
        for number in range(self.columns):
            m.submodules[f"bank{number}"] = bank = self.bank.place()
            code = held.word_select(number, self.bits)
            looked_up: Value = bank.o.word_select(code[:low], 8) if low else bank.o
            m.d.comb += [
                bank.write.eq(write),
                bank.i_address.eq(address),
                bank.i.eq(word),
                bank.en.eq(en),
                bank.o_address.eq(Cat(codes.word_select(number, self.bits)[low:8], part)),
            ]
            to = self.o.payload.word_select(number, self.bits)
            with m.If(en):
                m.d.sync += to.eq(Mux(self.i_looks, looked_up, code))
        return m

    def _take(self, m: Module) -> tuple[Value, Value, Value]:
        """Take the beats of tables apart; return whether a word is written, where, and it."""
        beats, entry = self.i_table, Signal(range(self.bank.depth))
        final: Value = entry[: (self.slices - 1).bit_length()].all()
        word = beats.payload.data.word_select(
            entry[: (self.slices - 1).bit_length()], 8 * self.word_bytes
        )
        m.d.comb += beats.ready.eq(final)
        with m.If(beats.valid):
            m.d.sync += entry.eq(entry + 1)
        return beats.valid, entry, word
