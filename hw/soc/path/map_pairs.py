"""Jobs on two maps: rows of B and of A, one after the other."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.burst import Beat
from hw.soc.path.map_lanes import MapBeat
from hw.soc.path.word_slices import slices_of, word_slices
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry
from hw.soc.schedule.row_request import RowRequest

__all__ = ["MapPairs"]


class MapPairs(wiring.Component):
    """Reads rows of B and of A, a row of B before each of A, or once if it is for all.

    Throughput: a beat per cycle, of A and of B; rows of few codes wait until what they need has
    been stored, 3 cycles. Stalls: ``o.ready`` reaches ``read.ready`` combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes.

    Members
    -------
    i_geometry : In
        The job: M rows of N codes.
    i_multiplies : In(1)
        Codes of B are the factors of those of A; else they are stored as sums.
    i_a, i_b : In
        Addresses of the matrices, with ``i_start``.
    i_start : In(1)
        Begin.
    o_busy : Out(1)
        There are more rows to be requested.
    read_row : Out(stream)
        :class:`~hw.soc.schedule.row_request.RowRequest`.
    read : In(stream)
        :class:`~hw.soc.bus.burst.Beat`: words of the rows.
    o : Out(stream)
        :class:`~hw.soc.path.map_lanes.MapBeat`.
    """

    STORED = 3
    """Cycles from codes to the first in which what is stored of them can be used."""

    i_geometry: data.View
    i_multiplies: Signal
    i_a: Signal
    i_b: Signal
    i_start: Signal
    o_busy: Signal
    read_row: Any
    read: Any
    o: Any

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.lanes = spec.vector.lanes
        self.beats = spec.vector.beats
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_multiplies": In(1),
            "i_a": In(spec.address_width),
            "i_b": In(spec.address_width),
            "i_start": In(1),
            "o_busy": Out(1),
            "read_row": Out(stream.Signature(RowRequest(spec))),
            "read": In(stream.Signature(Beat(8 * spec.vector_word_bytes))),
            "o": Out(stream.Signature(MapBeat(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        one_row = self.i_geometry.ldb == 0
        taken, ends = Signal(name="taken"), Signal()
        of_b, beat = self._order(m, one_row, taken, ends)
        out = self.o.payload
        m.d.comb += [
            self.o_busy.eq(self._request(m, one_row)),
            out.codes.eq(self._take(m, taken, ends)),
            out.second.eq(of_b),
            out.loads.eq(of_b),
            out.chosen.eq(of_b),
            out.row.eq(1),
            out.weight.eq(beat),
            out.at.eq(beat),
            out.stores.eq(of_b),
            out.sends.eq(~of_b),
            out.adds.eq(~of_b & ~self.i_multiplies),
        ]
        return m

    def _request(self, m: Module, one_row: Value) -> Signal:
        """Request rows of B and of A in turn; return whether there are more."""
        job, row, moves = self.i_geometry, self.read_row.payload, Signal()
        more, of_b = Signal(name="requests"), Signal(name="requests_b")
        left = Signal(self.spec.dimension_width, name="requested_left")
        a, b = (Signal(self.spec.address_width, name=f"requested_{side}") for side in "ab")
        last = ~of_b & (left == 0)
        m.d.comb += [
            self.read_row.valid.eq(more),
            moves.eq(more & self.read_row.ready),
            row.address.eq(Mux(of_b, b, a)),
            row.bytes.eq(job.n + 1),
            row.to.eq(Destination.VECTOR),
            row.last.eq(last),
            row.final.eq(last),
        ]
        with m.If(moves & of_b):
            m.d.sync += [of_b.eq(0), b.eq(b + job.ldb[:BYTES_WIDTH])]
        with m.If(moves & ~of_b):
            m.d.sync += [of_b.eq(~one_row), a.eq(a + job.lda[:BYTES_WIDTH])]
            m.d.sync += [left.eq(left - 1), more.eq(left != 0)]
        with m.If(self.i_start):
            m.d.sync += [more.eq(1), of_b.eq(1), left.eq(job.m), a.eq(self.i_a), b.eq(self.i_b)]
        return more

    def _order(
        self, m: Module, one_row: Value, taken: Value, ends: Signal
    ) -> tuple[Signal, Signal]:
        """Follow the rows that come; return whether one is of B, and the beat."""
        job, lanes = self.i_geometry, self.lanes
        of_b, beat = Signal(), Signal(range(self.beats))
        left = Signal(range(self.beats * lanes), name="read_left")
        # Moves since the row that came last has begun.
        since = Signal(range(self.STORED + 1), init=self.STORED)
        first = beat == 0
        waits = first & (since != self.STORED)
        m.d.comb += [
            ends.eq(left < lanes),
            self.o.valid.eq(self.read.valid & ~waits),
            taken.eq(self.o.valid & self.o.ready),
        ]
        with m.If(self.o.ready & (since != self.STORED)):
            m.d.sync += since.eq(since + 1)
        with m.If(taken):
            m.d.sync += [beat.eq(Mux(ends, 0, beat + 1)), left.eq(Mux(ends, job.n, left - lanes))]
            with m.If(first):
                m.d.sync += since.eq(1)
            with m.If(ends):
                m.d.sync += of_b.eq(~of_b & ~one_row)
        with m.If(self.i_start):
            m.d.sync += [of_b.eq(1), beat.eq(0), left.eq(job.n)]
        return of_b, beat

    def _take(self, m: Module, taken: Value, ends: Value) -> Value:
        """Take beats out of words; return the codes."""
        slice_ = Signal(range(slices_of(self.spec)))
        ((codes, final),) = word_slices(m, self.spec, self.read.payload.data, slice_)[:1]
        m.d.comb += self.read.ready.eq(taken & (final | ends))
        with m.If(taken):
            m.d.sync += slice_.eq(Mux(final | ends, 0, slice_ + 1))
        return codes
