"""Loads the existing C into the sum store, for jobs that accumulate into it."""

from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.burst import Beat
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import Geometry

__all__ = ["AccumulateIn", "connect_addends"]


class AccumulateIn(wiring.Component):
    """Splits the rows of a block of C into rows of tiles, one per cycle.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the store.

    Members
    -------
    i_geometry : In
        The job.
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: words of rows, each with one or more tile rows.
    i_end : In(1)
        The row is its block's last one.
    i_skip : In(1)
        A block is not added to the existing C; none is before it whose rows have not come.
    write, o_half, o_address, o : Out
        A row of n numbers goes to the store.
    o_full : Out(1)
        The block is complete, after this cycle.
    """

    i_geometry: data.View
    i: stream.Interface
    i_end: Signal
    i_skip: Signal
    write: Signal
    o_half: Signal
    o_address: Signal
    o: Signal
    o_full: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        n = spec.inside.n
        self.slices = spec.row_slices(spec.sum_bytes)
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i": In(stream.Signature(Beat(8 * self.slices * n * spec.sum_bytes))),
            "i_end": In(1),
            "i_skip": In(1),
            "write": Out(1),
            "o_half": Out(1),
            "o_address": Out(range(spec.rows)),
            "o": Out(n * spec.number_width),
            "o_full": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        slice_ = Signal(range(self.slices))
        base, column = Signal(range(spec.rows)), Signal(range(spec.rows))
        across, ends = Signal(), Signal()  # the row is complete in the store; with its last word
        after = Signal(range(spec.rows + 1))
        m.d.comb += [
            after.eq(column + 1),
            self.write.eq(self.i.valid),
            # A tile beyond the row would overwrite one of the next.
            across.eq(after == self.i_geometry.across),
            self.i.ready.eq(across | (slice_ == self.slices - 1)),
            ends.eq(self.i.valid & self.i.ready & self.i.payload.last),
            self.o_address.eq(base + column),
            self.o_full.eq(ends & self.i_end),
        ]
        with m.If(self.write):
            m.d.sync += [column.eq(after), slice_.eq(slice_ + 1)]
            with m.If(self.i.ready):
                m.d.sync += slice_.eq(0)
        with m.If(ends):
            m.d.sync += [column.eq(0), base.eq(base + self.i_geometry.across)]
        with m.If(self.o_full):
            m.d.sync += base.eq(0)
        with m.If(self.o_full | self.i_skip):
            m.d.sync += self.o_half.eq(~self.o_half)
        # A signal: otherwise every number would have a multiplexer of its own.
        row = Signal(8 * spec.inside.n * spec.sum_bytes)
        m.d.comb += row.eq(self.i.payload.data.word_select(slice_, len(row)))
        numbers = [
            row.word_select(number, 8 * spec.sum_bytes)[: spec.inside.sum_width]
            for number in range(spec.inside.n)
        ]
        m.d.comb += self.o.eq(
            Cat(Cat(number, 0) if spec.inside.flags else number for number in numbers)
        )
        return m


def connect_addends(m: Module, path: Any, loader: Any, tiles: Any) -> Any:
    """Connect what loads the existing C of a data path; return what takes its words."""
    m.submodules.addends = addends = AccumulateIn(path.spec)
    geometry, begun, sums = path.i_load_geometry, loader.o_block, path.sum_store
    begins = begun.valid & begun.ready & begun.payload.last_code
    m.d.comb += [
        addends.i_geometry.eq(geometry),
        # A block begins that is not added to what is there.
        addends.i_skip.eq(begins & ~geometry.accumulate),
        sums.i_write.eq(addends.write),
        sums.i_write_half.eq(addends.o_half),
        sums.i_write_address.eq(addends.o_address),
        sums.i_write_row.eq(addends.o),
        tiles.i_full_c.eq(addends.o_full),
    ]
    if path.row_factors is None:
        return addends
    m.submodules.row_factors = factors = path.row_factors
    connect(m, factors.o, addends.i)
    m.d.comb += [
        factors.i_factored.eq(geometry.factored),
        addends.i_end.eq(factors.o_end),
        # As many blocks are ahead as rows of the existing C let them be.
        loader.i_free[Destination.ROW_FACTORS].eq(addends.o_full & geometry.factored),
    ]
    return factors
