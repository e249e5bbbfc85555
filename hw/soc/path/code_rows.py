"""Rows of A read code by code, to rows of C: what lists of places have in common."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.memory_streams import MemoryStreams
from hw.soc.path.word_slices import either
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry

__all__ = ["CODE_BITS", "CodeRows"]

CODE_BITS = 17
"""Of a code with sign, and of its magnitude."""


class CodeRows(wiring.Component):
    """Requests rows of A, takes their codes one by one, and has rows of C written.

    Rows are requested up to :attr:`AHEAD` ahead.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes.
    inputs : Mapping[str, ShapeLike]
        How: inputs that one kind of rows has beside these.

    Members
    -------
    i_geometry : In
        The job: M rows of N codes.
    i_wide : In(1)
        Codes have two bytes.
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
    i_a: Signal
    i_c: Signal
    i_start: Signal
    o_asked: Signal
    o_ready: Signal
    memory: Any

    def __init__(self, spec: CoprocessorSpec, **inputs: ShapeLike):
        assert spec.vector is not None
        self.spec = spec
        self.word_bytes = spec.vector.lanes * spec.vector_out_bytes
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_wide": In(1),
            **{name: In(shape) for name, shape in inputs.items()},
            "i_a": In(spec.address_width),
            "i_c": In(spec.address_width),
            "i_start": In(1),
            "o_asked": Out(1),
            "o_ready": Out(1),
            "memory": Out(MemoryStreams(spec, self.word_bytes)),
        })

    def request(self, m: Module, row_ends: Value) -> Signal:
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

    def code(self) -> tuple[Value, Value, Signal]:
        """Return the code that comes, with sign; whether it is its word's last one; its number."""
        word = self.memory.read.payload.data
        number = Signal(range(self.spec.vector_word_bytes))
        values: list[Value] = []
        lasts: list[Value] = []
        for size in range(1, self.spec.vector_in_bytes + 1):
            count = len(word) // (8 * size)
            place = number[: (count - 1).bit_length()] if count > 1 else C(0, 1)
            code = word.word_select(place, 8 * size)
            values.append(Cat(code, code[-1].replicate(CODE_BITS - len(code))))
            lasts.append(place == count - 1 if count > 1 else C(1, 1))
        return either(self.i_wide, values), either(self.i_wide, lasts), number

    def address(self, m: Module, size: Value, row_ends: Value) -> tuple[Signal, Value]:
        """Request rows of C; return whether there are more, and whether a word may be sent."""
        job, write_row = self.i_geometry, self.memory.write_row
        writing, rows = Signal(), Signal(self.spec.dimension_width, name="written_left")
        at, addressed, addresses = Signal(self.spec.address_width), Signal(), Signal()
        m.d.comb += [
            write_row.valid.eq(writing & ~addressed),
            write_row.payload.address.eq(at),
            write_row.payload.bytes.eq(size),
            write_row.payload.final.eq(rows == 0),
            addresses.eq(write_row.valid & write_row.ready),
        ]
        with m.If(addresses):
            m.d.sync += addressed.eq(1)
        with m.If(row_ends):
            m.d.sync += [rows.eq(rows - 1), writing.eq(rows != 0), addressed.eq(0)]
            m.d.sync += at.eq(at + job.ldc[:BYTES_WIDTH])
        with m.If(self.i_start):
            m.d.sync += [writing.eq(1), rows.eq(job.m), at.eq(self.i_c)]
        return writing, addressed | addresses
