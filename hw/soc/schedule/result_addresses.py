"""Addresses of the rows of C in memory, block by block."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.burst import Row
from hw.soc.schedule.geometry import Geometry, bytes_of
from hw.soc.schedule.tile_walk import BlockDone

__all__ = ["ResultAddresses"]


class ResultAddresses(wiring.Component):
    """Issues the address of each row of a block of C, as soon as the row leaves the store.

    Not earlier: an address waiting for data could block other bus managers. Latency: one cycle
    after the row begins to leave. Throughput: one row per cycle, with one idle cycle between
    blocks.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.

    Members
    -------
    i_geometry : In
        The job.
    i_start : In(1)
        It begins.
    i : In(stream)
        :class:`hw.soc.schedule.tile_walk.BlockDone`: the blocks to expect.
    i_come : In(1)
        A row begins to leave.
    o : Out(stream)
        :class:`hw.soc.bus.burst.Row`: its address.
    o_final : Out(1)
        The row is the last one of C.
    o_idle : Out(1)
        All rows of the known blocks have been issued.
    """

    i_geometry: data.View
    i_start: Signal
    i: stream.Interface
    i_come: Signal
    o: stream.Interface
    o_final: Signal
    o_idle: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "i": In(stream.Signature(BlockDone(spec))),
            "i_come": In(1),
            "o": Out(stream.Signature(Row(spec))),
            "o_final": Out(1),
            "o_idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        spec, job, block = self.spec, self.i_geometry, self.i.payload
        # Address of a row of blocks, and of the next row, without the block's column offset.
        start, row = (Signal(spec.address_width, name=name) for name in ("start", "row"))
        before = Signal(spec.dimension_width)
        told = Signal.like(block.rows, name="told")
        come = Signal(range(2 * spec.rows + 1))
        moves, last = Signal(), Signal()
        m.d.comb += [
            self.o.valid.eq(self.i.valid & (come != 0) & (told != block.rows)),
            self.o.payload.address.eq(row + self._length(before)),
            self.o.payload.bytes.eq(self._length(block.columns)),
            moves.eq(self.o.valid & self.o.ready),
            last.eq(told == block.rows),
            self.i.ready.eq(last),
            self.o_final.eq(block.last_row & block.last_column & (told + 1 == block.rows)),
            self.o_idle.eq(~self.i.valid),
        ]
        m.d.sync += come.eq(come + self.i_come - moves)
        with m.If(moves):
            m.d.sync += [row.eq(row + job.ldc), told.eq(told + 1)]
        with m.If(self.i_start):
            m.d.sync += [start.eq(job.c), row.eq(job.c), before.eq(0), told.eq(0)]
        with m.Elif(self.i.valid & last):
            m.d.sync += told.eq(0)
            with m.If(~job.by_columns & ~block.last_column):
                m.d.sync += row.eq(start)
            with m.Elif(block.last_row):
                m.d.sync += [start.eq(job.c), row.eq(job.c)]
            with m.Else():
                m.d.sync += start.eq(row)
            with m.If(~job.by_columns & block.last_column):
                m.d.sync += before.eq(0)
            with m.Elif(~job.by_columns | block.last_row):
                m.d.sync += before.eq(before + job.columns)
        return m

    def _length(self, numbers: Value) -> Value:
        """Return the bytes of a count of numbers of C."""
        spec = self.spec
        sums = numbers * spec.sum_bytes
        if not spec.requantise:
            return sums
        return Mux(self.i_geometry.requantised, bytes_of(numbers, spec.code_bits), sums)
