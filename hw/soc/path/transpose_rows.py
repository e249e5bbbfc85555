"""Transposition: blocks of bytes of A to parts of rows of C."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import UNINITIALISED
from hw.soc.path.memory_streams import MemoryStreams
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry

__all__ = ["TransposeRows"]


class TransposeRows(wiring.Component):
    """Transposes blocks of A, of a few times as many rows and columns as the vector unit has lanes.

    Blocks go down the rows of A, then on to its next columns. Parts of rows are requested up to
    :attr:`AHEAD` ahead. Row n of a block is in bank n modulo the lanes, so that as many rows are
    read at once. Throughput: as many bytes as there are lanes come, and then leave, in a cycle, if
    memory is as fast.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes.

    Members
    -------
    i_geometry : In
        The job: M x N bytes of A.
    i_a, i_c : In
        Addresses of A and of C.
    i_start : In(1)
        Begin; only while ``o_ready``.
    o_asked, o_ready : Out(1)
        All rows have been requested; those of C have been handed over.
    memory : Out(MemoryStreams)
        Rows of A, and of C.
    """

    AHEAD = 16
    """Parts of rows that are requested and not complete."""
    DEEP, WIDE = 4, 4
    """Rows and columns of a block, as times the lanes: what C is written by, and A read."""

    i_geometry: data.View
    i_a: Signal
    i_c: Signal
    i_start: Signal
    o_asked: Signal
    o_ready: Signal
    memory: Any

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.side = spec.vector.lanes
        self.across = self.WIDE * self.side
        self.o_left = Signal()
        """A block has left."""
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_a": In(spec.address_width),
            "i_c": In(spec.address_width),
            "i_start": In(1),
            "o_asked": Out(1),
            "o_ready": Out(1),
            "memory": Out(MemoryStreams(spec, self.side)),
        })

    def elaborate(self, platform):
        m = Module()
        requesting, writing = Signal(), Signal()
        row_read = self._transpose(m, writing)
        self._request(m, requesting, row_read)
        m.d.comb += [self.o_asked.eq(~requesting), self.o_ready.eq(~requesting & ~writing)]
        return m

    def _request(self, m: Module, requesting: Signal, row_read: Value) -> None:
        """Request parts of rows, down A, then those beside them."""
        job, side, row = self.i_geometry, self.across, self.memory.read_row.payload
        ahead, moves = Signal(range(self.AHEAD + 1)), Signal()
        at, top = (
            Signal(self.spec.address_width, name=name) for name in ("requested_at", "requested_top")
        )
        rows, columns = (
            Signal(self.spec.dimension_width, name=name)
            for name in ("requested_rows", "requested_columns")
        )
        bottom, last = rows == 0, columns < side
        m.d.sync += ahead.eq(ahead + moves - row_read)
        m.d.comb += [
            self.memory.read_row.valid.eq(requesting & (ahead != self.AHEAD)),
            moves.eq(self.memory.read_row.valid & self.memory.read_row.ready),
            row.address.eq(at),
            row.bytes.eq(Mux(last, columns + 1, side)),
            row.to.eq(Destination.VECTOR),
            row.last.eq(bottom & last),
            row.final.eq(bottom & last),
        ]
        with m.If(self.i_start):
            m.d.sync += [requesting.eq(1), at.eq(self.i_a), top.eq(self.i_a)]
            m.d.sync += [rows.eq(job.m), columns.eq(job.n)]
        with m.Elif(moves):
            m.d.sync += [at.eq(at + job.lda[:BYTES_WIDTH]), rows.eq(rows - 1)]
            with m.If(bottom):
                m.d.sync += [at.eq(top + side), top.eq(top + side), rows.eq(job.m)]
                m.d.sync += [columns.eq(columns - side), requesting.eq(~last)]

    def _transpose(self, m: Module, writing: Signal) -> Value:
        """Read blocks and write their columns; return whether a part of a row has been read."""
        job, side, across = self.i_geometry, self.side, self.across
        size = self.spec.dimension_width
        # Slices of a word, as many bytes as lanes, and where the one that comes is in its row.
        count = self.spec.vector_word_bytes // side
        slice_, group = Signal(range(count)), Signal(range(self.WIDE))
        # The bank of the row that comes, its word there, rows that have come; and columns of the
        # row less one, rows of A and columns of it from this block on.
        bank, word = Signal(range(side)), Signal(range(self.DEEP))
        height, rest = Signal(range(side * self.DEEP + 1)), Signal(range(across))
        rows, columns = Signal(size), Signal(size)
        full, bottom, moves, ends = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            moves.eq(self.memory.read.valid & ~full),
            ends.eq(rest < side),
            self.memory.read.ready.eq(~full & (ends | (slice_ == count - 1))),
        ]
        with m.If(moves):
            m.d.sync += [slice_.eq(Mux(self.memory.read.ready, 0, slice_ + 1)), group.eq(group + 1)]
            m.d.sync += rest.eq(rest - side)
        with m.If(moves & ends):
            m.d.sync += [group.eq(0), rest.eq(self._width(columns))]
            m.d.sync += [height.eq(height + 1), rows.eq(rows - 1), bottom.eq(rows == 0)]
            with m.If((rows == 0) | (height == side * self.DEEP - 1)):
                m.d.sync += full.eq(1)
            with m.Elif(bank == side - 1):
                m.d.sync += [bank.eq(0), word.eq(word + 1)]
            with m.Else():
                m.d.sync += bank.eq(bank + 1)
        banks = self._banks(m, moves, bank, Cat(word, group), slice_)
        self._write(m, banks, full, bottom, word, height, columns)
        with m.If(self.o_left):
            m.d.sync += [full.eq(0), bank.eq(0), word.eq(0), height.eq(0)]
            with m.If(bottom):
                after, last = columns - across, columns < across
                m.d.sync += [rows.eq(job.m), columns.eq(after), rest.eq(self._width(after[:size]))]
                m.d.sync += writing.eq(~last)
        with m.If(self.i_start):
            m.d.sync += [writing.eq(1), rows.eq(job.m), columns.eq(job.n)]
            m.d.sync += rest.eq(self._width(job.n))
        return moves & ends

    def _width(self, columns: Value) -> Value:
        """Return the columns of a block less one."""
        return Mux(columns < self.across, columns, self.across - 1)

    def _banks(
        self, m: Module, write: Value, bank: Value, address: Value, slice_: Value
    ) -> list[Any]:
        """Write slices of rows; return what reads those of as many rows as there are banks."""
        reads = []
        for number in range(self.side):
            memory: Memory[int, Value] = Memory(
                shape=8 * self.side,
                depth=self.DEEP * self.WIDE,
                init=[],
                attrs={UNINITIALISED: "1"},
            )
            m.submodules[f"bank{number}"] = memory
            into = memory.write_port()
            m.d.comb += [
                into.en.eq(write & (bank == number)),
                into.addr.eq(address),
                into.data.eq(self.memory.read.payload.data.word_select(slice_, 8 * self.side)),
            ]
            reads.append(memory.read_port(domain="comb"))
        return reads

    def _write(
        self,
        m: Module,
        banks: list[Any],
        full: Value,
        bottom: Value,
        word: Value,
        height: Value,
        columns: Value,
    ) -> None:
        """Write columns of a block as parts of rows of C; drive ``o_left`` with the last one."""
        row, side, across = self.memory.write_row.payload, self.side, self.across
        # The column, its slice and its place there; the word that leaves.
        column, group, byte = Signal(range(across)), Signal(range(self.WIDE)), Signal(range(side))
        piece = Signal(range(self.DEEP))
        # Where the column goes, where the block begins, and where that beside the first one does.
        to, begin, beside = (
            Signal(self.spec.address_width, name=name) for name in ("to", "begin", "beside")
        )
        addressed, addresses, sent, first = Signal(), Signal(), Signal(), Signal()
        ends, final, after, down = Signal(), Signal(), Signal(len(to)), Signal(len(to))
        m.d.comb += [
            *(port.addr.eq(Cat(piece, group)) for port in banks),
            ends.eq(sent & (piece == word)),
            final.eq(column == self._width(columns)),
            self.o_left.eq(ends & final),
            after.eq(to + self.i_geometry.ldc[:BYTES_WIDTH]),
            down.eq(Mux(bottom, Mux(first, after, beside), begin + side * self.DEEP)),
            self.memory.write_row.valid.eq(full & ~addressed),
            row.address.eq(to),
            row.bytes.eq(height),
            row.final.eq(final & bottom & (columns < across)),
            addresses.eq(self.memory.write_row.valid & self.memory.write_row.ready),
            self.memory.write.valid.eq(full & (addressed | addresses)),
            self.memory.write.payload.data.eq(
                Cat(port.data.word_select(byte, 8) for port in banks)
            ),
            sent.eq(self.memory.write.valid & self.memory.write.ready),
        ]
        with m.If(addresses):
            m.d.sync += addressed.eq(1)
        with m.If(sent):
            m.d.sync += piece.eq(piece + 1)
        with m.If(ends):
            m.d.sync += [addressed.eq(0), piece.eq(0), column.eq(column + 1), to.eq(after)]
            m.d.sync += byte.eq(byte + 1)
            with m.If(byte == side - 1):
                m.d.sync += [byte.eq(0), group.eq(group + 1)]
            with m.If(final):
                m.d.sync += [column.eq(0), group.eq(0), byte.eq(0), to.eq(down), begin.eq(down)]
                m.d.sync += first.eq(bottom)
                with m.If(first):
                    m.d.sync += beside.eq(after)
        with m.If(self.i_start):
            m.d.sync += [first.eq(1), to.eq(self.i_c), begin.eq(self.i_c)]
