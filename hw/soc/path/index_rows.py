"""Lists of places: which codes of a row of A are large enough, to a row of C."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.memory_streams import MemoryStreams
from hw.soc.path.word_slices import either
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, PLACE_BYTES, Geometry, last_of_list

__all__ = ["IndexRows"]

_BITS = 8 * PLACE_BYTES


class _Row:
    """A row that is read and written.

    Members
    -------
    left, came : codes that are to come, less one; all have.
    here, listed : a code has come, and is large enough.
    place, count : its place; how many were large enough before it.
    made, pads : words of the row so far; no more of them are places.
    """

    def __init__(self, size: int):
        self.left, self.place = Signal(size, name="left"), Signal(size, name="place")
        self.made, self.count = Signal(size + 1, name="made"), Signal(size + 1, name="count")
        self.came, self.here = Signal(name="came"), Signal(name="here")
        self.listed, self.pads = Signal(name="listed"), Signal(name="pads")


class IndexRows(wiring.Component):
    """Lists the places of codes whose magnitude is large enough: :func:`golden.soc.lists.index`.

    Throughput: a code in a cycle, and then a word of zeros for each code that is not in the list,
    and one for the count. Rows are requested up to :attr:`AHEAD` ahead.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes.

    Members
    -------
    i_geometry : In
        The job: M rows of N codes.
    i_wide : In(1)
        Codes have two bytes.
    i_least : In(16)
        The least magnitude that is listed.
    i_a, i_c : In
        Addresses of A and of C, with ``i_start``.
    i_start : In(1)
        Begin; only while ``o_ready``.
    o_asked, o_ready : Out(1)
        All rows have been requested; those of C have been handed over.
    memory : Out(MemoryStreams)
        Rows of A, and of C.
    """

    AHEAD = 4
    """Rows that are requested and not complete."""

    i_geometry: data.View
    i_wide: Signal
    i_least: Signal
    i_a: Signal
    i_c: Signal
    i_start: Signal
    o_asked: Signal
    o_ready: Signal
    memory: Any

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.word_bytes = spec.vector.lanes * spec.vector_out_bytes
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_wide": In(1),
            "i_least": In(16),
            "i_a": In(spec.address_width),
            "i_c": In(spec.address_width),
            "i_start": In(1),
            "o_asked": Out(1),
            "o_ready": Out(1),
            "memory": Out(MemoryStreams(spec, self.word_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        row = _Row(self.spec.dimension_width)
        writing, row_ends = self._write(m, row)
        requesting = self._request(m, row_ends)
        m.d.comb += [self.o_asked.eq(~requesting), self.o_ready.eq(~requesting & ~writing)]
        return m

    def _request(self, m: Module, row_ends: Value) -> Signal:
        """Request rows of A; return whether there are more."""
        job, row, moves = self.i_geometry, self.memory.read_row.payload, Signal()
        requesting, left = Signal(), Signal(self.spec.dimension_width, name="requested_left")
        at = Signal(self.spec.address_width, name="requested_at")
        ahead = Signal(range(self.AHEAD + 1))
        codes = job.n + 1
        m.d.sync += ahead.eq(ahead + moves - row_ends)
        m.d.comb += [
            self.memory.read_row.valid.eq(requesting & (ahead != self.AHEAD)),
            moves.eq(self.memory.read_row.valid & self.memory.read_row.ready),
            row.address.eq(at),
            row.bytes.eq(Mux(self.i_wide, codes << 1, codes)),
            row.to.eq(Destination.VECTOR),
            row.last.eq(left == 0),
            row.final.eq(left == 0),
        ]
        with m.If(self.i_start):
            m.d.sync += [requesting.eq(1), left.eq(job.m), at.eq(self.i_a)]
        with m.Elif(moves):
            m.d.sync += [at.eq(at + job.lda[:BYTES_WIDTH]), left.eq(left - 1)]
            m.d.sync += requesting.eq(left != 0)
        return requesting

    def _code(self, m: Module) -> tuple[Value, Value, Signal]:
        """Return whether the code that comes is listed, and its word's last one; its number."""
        word = self.memory.read.payload.data
        number = Signal(range(self.spec.vector_word_bytes))
        values: list[Value] = []
        lasts: list[Value] = []
        for size in range(1, self.spec.vector_in_bytes + 1):
            count = len(word) // (8 * size)
            place = number[: (count - 1).bit_length()] if count > 1 else C(0, 1)
            code = word.word_select(place, 8 * size)
            values.append(Cat(code, code[-1].replicate(17 - len(code))))
            lasts.append(place == count - 1 if count > 1 else C(1, 1))
        magnitude = Signal(17)
        code = either(self.i_wide, values)
        m.d.comb += magnitude.eq(Mux(code[-1], -code, code))
        return magnitude >= self.i_least, either(self.i_wide, lasts), number

    def _write(self, m: Module, row: _Row) -> tuple[Signal, Value]:
        """Write lists; return whether there are more, and whether a row has been read and left."""
        job, memory, size = self.i_geometry, self.memory, self.spec.dimension_width
        each = self.word_bytes // PLACE_BYTES
        writing, rows = Signal(), Signal(size, name="written_left")
        at, addressed, addresses = Signal(self.spec.address_width), Signal(), Signal()
        # Words of the list in one that is written; behind the count they are filled up.
        slot, words, ends = Signal(range(each)), Signal(8 * self.word_bytes), Signal()
        word, makes, fills, moves, row_ends = (
            Signal(_BITS if name == "word" else 1, name=name)
            for name in ("word", "makes", "fills", "moves", "row_ends")
        )
        self._read(m, row, writing, moves, row_ends)
        m.d.comb += [
            memory.write_row.valid.eq(writing & ~addressed),
            memory.write_row.payload.address.eq(at),
            memory.write_row.payload.bytes.eq(last_of_list(job.n) + 1),
            memory.write_row.payload.final.eq(rows == 0),
            addresses.eq(memory.write_row.valid & memory.write_row.ready),
            ends.eq(row.made == job.n + 1),
            makes.eq(writing & (row.pads | (row.here & row.listed))),
            word.eq(Mux(row.pads, Mux(ends, row.count, 0), row.place)),
            fills.eq(makes & (slot == each - 1)),
            memory.write.valid.eq(fills & (addressed | addresses)),
            memory.write.payload.data.eq(Cat(words[_BITS:], word)),
            moves.eq(~fills | (memory.write.valid & memory.write.ready)),
            row_ends.eq(fills & moves & row.pads & (row.made > job.n)),
        ]
        with m.If(addresses):
            m.d.sync += addressed.eq(1)
        with m.If(makes & moves):
            m.d.sync += [slot.eq(Mux(slot == each - 1, 0, slot + 1)), row.made.eq(row.made + 1)]
            m.d.sync += words.eq(memory.write.payload.data)
        with m.If(row_ends):
            m.d.sync += [rows.eq(rows - 1), writing.eq(rows != 0), addressed.eq(0)]
            m.d.sync += at.eq(at + job.ldc[:BYTES_WIDTH])
        with m.If(self.i_start):
            m.d.sync += [writing.eq(1), rows.eq(job.m), at.eq(self.i_c)]
        with m.If(self.i_start | row_ends):
            m.d.sync += row.made.eq(0)
        return writing, row_ends

    def _read(self, m: Module, row: _Row, writing: Value, moves: Value, row_ends: Value) -> None:
        """Take codes, and look at each a cycle before its place may be written."""
        takes, read = Signal(), self.memory.read
        listed, last_of_word, number = self._code(m)
        m.d.comb += [
            takes.eq(writing & ~row.came & read.valid & (~row.here | moves)),
            read.ready.eq(takes & (last_of_word | (row.left == 0))),
        ]
        with m.If(takes):
            m.d.sync += [row.here.eq(1), row.listed.eq(listed), row.came.eq(row.left == 0)]
            m.d.sync += [row.left.eq(row.left - 1), number.eq(Mux(read.ready, 0, number + 1))]
        with m.Elif(moves):
            m.d.sync += row.here.eq(0)
        with m.If(row.here & moves):
            m.d.sync += [row.count.eq(row.count + row.listed), row.place.eq(row.place + 1)]
            m.d.sync += row.pads.eq(row.place == self.i_geometry.n)
        with m.If(self.i_start | row_ends):
            m.d.sync += [row.left.eq(self.i_geometry.n), row.place.eq(0), row.count.eq(0)]
            m.d.sync += [row.pads.eq(0), row.came.eq(0), row.here.eq(0)]
