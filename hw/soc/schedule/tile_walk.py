"""The order of tiles: the engine's operands, and the destination of its sums."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.arith.product import product_in_logic
from hw.soc.schedule.block_done import BlockDone, ends_codes, mark_groups
from hw.soc.schedule.block_walk import Block
from hw.soc.schedule.geometry import Geometry, pick, scales_of
from hw.soc.schedule.sides import Side, TileRequest, apart, counts, place_of, where_shifted

__all__ = ["SumsRequest", "TileWalk"]


class SumsRequest(data.StructLayout):
    """Destination of a tile's sums: row 0 to ``address``, the next rows `p_stride` apart.

    ``column`` is the tile's index in its row. ``add`` adds the stored sums, ``bias`` the biases of
    the columns; ``rows`` rows of C become complete, and ``done`` completes a block.
    """

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({
            "address": range(spec.rows),
            "column": range(spec.rows),
            "add": 1,
            "bias": 1,
            "rows": range(spec.inside.m + 1),
            "done": 1,
        })


class _Tile(NamedTuple):
    """Where the walk is in a block.

    Members
    -------
    rows, columns : the rest of the block, from this tile on.
    height, width : those of them that the tile has: known a cycle before.
    row, column : the tile's indices.
    a_address, row_address : of its row in the store of A, and of its sums.
    word, slice : of its columns in the store of B.
    first : it is the block's first one.
    right, below : it is the last one of its row, it is in the last row: known a cycle before.
    narrow, single : the block is a tile wide; is a tile.
    ends, last_code : a tile of the block ends its sums in the engine; the block ends K.
    """

    rows: Signal
    columns: Signal
    height: Signal
    width: Signal
    row: Signal
    column: Signal
    a_address: Signal
    row_address: Signal
    word: Signal
    slice: Signal
    first: Signal
    right: Signal
    below: Signal
    narrow: Signal
    single: Signal
    ends: Signal
    last_code: Signal

    @classmethod
    def make(cls, spec: CoprocessorSpec, block: Any, slices: int) -> Self:
        """Make the signals."""
        shapes: dict[str, ShapeLike] = {
            "rows": block.rows.shape(),
            "columns": block.columns.shape(),
            "height": range(spec.inside.m + 1),
            "width": range(spec.inside.n + 1),
            **dict.fromkeys(("row", "a_address"), range(spec.a_words)),
            **dict.fromkeys(("column", "row_address"), range(spec.rows)),
            "word": range(spec.b_words),
            "slice": range(slices),
        }
        return cls(**{name: Signal(shapes.get(name, 1), name=name) for name in cls._fields})


class TileWalk(wiring.Component):
    """Steps through the tiles of blocks, row by row, one per cycle; operands wait for their loads.

    The sums of a block that is a single tile stay in the engine for all of K; other blocks are
    accumulated in the sum store.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.
    sides : mapping of str to Side
        What: the engine's inputs.

    Members
    -------
    i_geometry : In
        The job.
    i_block : In(stream)
        :class:`hw.soc.schedule.block_walk.Block`: the blocks.
    i_full_c : In(1)
        Half of the sum store has been filled with the existing C.
    o_a, o_b, .. : Out(stream)
        :class:`TileRequest` of each side.
    o_sums : Out(stream)
        :class:`SumsRequest`.
    o_done : Out(stream)
        :class:`BlockDone`, when a block's first tile that ends K is requested: its rows leave as
        they complete.
    o_last : Out(1)
        The job's last tile is requested.
    """

    i_geometry: data.View
    i_block: stream.Interface
    i_full_c: Signal
    o_a: stream.Interface
    o_b: stream.Interface
    o_sums: stream.Interface
    o_done: stream.Interface
    o_last: Signal

    def __init__(self, spec: CoprocessorSpec, sides: Mapping[str, Side]):
        self.spec = spec
        self.sides = sides
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_block": In(stream.Signature(Block(spec))),
            "i_full_c": In(1),
            **{
                f"o_{name}": Out(stream.Signature(TileRequest(spec, side)))
                for name, side in sides.items()
            },
            "o_sums": Out(stream.Signature(SumsRequest(spec))),
            "o_done": Out(stream.Signature(BlockDone(spec))),
            "o_last": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        job, block = self.i_geometry, self.i_block.payload
        tile = _Tile.make(self.spec, block, max(self.sides["b"].slices))
        step, leave = Signal(name="step"), Signal(name="leave")
        m.d.comb += [
            leave.eq(step & tile.right & tile.below),
            self.i_block.ready.eq(leave),
            self.o_last.eq(leave & block.last & tile.last_code),
        ]
        self._request_sums(m, tile)
        for name in self.sides:
            self._request(m, name, tile, leave)
        # The existing C is needed before the first block of K.
        waits, sums_full = Signal(), Signal(range(3))
        m.d.comb += waits.eq(job.accumulate & block.first_code)
        m.d.sync += sums_full.eq(sums_full + self.i_full_c - (leave & waits))
        with m.FSM():
            with m.State("BLOCK"):
                # Over and over, until there is a block: no register waits for its flags.
                self._begin(m, tile)
                with m.If(self.i_block.valid & (~waits | (sums_full != 0))):
                    m.next = "TILES"
            with m.State("TILES"):
                ports = [getattr(self, f"o_{name}") for name in (*self.sides, "sums", "done")]
                of = [where_shifted(self.spec, name, job, C(1)) for name in self.sides]
                m.d.comb += step.eq(_issue(m, ports, [*of, tile.ends, tile.first & tile.last_code]))
                with m.If(step):
                    self._step(m, tile)
                with m.If(leave):
                    m.next = "BLOCK"
        return m

    def _request_sums(self, m: Module, tile: _Tile) -> None:
        """Say where the sums go, and what is done with the block when all are there."""
        job, block = self.i_geometry, self.i_block.payload
        a, b, sums, done = (port.payload for port in (self.o_a, self.o_b, self.o_sums, self.o_done))
        m.d.comb += [
            a.address.eq(tile.a_address),
            b.address.eq(tile.word),
            b.slice.eq(tile.slice),
            sums.address.eq(tile.row_address + tile.column),
            sums.column.eq(tile.column),
            sums.add.eq((~block.first_code & ~tile.single) | job.accumulate),
            sums.bias.eq(job.biased & (block.first_code | tile.single)),
            sums.rows.eq(Mux(tile.right & tile.last_code, a.lines, 0)),
            sums.done.eq(tile.right & tile.below & tile.last_code),
            done.rows.eq(block.rows),
            done.columns.eq(block.columns),
            done.last_row.eq(block.last_row),
            done.last_column.eq(block.last_column),
            done.added.eq(sums.add),
        ]
        mark_groups(m, self.spec, job, block, (sums, done))

    def _begin(self, m: Module, tile: _Tile) -> None:
        """Go to the first tile of a block."""
        block, engine = self.i_block.payload, self.spec.inside
        thin, low = block.columns <= engine.n, block.rows <= engine.m
        alone = apart(self.spec, self.i_geometry, thin & low)
        m.d.sync += [tile.rows.eq(block.rows), tile.columns.eq(block.columns), tile.first.eq(1)]
        m.d.sync += [tile.below.eq(low), tile.right.eq(thin), tile.narrow.eq(thin)]
        m.d.sync += [tile.single.eq(alone), tile.ends.eq(block.last_code | ~alone)]
        m.d.sync += tile.height.eq(Mux(low, block.rows, engine.m))
        m.d.sync += tile.width.eq(Mux(thin, block.columns, engine.n))
        starts = (tile.a_address, tile.row_address, tile.row, tile.word, tile.slice, tile.column)
        ends = ends_codes(self.spec, self.i_geometry, block)
        m.d.sync += [tile.last_code.eq(ends), *(one.eq(0) for one in starts)]

    def _step(self, m: Module, tile: _Tile) -> None:
        """Go to the next tile: the one beside it, or the first one of the next row."""
        job, block, engine = self.i_geometry, self.i_block.payload, self.spec.inside
        m.d.sync += [tile.columns.eq(tile.columns - engine.n), tile.column.eq(tile.column + 1)]
        thin, low = tile.columns <= 2 * engine.n, tile.rows <= 2 * engine.m
        m.d.sync += [tile.first.eq(0), tile.right.eq(thin)]
        m.d.sync += tile.width.eq(Mux(thin, tile.columns - engine.n, engine.n))
        self._next_slice(m, tile.word, tile.slice)
        with m.If(tile.right):
            m.d.sync += [tile.columns.eq(block.columns), tile.rows.eq(tile.rows - engine.m)]
            m.d.sync += [tile.right.eq(tile.narrow), tile.below.eq(low)]
            m.d.sync += tile.height.eq(Mux(low, tile.rows - engine.m, engine.m))
            m.d.sync += tile.width.eq(Mux(tile.narrow, block.columns, engine.n))
            m.d.sync += [tile.word.eq(0), tile.slice.eq(0), tile.column.eq(0)]
            m.d.sync += tile.row.eq(tile.row + 1)
            m.d.sync += tile.a_address.eq(tile.a_address + job.a_stride)
            m.d.sync += tile.row_address.eq(tile.row_address + job.p_stride)

    def _request(self, m: Module, name: str, tile: _Tile, leave: Value) -> None:
        """Request a tile of an operand: which buffer, how many lines, and codes along K."""
        spec, job, block = self.spec, self.i_geometry, self.i_block.payload
        request, of_a = getattr(self, f"o_{name}").payload, name[0] == "a"
        part = Signal(range(spec.PARTS), name=f"part_{name}")
        keep = block.keep_a if of_a else block.keep_b
        m.d.sync += part.eq(part + where_shifted(spec, name, job, leave & ~keep))
        codes = block.codes if name in "ab" else scales_of(spec, block.codes, job.kind)
        m.d.comb += place_of(spec, self.sides[name], request, tile)
        if counts(spec, self.sides[name]):
            m.d.comb += request.area.eq(product_in_logic(tile.height, tile.width))
        if self.sides[name].expander.table_bytes:
            turn = Signal(range(spec.PARTS))
            m.d.sync += turn.eq(turn + self.o_last)
            m.d.comb += request.turn.eq(turn)
        m.d.comb += [
            request.part.eq(part),
            request.row.eq(tile.row if of_a else 0),
            request.lines.eq(tile.height if of_a else tile.width),
            request.codes.eq(codes),
            request.last.eq(tile.ends),
            request.tail.eq(tile.last_code),
            request.release.eq(tile.right & tile.below & ~keep),
        ]

    def _next_slice(self, m: Module, word: Signal, slice_: Signal) -> None:
        """Go on to the next columns of B: the next slice of a word, or the next word."""
        slices = self.sides["b"].slices
        if max(slices) == 1:
            m.d.sync += word.eq(word + 1)
            return
        final = slice_ == pick(lambda count: C(count - 1), slices, self.i_geometry.kind)
        m.d.sync += slice_.eq(Mux(final, 0, slice_ + 1))
        with m.If(final):
            m.d.sync += word.eq(word + 1)


def _issue(m: Module, streams: Sequence[Any], wanted: Sequence[Value]) -> Value:
    """Offer all requests of a tile in one cycle; return whether all are taken."""
    taken = [~want | port.ready for port, want in zip(streams, wanted, strict=True)]
    for number, (port, want) in enumerate(zip(streams, wanted, strict=True)):
        others = Cat(taken[:number], taken[number + 1 :])
        m.d.comb += port.valid.eq(want & others.all())
    return Cat(taken).all()
