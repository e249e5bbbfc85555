"""Vector jobs: rows of A through the vector unit, to rows of C."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.memory_streams import MemoryStreams, share
from hw.soc.path.row_exponents import ModeLayout, RowExponents, operation_of
from hw.soc.path.row_parts import connect_part, part_bases, part_ports, parts_of
from hw.soc.path.row_words import exponent_words, fitted, row_words
from hw.soc.path.word_slices import either, slices_of, word_slices
from hw.soc.registers.rdl import vector_numbers
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry
from hw.soc.schedule.row_request import Bases
from hw.soc.schedule.vector_check import share_columns

__all__ = ["SCALE", "VectorRows"]

SCALE = ("multiplier", "shift", "zero_point", "low", "high")
"""Fields of a requantisation, in registers and in beats of the vector unit."""


class VectorRows(wiring.Component):
    """Reads rows of A, has the vector unit work on them, and writes rows of C.

    Operations on two operands take a row of B after each of A; a scale takes the exponent of each,
    a row of one byte of B, before it. Rows are requested up to :attr:`ahead` ahead of the one that
    the unit takes. The address of a row of C follows its first codes, and the next job's first row
    this one's last. A row of a softmax ends with its exponent, which takes a word where the codes
    fill theirs. Transpositions, gathers, lists, blends and maps have parts of their own.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, the vector unit.
    unit : VectorUnit
        How: the vector unit of that spec.

    Members
    -------
    i_geometry, i_mode : In
        The job: its derived values, and the register MODE.
    i_scale : In
        Its requantisation; where an operation of the unit has one.
    i_factors, i_window, columns : In, In, Out
        Factors and zero points of maps, as in registers; where jobs are on maps. Those of windows,
        and what they read of columns; where there are depthwise ones.
    i_rows, i_least, i_count : In
        Rows of A; where jobs gather. The least magnitude in a list, or its count; where they are.
    i_start : In(1)
        Begin; only while ``o_ready``.
    o_asked, o_ready : Out(1)
        All rows have been requested; those of C have been handed over.
    o_beyond : Out(1)
        An index of a gather is not one of A's rows; until a reset. Where jobs gather.
    i_base : In
        :class:`hw.soc.schedule.row_request.Bases`, of A and C at least, before ``i_start``.
    memory : Out(MemoryStreams)
        Rows of A, and of C.
    o_sums : Out(stream)
        Of jobs on maps, instead of words: sums to be requantised, one for each lane.
    o_sums_end : Out(1)
        They are the last ones of the job.
    """

    i_geometry: data.View
    i_mode: data.View
    i_scale: data.View
    i_factors: data.View
    i_window: data.View
    columns: Any
    i_rows: Signal
    i_least: Signal
    i_count: Signal
    i_start: Signal
    o_asked: Signal
    o_ready: Signal
    o_beyond: Signal
    i_base: data.View
    memory: Any
    o_sums: stream.Interface
    o_sums_end: Signal

    def __init__(self, spec: CoprocessorSpec, unit: Any):
        assert spec.vector is not None
        self.spec = spec
        self.unit = unit
        self.vector = spec.vector
        self.lanes = spec.vector.lanes
        self.word_bytes = self.lanes * spec.vector_out_bytes
        self.numbers = vector_numbers()
        self.scales, self.pairs = self.vector.scales, self.vector.builds(self.vector.SECOND)
        self.shifts = self.vector.builds(["scale"])
        behind = RowExponents(spec.vector, shares=spec.shares)
        self.exponents = behind if self.vector.builds(["exps"]) else None
        self.parts = parts_of(spec)
        """Sub-units for operations that the vector unit does not have."""
        self.ahead = 16 if self.shifts else 4
        """Rows that are requested and not complete; more where many are short."""
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_mode": In(ModeLayout(spec)),
            **({"i_scale": In(data.StructLayout(dict.fromkeys(SCALE, 32)))} if self.scales else {}),
            **part_ports(spec),
            "i_start": In(1),
            **dict.fromkeys(("o_asked", "o_ready"), Out(1)),
            "i_base": In(Bases(spec)),
            "memory": Out(MemoryStreams(spec, self.word_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = self.unit
        if self.exponents is not None:
            m.submodules.exponents = self.exponents
        job = self.i_geometry
        self.starts = self.i_start
        self.streams: Any = self.memory
        if self.parts:
            self._share(m)
        bases = part_bases(m, self)
        # Codes still to read and to write in this row, minus one.
        to_read, to_write = (
            Signal(range(self.vector.length), name=name, reset_less=True)
            for name in ("to_read", "to_write")
        )
        with m.If(self.starts):
            m.d.sync += [to_read.eq(job.n), to_write.eq(job.n)]
        row_read = self._read(m, to_read)
        requests = self._request(m, bases, row_read)
        writes = self._write(m, bases[Destination.ADDEND], to_write)
        asked, ready = ~requests, ~requests & ~writes
        for part in self.parts.values():
            connect_part(m, self, part, bases)
            asked, ready = asked & part.o_asked, ready & part.o_ready
        m.d.comb += [self.o_asked.eq(asked), self.o_ready.eq(ready)]
        return m

    def _share(self, m: Module) -> None:
        """Multiplex the memory streams between unit and sub-units."""
        self.starts = Signal(name="starts")
        others = list(self.parts.values())
        here = Signal(len(others), name="of_part")
        m.d.comb += [
            here.eq(Cat(self.is_(*names) for names in self.parts)),
            self.starts.eq(self.i_start & ~here.any()),
            *(part.i_start.eq(self.i_start & bit) for part, bit in zip(others, here, strict=True)),
        ]
        for names, part in self.parts.items():
            m.submodules[names[0]] = part
        signature = MemoryStreams(self.spec, self.word_bytes)
        self.streams = signature.create(path=("of_unit",))
        users = [(~here.any(), self.streams)]
        users += [(bit, part.memory) for bit, part in zip(here, others, strict=True)]
        share(m, self.memory, users)

    def _walk(
        self, m: Module, name: str, base: Value, stride: Value, moves: Value
    ) -> tuple[Signal, Value, Value]:
        """Step from row to row; return whether there is one, its address, and that it is last."""
        job = self.i_geometry
        there, at = Signal(name=name), Signal(self.spec.address_width, name=f"{name}_at")
        left = Signal(self.spec.dimension_width, name=f"{name}_left")
        last = left == 0
        with m.If(self.starts):
            m.d.sync += [there.eq(1), at.eq(base), left.eq(job.m)]
        with m.Elif(moves):
            m.d.sync += [there.eq(~last), at.eq(at + stride[:BYTES_WIDTH]), left.eq(left - 1)]
        return there, at, last

    def _request(self, m: Module, bases: dict[Destination, Signal], row_read: Value) -> Value:
        """Request rows of A, and of B if the operation takes two; return whether there are more."""
        row, moves = self.streams.read_row.payload, Signal()
        ahead = Signal(range(self.ahead + 1))
        byte: Value = C(0, 1)
        if self.pairs:
            there, at, last, byte = self._request_pairs(m, bases, moves)
        else:
            base, stride = bases[Destination.A], self.i_geometry.lda
            there, at, last = self._walk(m, "requests", base, stride, moves)
        wide = self.i_mode.wide if self.spec.vector_in_bytes > 1 else C(0, 1)
        codes = self.i_geometry.n + 1
        m.d.sync += ahead.eq(ahead + moves - row_read)
        m.d.comb += [
            moves.eq(self.streams.read_row.valid & self.streams.read_row.ready),
            self.streams.read_row.valid.eq(there & (ahead != self.ahead)),
            row.address.eq(at),
            row.bytes.eq(Mux(byte, 1, Mux(wide, codes << 1, codes))),
            row.to.eq(Destination.VECTOR),
            row.last.eq(last),
            row.final.eq(last),
        ]
        return there

    def _request_pairs(
        self, m: Module, bases: dict[Destination, Signal], moves: Value
    ) -> tuple[Value, Value, Value, Value]:
        """Step through rows of A and of B in turn, or of A alone; return whether one is a byte."""
        second, pair = Signal(), Signal()
        m.d.comb += pair.eq(self.is_(*self.vector.SECOND))
        job = self.i_geometry
        byte = self.is_("scale") & ~second if self.shifts else C(0, 1)
        of_b = second ^ self.is_("scale") if self.shifts else second
        there, at, last = self._walk(m, "requests", bases[Destination.A], job.lda, moves & ~of_b)
        there_b, at_b, last_b = self._walk(m, "asks_b", bases[Destination.B], job.ldb, moves & of_b)
        with m.If(self.starts):
            m.d.sync += [second.eq(0), there_b.eq(pair)]
        with m.Elif(moves):
            m.d.sync += second.eq(~second & pair)
        final = Mux(pair, second & Mux(of_b, last_b, last), last)
        return there | there_b, Mux(of_b, at_b, at), final, byte

    @property
    def of_maps(self) -> Value:
        """Whether the job is one on maps, whose sums are requantised."""
        return self.is_(*self.spec.MAPS, "depthwise")

    @property
    def of_windows(self) -> Value:
        """Whether the job is a depthwise one."""
        return self.is_("depthwise")

    def is_(self, *names: str) -> Value:
        """Return whether the job is one of `names`, of those that are built."""
        numbers = (self.numbers[name] for name in self.spec.vector_jobs if name in names)
        matches: Value = self.i_mode.operation.matches(*numbers)
        return matches

    @property
    def exps(self) -> Value:
        """Whether the job makes shares, of the two operations of its number."""
        return self.is_("exps") & ~self.i_mode.requantise

    def _read(self, m: Module, left: Signal) -> Value:
        """Hand rows to the unit, beat by beat; return whether a row ends."""
        spec, unit, lanes = self.spec, self.unit, self.lanes
        beat, width = unit.i.payload, self.vector.width
        slice_, ends, final = Signal(range(slices_of(spec))), Signal(), Signal()
        awaits_exponent = Signal()
        values: list[Value] = []
        finals: list[Value] = []
        bits = self.streams.read.payload.data
        for word, is_last in word_slices(m, spec, bits, slice_):
            size = len(word) // lanes
            values.append(Cat(fitted(word.word_select(lane, size), width) for lane in range(lanes)))
            finals.append(is_last)
        moves = Signal()
        m.d.comb += [
            ends.eq(left < lanes),
            final.eq(either(self.i_mode.wide, finals)),
            moves.eq(unit.i.valid & unit.i.ready),
            unit.i.valid.eq(self.streams.read.valid & ~awaits_exponent),
            self.streams.read.ready.eq(awaits_exponent | (unit.i.ready & (final | ends))),
            beat.data.eq(either(self.i_mode.wide, values)),
            beat.operation.eq(operation_of(self.vector, self.i_mode, self.numbers)),
            beat.count.eq(Mux(ends, left, lanes - 1)),
            beat.last.eq(ends),
        ]
        if self.scales:
            m.d.comb += [beat[name].eq(self.i_scale[name]) for name in SCALE]
        takes_exponent: Value = C(0, 1)
        if self.shifts:
            exponent = Signal(len(beat.shift), reset_less=True)
            shift = Signal(len(beat.shift) + 1)
            takes_exponent = awaits_exponent & self.streams.read.valid
            m.d.comb += shift.eq(self.i_scale.shift[: len(beat.shift)] + exponent)
            with m.If(self.is_("scale")):
                m.d.comb += beat.shift.eq(shift[:-1] | shift[-1].replicate(len(beat.shift)))
            with m.If(takes_exponent):
                m.d.sync += [exponent.eq(bits), awaits_exponent.eq(0)]
            with m.If(self.starts | (moves & ends)):
                m.d.sync += awaits_exponent.eq(self.is_("scale"))
        with m.If(moves):
            m.d.sync += [
                left.eq(Mux(ends, self.i_geometry.n, left - lanes)),
                slice_.eq(Mux(final | ends, 0, slice_ + 1)),
            ]
        return (moves & ends) | takes_exponent

    def _write(self, m: Module, base: Value, left: Signal) -> Value:
        """Write what the unit makes; return whether there is more."""
        spec, unit, lanes, row = self.spec, self.unit, self.lanes, self.streams.write_row.payload
        addressed, alone, ends, pops = Signal(), Signal(), Signal(), Signal()
        softmax = self.i_mode.operation == self.numbers["softmax"]
        addresses, more, sent = Signal(), Signal(), Signal()
        count = self.i_geometry.n + 1 + softmax
        narrows = spec.sizes and spec.vector_out_bytes > 1
        narrowed = self.i_geometry.narrowed if narrows else C(0, 1)
        valid: Value = unit.o.valid
        codes_end: Value = ends
        moves, row_ends = sent & ~more, pops & ends
        if self.exponents is not None:
            behind, exps, tail = self.exponents, self.exps, self.exponents.there
            valid = behind.connect(m, unit.o, pops & exps, ends, sent)
            moves, codes_end = moves & ~tail, ends & ~exps
            row_ends = Mux(exps, behind.next & behind.last, row_ends)
            count = Mux(exps, share_columns(self.vector, self.i_geometry.n), count)
        there, at, last = self._walk(m, "writes", base, self.i_geometry.ldc, row_ends)
        m.d.comb += [
            addresses.eq(self.streams.write_row.valid & self.streams.write_row.ready),
            self.streams.write_row.valid.eq(unit.o.valid & ~addressed),
            row.address.eq(at),
            row.bytes.eq(Mux(narrowed, count, count * spec.vector_out_bytes)),
            row.final.eq(last),
            ends.eq(left < lanes),
            # The exponent has no place behind the codes: it follows in a word of its own.
            more.eq(softmax & (left == lanes - 1) & ~alone),
            self.streams.write.valid.eq(valid & (addressed | addresses)),
            sent.eq(self.streams.write.valid & self.streams.write.ready),
            unit.o.ready.eq(moves),
            pops.eq(moves),
        ]
        with m.If(addresses):
            m.d.sync += addressed.eq(1)
        with m.If(sent):
            m.d.sync += alone.eq(more)
        with m.If(pops):
            m.d.sync += left.eq(Mux(ends, self.i_geometry.n, left - lanes))
            with m.If(codes_end):
                m.d.sync += addressed.eq(0)
        words = self.streams.write.payload.data
        row_words(m, spec, words, unit.o.payload, (left, ends, alone), (softmax, narrowed))
        if self.exponents is not None:
            with m.If(self.exps & row_ends):
                m.d.sync += addressed.eq(0)
            with m.If(tail):
                m.d.comb += words.eq(exponent_words(spec, behind.o, narrowed))
        return there
