"""Blends of rows: codes of A and of B, by factors that follow those of B, to rows of C."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import NO_COLLISION
from hw.soc.path.memory_streams import MemoryStreams
from hw.soc.path.row_words import fitted
from hw.soc.path.word_slices import either, slices_of, word_slices
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry

__all__ = ["BlendRows"]

_A, _B, _FACTORS = range(3)
"""Rows, in the order in which they are read."""
_STAGES = 4
"""Codes; their difference; its product; the sum, rounded."""


class BlendRows(wiring.Component):
    """Weighs codes of two rows by factors: :func:`golden.npe.elements.blend`.

    Rows of A and of B are stored, beat by beat, until factors come. There is one multiplier for
    each lane, of the difference. Latency: 4 cycles from factors to codes. Throughput: 3 cycles a
    beat, one for each row that is read.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes, codes, length of rows.

    Members
    -------
    i_geometry : In
        The job: M rows of N codes.
    i_wide : In(1)
        Codes that are read have two bytes.
    i_shift : In(4)
        Bits of a factor after the binary point.
    i_low, i_high : In(16)
        Least and greatest code, two's complement.
    i_a, i_b, i_c : In
        Addresses of the matrices, with ``i_start``.
    i_start : In(1)
        Begin; only while ``o_ready``.
    o_asked, o_ready : Out(1)
        All rows have been requested; those of C have been handed over.
    memory : Out(MemoryStreams)
        Rows of A, B and C.
    """

    SCALE = ("shift", "low", "high")
    """What it takes of a requantisation."""

    i_geometry: data.View
    i_wide: Signal
    i_shift: Signal
    i_low: Signal
    i_high: Signal
    i_a: Signal
    i_b: Signal
    i_c: Signal
    i_start: Signal
    o_asked: Signal
    o_ready: Signal
    memory: Any

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec, self.vector = spec, spec.vector
        self.lanes = spec.vector.lanes
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_wide": In(1),
            "i_shift": In(4),
            **dict.fromkeys(("i_low", "i_high"), In(signed(16))),
            **dict.fromkeys(("i_a", "i_b", "i_c"), In(spec.address_width)),
            "i_start": In(1),
            "o_asked": Out(1),
            "o_ready": Out(1),
            "memory": Out(MemoryStreams(spec, self.lanes * spec.vector_out_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        move = Signal()
        requesting = self._request(m)
        codes, last = self._read(m, move)
        writing = self._write(m, move, codes, last)
        m.d.comb += [self.o_asked.eq(~requesting), self.o_ready.eq(~requesting & ~writing)]
        return m

    def _request(self, m: Module) -> Signal:
        """Request rows of A and of B, and factors behind these; return whether there are more."""
        job, row, moves = self.i_geometry, self.memory.read_row.payload, Signal()
        requesting, phase = Signal(name="requesting"), Signal(2, name="requested")
        left = Signal(self.spec.dimension_width, name="requested_left")
        a, b = (Signal(self.spec.address_width, name=f"requested_{side}") for side in "ab")
        size = Signal(BYTES_WIDTH)
        last = (phase == _FACTORS) & (left == 0)
        m.d.comb += [
            size.eq(Mux(self.i_wide, (job.n + 1) << 1, job.n + 1)),
            self.memory.read_row.valid.eq(requesting),
            moves.eq(self.memory.read_row.valid & self.memory.read_row.ready),
            row.address.eq(Mux(phase == _A, a, Mux(phase == _B, b, b + size))),
            row.bytes.eq(size),
            row.to.eq(Destination.VECTOR),
            row.last.eq(last),
            row.final.eq(last),
        ]
        with m.If(moves):
            m.d.sync += phase.eq(Mux(phase == _FACTORS, _A, phase + 1))
            with m.If(phase == _FACTORS):
                m.d.sync += [a.eq(a + job.lda[:BYTES_WIDTH]), b.eq(b + job.ldb[:BYTES_WIDTH])]
                m.d.sync += [left.eq(left - 1), requesting.eq(left != 0)]
        with m.If(self.i_start):
            m.d.sync += [requesting.eq(1), phase.eq(_A), left.eq(job.m)]
            m.d.sync += [a.eq(self.i_a), b.eq(self.i_b)]
        return requesting

    def _read(self, m: Module, move: Value) -> tuple[list[Value], Value]:
        """Take beats of rows; return codes of C, and whether they are their row's last.

        Those of A and of B are stored; where factors come, these are read again.
        """
        spec, width, read = self.spec, self.vector.width, self.memory.read
        slice_, phase, beat = (
            Signal(range(slices_of(spec))),
            Signal(2),
            Signal(range(self.vector.beats)),
        )
        left = Signal(range(self.vector.length), name="read_left")
        takes, ends, final = Signal(), Signal(), Signal()
        values: list[Value] = []
        finals: list[Value] = []
        for word, is_last in word_slices(m, spec, read.payload.data, slice_):
            size = len(word) // self.lanes
            each = (word.word_select(lane, size) for lane in range(self.lanes))
            values.append(Cat(fitted(code, width) for code in each))
            finals.append(is_last)
        codes = Signal(self.lanes * width)
        m.d.comb += [
            codes.eq(either(self.i_wide, values)),
            final.eq(either(self.i_wide, finals)),
            ends.eq(left < self.lanes),
            takes.eq(read.valid & ((phase != _FACTORS) | move)),
            read.ready.eq(takes & (final | ends)),
        ]
        with m.If(takes):
            m.d.sync += [
                slice_.eq(Mux(final | ends, 0, slice_ + 1)),
                beat.eq(Mux(ends, 0, beat + 1)),
                left.eq(Mux(ends, self.i_geometry.n, left - self.lanes)),
            ]
            with m.If(ends):
                m.d.sync += phase.eq(Mux(phase == _FACTORS, _A, phase + 1))
        with m.If(self.i_start):
            m.d.sync += [phase.eq(_A), beat.eq(0), left.eq(self.i_geometry.n)]
        weighs = takes & (phase == _FACTORS)
        stored = [
            self._stored(m, name, (takes & (phase == number), weighs), beat, codes)
            for name, number in (("a", _A), ("b", _B))
        ]
        factors = Signal.like(codes, name="factors", reset_less=True)
        with m.If(weighs):
            m.d.sync += factors.eq(codes)
        self.valid, last = Signal(_STAGES, name="valid"), Signal(_STAGES, name="last")
        with m.If(move):
            m.d.sync += [self.valid.eq(Cat(weighs, self.valid)), last.eq(Cat(ends, last))]
        lanes = [
            self._lane(m, lane, move, *(one.word_select(lane, width) for one in (*stored, factors)))
            for lane in range(self.lanes)
        ]
        return lanes, last[-1]

    def _stored(
        self, m: Module, name: str, when: tuple[Value, Value], beat: Value, codes: Value
    ) -> Value:
        """Store beats of a row; return that which is read again, a cycle later.

        Parameters
        ----------
        when : a beat is stored; one is read.
        """
        memory: Memory[int, Value] = Memory(
            shape=len(codes), depth=max(self.vector.beats, 2), init=[], attrs={NO_COLLISION: "1"}
        )
        m.submodules[name] = memory
        write, read = memory.write_port(), memory.read_port()
        stores, reads = when
        m.d.comb += [port.addr.eq(beat) for port in (write, read)]
        m.d.comb += [write.en.eq(stores), write.data.eq(codes), read.en.eq(reads)]
        out: Value = read.data
        return out

    def _lane(self, m: Module, lane: int, move: Value, a: Value, b: Value, factor: Value) -> Value:
        """Compute a code: b and a product, rounded, within limits."""
        width = self.vector.width

        def held(name: str, value: Value) -> Signal:
            register = Signal(value.shape(), name=f"{name}{lane}", reset_less=True)
            with m.If(move):
                m.d.sync += register.eq(value)
            return register

        a, b, factor = a.as_signed(), b.as_signed(), factor.as_signed()
        d_b, d_factor = held("d_b", b), held("d_factor", factor)
        p = held("p", held("d", a - b) * d_factor)
        p_b = held("p_b", d_b)
        half = Cat((self.i_shift == places + 1) for places in range(15))
        total = Signal(signed(max(2 * width + 1, width + 15) + 2), name=f"total{lane}")
        m.d.comb += total.eq(p + (p_b << self.i_shift) + Cat(half, C(0, 1)).as_signed())
        code = total >> self.i_shift
        low, high = self.i_low, self.i_high
        limited = Mux(code < low, low, Mux(code > high, high, code))[:16]
        return held("code", limited)

    def _write(self, m: Module, move: Signal, codes: list[Value], last: Value) -> Signal:
        """Write rows of codes; return whether there are more."""
        spec, job, memory = self.spec, self.i_geometry, self.memory
        size = 8 * spec.vector_out_bytes
        writing, left = Signal(name="writing"), Signal(spec.dimension_width, name="written_left")
        at, addressed, addresses = Signal(spec.address_width), Signal(), Signal()
        narrowed = job.narrowed if spec.sizes and size > 8 else C(0, 1)
        count, valid = job.n + 1, self.valid[-1]
        words = Mux(narrowed, Cat(code[:8] for code in codes), Cat(code[:size] for code in codes))
        m.d.comb += [
            memory.write_row.valid.eq(writing & valid & ~addressed),
            memory.write_row.payload.address.eq(at),
            memory.write_row.payload.bytes.eq(Mux(narrowed, count, count * spec.vector_out_bytes)),
            memory.write_row.payload.final.eq(left == 0),
            addresses.eq(memory.write_row.valid & memory.write_row.ready),
            memory.write.valid.eq(valid & (addressed | addresses)),
            memory.write.payload.data.eq(words),
            move.eq(~valid | (memory.write.valid & memory.write.ready)),
        ]
        with m.If(addresses):
            m.d.sync += addressed.eq(1)
        with m.If(valid & move & last):
            m.d.sync += [left.eq(left - 1), writing.eq(left != 0), addressed.eq(0)]
            m.d.sync += at.eq(at + job.ldc[:BYTES_WIDTH])
        with m.If(self.i_start):
            m.d.sync += [writing.eq(1), left.eq(job.m), at.eq(self.i_c)]
        return writing
