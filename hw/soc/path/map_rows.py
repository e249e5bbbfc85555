"""Jobs on maps: sums and products of rows of codes less zero points."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.map_lanes import MapFactors, digits_of, map_lane, map_memory, sums_of
from hw.soc.path.memory_streams import MemoryStreams
from hw.soc.path.word_slices import slices_of, word_slices
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry

__all__ = ["MapRows"]


class MapRows(wiring.Component):
    """Reads rows of B and of A, and hands over their sums or products, to be requantised.

    A row of B comes before each of A, or once if it is for all. Of a sum, its codes less a zero
    point, times a factor, are stored as sums, to which the row of A is added; the multipliers of a
    lane have a digit of the factor each. Of a product it is stored as it is, and its codes are the
    factors of those of A.

    Latency: 6 cycles from codes of A to sums. Throughput: codes of as many lanes per cycle, of A
    and of B; rows of few codes wait until what they need has been stored, 3 cycles. Stalls:
    ``o_sums.ready`` reaches ``memory.read.ready`` combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes, multipliers.

    Members
    -------
    i_geometry : In
        The job: M rows of N codes.
    i_multiplies, i_greater : In(1)
        Products, or the greater of two, not sums.
    i_factors : In(MapFactors)
        Zero points, and factors of sums.
    i_a, i_b, i_c : In
        Addresses of the matrices, with ``i_start``.
    i_start : In(1)
        Begin; only while ``o_ready``.
    o_ready : Out(1)
        All rows have been handed over.
    memory : Out(MemoryStreams)
        Rows of A and B; addresses of those of C, no words.
    o_sums : Out(stream)
        Sums, in two's complement, no earlier than the address of their row.
    """

    STORED = 3
    """Cycles from codes to the first in which what is stored of them can be used."""

    i_geometry: data.View
    i_multiplies: Signal
    i_greater: Signal
    i_factors: data.View
    i_a: Signal
    i_b: Signal
    i_c: Signal
    i_start: Signal
    o_ready: Signal
    memory: Any
    o_sums: stream.Interface

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.lanes = spec.vector.lanes
        self.beats = spec.vector.beats
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_multiplies": In(1),
            "i_greater": In(1),
            "i_factors": In(MapFactors),
            "i_a": In(spec.address_width),
            "i_b": In(spec.address_width),
            "i_c": In(spec.address_width),
            "i_start": In(1),
            "o_ready": Out(1),
            "memory": Out(MemoryStreams(spec, self.lanes * spec.vector_out_bytes)),
            "o_sums": Out(sums_of(spec)),
        })

    def elaborate(self, platform):
        m = Module()
        one_row = self.i_geometry.ldb == 0
        requests = self._request(m, one_row)
        move, taken = Signal(name="move"), Signal(name="taken")
        of_b, beat, ends = self._order(m, one_row, taken, move)
        codes = self._take(m, taken, move, ends)
        valid = self._compute(m, move, taken, of_b, beat, codes)
        writes = self._write(m, valid, move)
        m.d.comb += self.o_ready.eq(~requests & ~writes)
        return m

    def _request(self, m: Module, one_row: Value) -> Signal:
        """Request rows of B and of A in turn; return whether there are more."""
        job, row, moves = self.i_geometry, self.memory.read_row.payload, Signal()
        more, of_b = Signal(name="requests"), Signal(name="requests_b")
        left = Signal(self.spec.dimension_width, name="requested_left")
        a, b = (Signal(self.spec.address_width, name=f"requested_{side}") for side in "ab")
        last = ~of_b & (left == 0)
        m.d.comb += [
            self.memory.read_row.valid.eq(more),
            moves.eq(more & self.memory.read_row.ready),
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
        self, m: Module, one_row: Value, taken: Value, move: Value
    ) -> tuple[Signal, Signal, Signal]:
        """Follow the rows that come; return whether one is of B, the beat, and that it ends."""
        job, lanes = self.i_geometry, self.lanes
        of_b, beat, ends = Signal(), Signal(range(self.beats)), Signal()
        left = Signal(range(self.beats * lanes), name="read_left")
        # Moves since the row that came last has begun.
        since = Signal(range(self.STORED + 1), init=self.STORED)
        first = beat == 0
        waits = first & (since != self.STORED)
        m.d.comb += [
            ends.eq(left < lanes),
            taken.eq(self.memory.read.valid & move & ~waits),
        ]
        with m.If(move & (since != self.STORED)):
            m.d.sync += since.eq(since + 1)
        with m.If(taken):
            m.d.sync += [beat.eq(Mux(ends, 0, beat + 1)), left.eq(Mux(ends, job.n, left - lanes))]
            with m.If(first):
                m.d.sync += since.eq(1)
            with m.If(ends):
                m.d.sync += of_b.eq(~of_b & ~one_row)
        with m.If(self.i_start):
            m.d.sync += [of_b.eq(1), beat.eq(0), left.eq(job.n)]
        return of_b, beat, ends

    def _take(self, m: Module, taken: Value, move: Value, ends: Value) -> Value:
        """Take beats out of words; return the codes."""
        slice_ = Signal(range(slices_of(self.spec)))
        ((codes, final),) = word_slices(m, self.spec, self.memory.read.payload.data, slice_)[:1]
        m.d.comb += self.memory.read.ready.eq(taken & (final | ends))
        with m.If(taken):
            m.d.sync += slice_.eq(Mux(final | ends, 0, slice_ + 1))
        return codes

    def _compute(
        self, m: Module, move: Value, taken: Value, of_b: Value, beat: Value, codes: Value
    ) -> Value:
        """Multiply and add beats; return whether sums for C are in the last stage."""
        job, spec = self.i_factors, self.spec
        width, multiplies = spec.number_width, self.i_multiplies
        # Stages: codes, and what is stored of B; differences; products; their sum; that of a code.
        valid, of_bs = Signal(5), Signal(5, reset_less=True)
        beats = [
            Signal(range(self.beats), name=f"beat{stage}", reset_less=True) for stage in range(5)
        ]
        word = Signal(len(codes), name="codes_held", reset_less=True)
        with m.If(move):
            m.d.sync += [valid.eq(Cat(taken, valid)), of_bs.eq(Cat(of_b, of_bs)), word.eq(codes)]
            m.d.sync += [
                one.eq(other) for one, other in zip(beats, [beat, *beats[:-1]], strict=True)
            ]
        factors = map_memory(m, "factors", len(codes), self.beats)
        write, read = factors.write_port(), factors.read_port()
        m.d.comb += [
            write.en.eq(taken & of_b),
            write.addr.eq(beat),
            write.data.eq(codes),
            read.en.eq(move),
            read.addr.eq(beat),
        ]
        sums = map_memory(m, "sums", self.lanes * width, self.beats)
        into, stored = sums.write_port(), sums.read_port()
        m.d.comb += [
            stored.en.eq(move),
            stored.addr.eq(beats[2]),
            into.en.eq(move & valid[4] & of_bs[4]),
            into.addr.eq(beats[4]),
            into.data.eq(self.o_sums.payload),
        ]
        digits = digits_of(Mux(of_bs[0], job.b, job.a))
        zero = Mux(of_bs[0], job.b_zero, job.a_zero)
        for lane in range(self.lanes):
            x = word.word_select(lane, 8).as_signed() - zero.as_signed()
            factor = read.data.word_select(lane, 8).as_signed() - job.b_zero
            base = Mux(of_bs[3] | multiplies, 0, stored.data.word_select(lane, width))
            products = [
                Mux(multiplies, factor if number == 0 else 0, digit)
                for number, digit in enumerate(digits)
            ]
            total = map_lane(m, lane, move, x, products, base, self.i_greater & ~of_bs[3])
            m.d.comb += self.o_sums.payload.word_select(lane, width).eq(total)
        return valid[4] & ~of_bs[4]

    def _write(self, m: Module, valid: Value, move: Value) -> Signal:
        """Hand over addresses of rows of C, and sums; return whether there are more."""
        job, lanes, row = self.i_geometry, self.lanes, self.memory.write_row.payload
        more, addressed, addresses, sent = (
            Signal(name=name) for name in ("writes", "addressed", "addresses", "sent")
        )
        rows = Signal(self.spec.dimension_width, name="written_left")
        left = Signal(range(self.beats * lanes), name="sums_left")
        at = Signal(self.spec.address_width, name="written_at")
        m.d.comb += [
            self.memory.write_row.valid.eq(valid & ~addressed),
            row.address.eq(at),
            row.bytes.eq(job.n + 1),
            row.final.eq(rows == 0),
            addresses.eq(self.memory.write_row.valid & self.memory.write_row.ready),
            self.o_sums.valid.eq(valid & (addressed | addresses)),
            sent.eq(self.o_sums.valid & self.o_sums.ready),
            move.eq(~valid | sent),
        ]
        with m.If(addresses):
            m.d.sync += addressed.eq(1)
        with m.If(sent):
            m.d.sync += left.eq(left - lanes)
            with m.If(left < lanes):
                m.d.sync += [left.eq(job.n), addressed.eq(0), at.eq(at + job.ldc[:BYTES_WIDTH])]
                m.d.sync += [rows.eq(rows - 1), more.eq(rows != 0)]
        with m.If(self.i_start):
            m.d.sync += [more.eq(1), rows.eq(job.m), left.eq(job.n), at.eq(self.i_c)]
        return more
