"""Places in C of the numbers that become codes, for the random bits by which they are rounded."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.npe.rounding.placed_bits import Place, PlacedBits
from hw.soc.schedule.block_done import BlockDone
from hw.soc.schedule.geometry import Geometry

__all__ = ["SEED_WIDTH", "PlaceWalk", "place_codes"]

SEED_WIDTH = 31
"""Bits of a job's seed."""


class PlaceWalk(wiring.Component):
    """Walks through C as its rows leave the result writer: block by block, and row by row.

    Throughput: one place per cycle, across blocks too. Stalls: ``o.ready`` reaches ``i.ready``
    combinationally, and a block is taken with its last place.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: blocks of C.
    across : int
        How: columns that leave at a time, of which a tile has a multiple.

    Members
    -------
    i_geometry, i_seed : In, In
        The job.
    i : In(stream)
        :class:`hw.soc.schedule.block_done.BlockDone`, of jobs that make codes.
    o : Out(stream)
        :class:`hw.npe.rounding.placed_bits.Place`.
    """

    i_geometry: data.View
    i_seed: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: CoprocessorSpec, across: int):
        self.spec = spec
        self.across = across
        self.unit = across & -across
        """Columns by which places are counted."""
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_seed": In(SEED_WIDTH),
            "i": In(stream.Signature(BlockDone(spec))),
            "o": Out(stream.Signature(Place(spec.dimension_width))),
        })

    def elaborate(self, platform):
        m = Module()
        block, by_columns = self.i.payload, self.i_geometry.by_columns
        unit_width = (self.unit - 1).bit_length()
        step = self.across // self.unit
        row = Signal(self.spec.dimension_width)
        column = Signal(self.spec.dimension_width - unit_width)
        # Where the block begins; rows and columns of it that are behind.
        top, left = Signal.like(row, name="top"), Signal.like(column, name="left")
        down, along = Signal.like(block.rows, name="down"), Signal.like(block.columns, name="along")
        moves, ends_row, ends = Signal(), Signal(), Signal()
        right, below = Signal.like(column, name="right_of"), Signal.like(row, name="below")
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.o.payload.seed.eq(self.i_seed),
            self.o.payload.row.eq(row),
            self.o.payload.column.eq(Cat(C(0, unit_width), column)),
            moves.eq(self.i.valid & self.o.ready),
            ends_row.eq(along + self.across >= block.columns),
            ends.eq(ends_row & (down + 1 == block.rows)),
            self.i.ready.eq(moves & ends),
            right.eq(column + step),
            below.eq(row + 1),
        ]
        # The first block of the next row of blocks, of the next column, or of the next job.
        next_top, next_left = Signal.like(row), Signal.like(column)
        m.d.comb += [
            next_top.eq(_next(~by_columns, block.last_column, block.last_row, below, top)),
            next_left.eq(_next(by_columns, block.last_row, block.last_column, right, left)),
        ]
        with m.If(moves):
            m.d.sync += [column.eq(right), along.eq(along + self.across)]
            with m.If(ends_row):
                m.d.sync += [column.eq(left), along.eq(0), row.eq(below), down.eq(down + 1)]
            with m.If(ends):
                m.d.sync += [column.eq(next_left), left.eq(next_left), down.eq(0)]
                m.d.sync += [row.eq(next_top), top.eq(next_top)]
        return m


def _next(outer: Value, inner_ends: Value, ends: Value, further: Value, begin: Value) -> Value:
    """Return where the next block begins, along one side of C.

    Parameters
    ----------
    outer : blocks go along the other side first.
    inner_ends, ends : the block is the last one of the other side; of this side.
    further, begin : behind the block; where it begins.
    """
    onward = Mux(ends, 0, further)
    return Mux(outer, Mux(inner_ends, onward, begin), onward)


def place_codes(m: Module, writer: Any) -> list[Value]:
    """Make the random bits of codes, if the build rounds by some.

    Parameters
    ----------
    m : where.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.

    Returns
    -------
    What must hold so that a block is taken. Without random bits, nothing.
    """
    spec = writer.spec
    if not spec.random_width:
        return []
    walk = PlaceWalk(spec, writer.across)
    bits = PlacedBits(spec.random_width, writer.across, spec.dimension_width)
    blocks = Fifo(BlockDone(spec), 2)
    m.submodules.place_walk, m.submodules.placed_bits = walk, bits
    m.submodules.placed_blocks = blocks
    connect(m, blocks.o, walk.i)
    connect(m, walk.o, bits.i)
    connect(m, bits.o, writer.codes.i_random)
    codes = writer.i_geometry.requantised
    m.d.comb += [
        walk.i_geometry.eq(writer.i_geometry),
        walk.i_seed.eq(writer.i_seed),
        blocks.i.valid.eq(writer.i.valid & writer.i.ready & codes),
        blocks.i.payload.eq(writer.i.payload),
    ]
    return [blocks.i.ready | ~codes]
