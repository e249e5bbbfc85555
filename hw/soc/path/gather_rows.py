"""Gather: rows of A, each by an index in a row of B, to rows of C."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.soc.path.memory_streams import MemoryStreams
from hw.soc.path.word_slices import either, slices_of, word_slices
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry

__all__ = ["GatherRows"]

_INDEX = 4
"""Bytes of an index."""


class GatherRows(wiring.Component):
    """Reads indices and, for each, a row of a table, which it writes as it is.

    Indices are requested first, up to :attr:`AHEAD`, then one after each row, so that the order
    tells what arrives. An index is multiplied by the distance of rows bit by bit. Throughput: a row
    takes the longest of three times: two cycles, and one for each bit of its index up to the
    highest that is set; one for as many codes as there are lanes; an eighth of what it takes to
    read an index and to multiply it. After an index beyond the table nothing is requested, and
    ``o_beyond`` stays.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes.

    Members
    -------
    i_geometry : In
        The job: M rows of N codes.
    i_rows : In
        Rows of the table.
    i_wide : In(1)
        Codes have two bytes.
    i_a, i_b, i_c : In
        Addresses of the table, of indices and of C, with ``i_start``.
    i_start : In(1)
        Begin; only while ``o_ready``.
    o_asked, o_ready : Out(1)
        All rows have been requested; those of C have been handed over.
    o_beyond : Out(1)
        An index is not one of the table's; until a reset.
    memory : Out(MemoryStreams)
        Rows of A, and of C.
    """

    AHEAD = 8
    """Indices that are requested and not used: memory answers late."""

    i_geometry: data.View
    i_rows: Signal
    i_wide: Signal
    i_a: Signal
    i_b: Signal
    i_c: Signal
    i_start: Signal
    o_asked: Signal
    o_ready: Signal
    o_beyond: Signal
    memory: Any

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.lanes = spec.vector.lanes
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_rows": In(spec.dimension_width),
            "i_wide": In(1),
            "i_a": In(spec.address_width),
            "i_b": In(spec.address_width),
            "i_c": In(spec.address_width),
            "i_start": In(1),
            "o_asked": Out(1),
            "o_ready": Out(1),
            "o_beyond": Out(1),
            "memory": Out(MemoryStreams(spec, self.lanes * spec.vector_out_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.indices = indices = Fifo(8 * _INDEX, self.AHEAD)
        requesting, writing = self._request(m, indices), self._write(m, indices)
        m.d.comb += [self.o_asked.eq(~requesting), self.o_ready.eq(~requesting & ~writing)]
        return m

    def _order(self, m: Module, name: str, moves: Value) -> Signal:
        """Return whether what comes next is an index, not a row."""
        more, left = Signal(name=f"{name}_more"), Signal(self.spec.dimension_width, name=name)
        ahead = Signal(range(self.AHEAD + 1), name=f"{name}_ahead")
        index = Signal(name=f"{name}_index")
        m.d.comb += index.eq(more & (ahead != self.AHEAD))
        with m.If(moves):
            m.d.sync += ahead.eq(Mux(index, ahead + 1, ahead - 1))
            with m.If(index):
                m.d.sync += [left.eq(left - 1), more.eq(left != 0)]
        with m.If(self.i_start):
            m.d.sync += [more.eq(1), left.eq(self.i_geometry.m)]
        return index

    @property
    def _bytes(self) -> Value:
        """Bytes of a row."""
        codes = self.i_geometry.n + 1
        return Mux(self.i_wide, codes << 1, codes)

    def _request(self, m: Module, indices: Fifo) -> Signal:
        """Request indices, and the rows of those that have come; return whether rows are left."""
        job, row, moves = self.i_geometry, self.memory.read_row.payload, Signal()
        requesting, left = Signal(), Signal(self.spec.dimension_width, name="requested_left")
        at = Signal(self.spec.address_width, name="requested_at")
        index, last = self._order(m, "requested", moves), left == 0
        ready, address = self._find(m, indices, moves & ~index)
        m.d.comb += [
            self.memory.read_row.valid.eq(index | ready),
            moves.eq(self.memory.read_row.valid & self.memory.read_row.ready),
            row.address.eq(Mux(index, at, address)),
            row.bytes.eq(Mux(index, _INDEX, self._bytes)),
            row.to.eq(Destination.VECTOR),
            row.last.eq(last),
            row.final.eq(~index & last),
        ]
        with m.If(moves & index):
            m.d.sync += at.eq(at + job.ldb[:BYTES_WIDTH])
        with m.If(moves & ~index):
            m.d.sync += [left.eq(left - 1), requesting.eq(~last)]
        with m.If(self.i_start):
            m.d.sync += [requesting.eq(1), left.eq(job.m), at.eq(self.i_b)]
        return requesting

    def _find(self, m: Module, indices: Fifo, row_taken: Value) -> tuple[Signal, Signal]:
        """Return whether a row is found, and its address, stable until the row is requested."""
        index: Value = indices.o.payload
        hit, address = Signal(), Signal(self.spec.address_width, reset_less=True)
        left = Signal(self.spec.dimension_width, reset_less=True)
        # Bases change while a job is under way: those of the next one come.
        distance, table = (
            Signal(self.spec.address_width, name=name, reset_less=True)
            for name in ("distance", "table")
        )
        with m.If(self.i_start):
            m.d.sync += table.eq(self.i_a)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += indices.o.ready.eq(1)
                m.d.sync += [left.eq(index), distance.eq(self.i_geometry.lda)]
                m.d.sync += address.eq(table)
                with m.If(indices.o.valid):
                    m.next = "MULTIPLY"
                    with m.If(index >= self.i_rows):
                        m.next = "BEYOND"
            with m.State("MULTIPLY"):
                m.d.sync += [left.eq(left >> 1), distance.eq(distance << 1)]
                m.d.sync += address.eq(address + Mux(left[0], distance, 0))
                with m.If(left[1:] == 0):
                    m.next = "FOUND"
            with m.State("FOUND"):
                m.d.comb += hit.eq(1)
                with m.If(row_taken):
                    m.next = "IDLE"
            with m.State("BEYOND"):
                m.d.comb += self.o_beyond.eq(1)
        return hit, address

    def _write(self, m: Module, indices: Fifo) -> Signal:
        """Keep indices, and hand over rows; return whether rows are left."""
        job, lanes, size = self.i_geometry, self.lanes, self.spec.dimension_width
        row, moves = self.memory.write_row.payload, Signal()
        writing, rows = Signal(), Signal(size, name="written_left")
        at = Signal(self.spec.address_width, name="written_at")
        # Codes of a row that are left, less one; the beat of a word.
        left, slice_ = Signal(size, name="codes_left"), Signal(range(slices_of(self.spec)))
        addressed, addresses, arrives, sent, ends, final = (
            Signal(name=name)
            for name in ("addressed", "addresses", "arrives", "sent", "ends", "final")
        )
        index = self._order(m, "arriving", moves)
        codes, finals = zip(
            *word_slices(m, self.spec, self.memory.read.payload.data, slice_), strict=True
        )
        m.d.comb += [
            arrives.eq(self.memory.read.valid & ~index),
            indices.i.valid.eq(self.memory.read.valid & index),
            indices.i.payload.eq(self.memory.read.payload.data),
            self.memory.write_row.valid.eq(arrives & ~addressed),
            row.address.eq(at),
            row.bytes.eq(self._bytes),
            row.final.eq(rows == 0),
            addresses.eq(self.memory.write_row.valid & self.memory.write_row.ready),
            self.memory.write.valid.eq(arrives & (addressed | addresses)),
            self.memory.write.payload.data.eq(either(self.i_wide, list(codes))),
            sent.eq(self.memory.write.valid & self.memory.write.ready),
            ends.eq(left < lanes),
            final.eq(either(self.i_wide, list(finals)) | ends),
            # There is room for all indices that are requested.
            self.memory.read.ready.eq(index | (sent & final)),
            moves.eq((self.memory.read.valid & index) | (sent & ends)),
        ]
        with m.If(addresses):
            m.d.sync += addressed.eq(1)
        with m.If(sent):
            m.d.sync += left.eq(left - lanes)
            m.d.sync += slice_.eq(Mux(final, 0, slice_ + 1))
        with m.If(sent & ends):
            m.d.sync += [addressed.eq(0), left.eq(job.n), at.eq(at + job.ldc[:BYTES_WIDTH])]
            m.d.sync += [rows.eq(rows - 1), writing.eq(rows != 0)]
        with m.If(self.i_start):
            m.d.sync += [writing.eq(1), rows.eq(job.m), left.eq(job.n), at.eq(self.i_c)]
        return writing
