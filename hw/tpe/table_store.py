"""Store of tables over activations: generator and numbered registers."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.formats.integer import IntFormat
from golden.tpe.lut_unit import LutUnitSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.lib.shared_module import UNINITIALISED, SharedModule
from hw.tpe.lut_tables import LutTables

__all__ = ["TableStore"]


class TableStore(wiring.Component):
    """Makes the tables of rows of activations and stores them, with the sum of each row.

    Latency: tables can be read two cycles after their last activations; sums and sizes after one.
    Throughput: one beat per cycle.

    Parameters
    ----------
    spec : LutUnitSpec
        What: rows, tables, table registers.
    adder : str
        How: see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i_a : In(stream)
        Activations: a beat has k of each of m rows, row by row, the first lowest.
    i_makes : In(1)
        Take activations, until ``o_made``.
    i_new : In(data.StructLayout)
        ``number`` of the register; ``rows`` and ``depth``, rows and activations per row, minus 1.
    o_made : Out(1)
        The last activations are taken.
    i_number : In
        The register that all members below refer to.
    o_there : Out(1)
        Its tables exist.
    o_known : Out(data.StructLayout)
        ``sums`` of each row's activations; ``rows`` and ``beats``, minus 1.
    i_reads : In(1)
        Read the tables of a beat.
    i_beat : In
        Number of the beat.
    o : Out
        Its tables, one cycle later, until others are read.
    """

    i_a: stream.Interface
    i_makes: Signal
    i_new: Any
    o_made: Signal
    i_number: Signal
    o_there: Signal
    o_known: Any
    i_reads: Signal
    i_beat: Signal
    o: Signal

    def __init__(self, spec: LutUnitSpec, adder: str):
        self.spec = spec
        self.adder = adder
        self.tables = LutTables(spec.made, adder=adder)
        greatest = spec.k_max << spec.a_width - 1
        self.sum = IntFormat(width=greatest.bit_length() + 1)
        fields = spec.fields["lpre"]
        number, rows, depth = (fields[name][1] for name in ("rd", "m", "depth"))
        self.known = data.StructLayout({
            "sums": spec.m * self.sum.width,
            "rows": rows,
            "beats": range(spec.beats),
        })
        activations = data.StructLayout({"data": spec.m * spec.k * spec.a_width})
        super().__init__({
            "i_a": In(stream.Signature(activations)),
            "i_makes": In(1),
            "i_new": In(data.StructLayout({"number": number, "rows": rows, "depth": depth})),
            "o_made": Out(1),
            "i_number": In(number),
            "o_there": Out(1),
            "o_known": Out(self.known),
            "i_reads": In(1),
            "i_beat": In(range(max(spec.beats, 2))),
            "o": Out(len(self.tables.o.payload.data)),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The table."""
        return self.tables.shared_modules

    def elaborate(self, platform):
        m = Module()
        spec, new = self.spec, self.i_new
        m.submodules.tables = self.tables
        # Remaining activations of a row, minus one.
        rest = Signal(len(new.depth), reset_less=True)
        beat = Signal(range(max(spec.beats, 2)))
        taken, last = Signal(), Signal()
        asked = Mux(beat == 0, new.depth, rest)
        m.d.comb += [
            taken.eq(self.i_makes & self.i_a.valid),
            last.eq(asked < spec.k),
            self.o_made.eq(taken & last),
            self.i_a.ready.eq(self.i_makes),
            self.tables.i.valid.eq(taken),
            self.tables.i.payload.data.eq(self.i_a.payload.data),
            self.tables.o.ready.eq(1),
        ]
        sums = self._sums(m, taken, beat == 0)
        with m.If(taken):
            m.d.sync += [beat.eq(Mux(last, 0, beat + 1)), rest.eq(asked - spec.k)]

        m.submodules.entries = entries = _memory(len(self.o), spec.registers * spec.beats)
        into, out = entries.write_port(), entries.read_port(transparent_for=())
        address = Signal(range(entries.depth), reset_less=True)
        m.d.sync += address.eq(new.number * spec.beats + beat)
        m.d.comb += [
            into.en.eq(self.tables.o.valid),
            into.addr.eq(address),
            into.data.eq(self.tables.o.payload.data),
            out.en.eq(self.i_reads),
            out.addr.eq(self.i_number * spec.beats + self.i_beat),
            self.o.eq(out.data),
        ]

        m.submodules.notes = notes = _memory(self.known, spec.registers)
        note, known = notes.write_port(), notes.read_port(domain="comb")
        there = Signal(spec.registers)
        with m.If(self.o_made):
            m.d.sync += there.bit_select(new.number, 1).eq(1)
        m.d.comb += [
            note.en.eq(self.o_made),
            note.addr.eq(new.number),
            note.data.sums.eq(sums),
            note.data.rows.eq(new.rows),
            note.data.beats.eq(beat),
            known.addr.eq(self.i_number),
            self.o_known.eq(known.data),
            self.o_there.eq(there.bit_select(self.i_number, 1)),
        ]
        return m

    def _sums(self, m: Module, taken: Value, first: Value) -> Value:
        """Accumulate the activations of a row; the first beat starts a new sum."""
        spec, width = self.spec, self.sum.width
        sums = Signal(spec.m * width, reset_less=True)
        rows = []
        for row in range(spec.m):
            heap = BitHeap(width)
            before = Signal(width, name=f"before{row}")
            m.d.comb += before.eq(Mux(first, 0, sums.word_select(row, width)))
            heap.add_term(list(before), signed=False)
            for number in range(spec.k):
                activation = self.i_a.payload.data.word_select(row * spec.k + number, spec.a_width)
                heap.add_term(list(activation), signed=True)
            rows.append(resolve(m, heap.compress(m, [2] * width), self.adder))
        with m.If(taken):
            m.d.sync += sums.eq(Cat(rows))
        return Cat(rows)


def _memory(shape: Any, depth: int) -> "Memory[Any, Any]":
    return Memory(shape=shape, depth=max(depth, 2), init=[], attrs={UNINITIALISED: "1"})
