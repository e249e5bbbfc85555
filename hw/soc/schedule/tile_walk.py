"""The order of tiles: the engine's operands, and the destination of its sums."""

from collections.abc import Mapping

from amaranth import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from golden.soc.spec import CoprocessorSpec
from hw.arith.product import product_in_logic
from hw.soc.schedule.block_walk import Block
from hw.soc.schedule.geometry import Geometry, block_widths, pick, scales_of
from hw.soc.schedule.sides import Side, TileRequest

__all__ = ["BlockDone", "SumsRequest", "TileWalk"]


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


class BlockDone(data.StructLayout):
    """A block of C: its size, and whether it is the last one of its row or column of blocks.

    If it is accumulated in the store, rows leave after all have been ``added``; else as they
    complete.
    """

    def __init__(self, spec: CoprocessorSpec):
        widths = block_widths(spec)
        super().__init__({
            "rows": widths["rows"], "columns": widths["columns"], "last_row": 1, "last_column": 1,
            "added": 1,
        })  # fmt: skip


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
        :class:`BlockDone`, when a block's last tile has been requested.
    o_last : Out(1)
        It is the last block.
    o_area, o_codes : Out
        Numbers of C in the tile requested in this cycle, and codes of K; 0 if there is none.
    """

    i_geometry: data.View
    i_block: stream.Interface
    i_full_c: Signal
    o_a: stream.Interface
    o_b: stream.Interface
    o_sums: stream.Interface
    o_done: stream.Interface
    o_last: Signal
    o_area: Signal
    o_codes: Signal

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
            "o_area": Out(range(spec.inside.m * spec.inside.n + 1)),
            "o_codes": Out(spec.dimension_width),
        })

    def elaborate(self, platform):
        m = Module()
        spec, job, engine = self.spec, self.i_geometry, self.spec.inside
        block = self.i_block.payload
        a, b, sums, done = (port.payload for port in (self.o_a, self.o_b, self.o_sums, self.o_done))
        asks = {name: getattr(self, f"o_{name}") for name in self.sides}
        # The buffer that is read, and the row of tiles.
        parts = {name: Signal(range(spec.PARTS), name=f"part_{name}") for name in asks}
        # The rest of the block, from this tile on.
        rows, columns = (Signal.like(block[name], name=name) for name in ("rows", "columns"))
        a_address, row_address = Signal(range(spec.a_words)), Signal(range(spec.rows))
        row = Signal(range(spec.a_words))
        slices = self.sides["b"].slices
        each = [kind.codes for kind in spec.kinds]
        word, slice_ = Signal(range(spec.b_words)), Signal(range(max(slices)))
        column = Signal(range(spec.rows))
        # The tile is the last one of its row, in the last row; the block is a tile wide, is a tile:
        # all known a cycle before.
        right, below, narrow, single = (
            Signal(name=name) for name in ("right", "below", "narrow", "single")
        )
        # A tile of the block ends its sums in the engine; the block ends K: known before, too.
        ends, last_code, step, leave = Signal(), Signal(), Signal(), Signal()
        streams = (*asks.values(), self.o_sums, self.o_done)
        m.d.comb += [
            a.address.eq(a_address),
            b.address.eq(word),
            b.slice.eq(slice_),
            sums.address.eq(row_address + column),
            sums.column.eq(column),
            sums.add.eq((~block.first_code & ~single) | job.accumulate),
            sums.bias.eq(job.biased & (block.first_code | single)),
            sums.rows.eq(Mux(right & last_code, a.lines, 0)),
            sums.done.eq(right & below & last_code),
            done.rows.eq(block.rows),
            done.columns.eq(block.columns),
            done.last_row.eq(block.last_row),
            done.last_column.eq(block.last_column),
            done.added.eq(sums.add),
            leave.eq(step & right & below),
            self.i_block.ready.eq(leave),
            self.o_last.eq(block.last),
        ]
        for name, port in asks.items():
            request, scaled = port.payload, name.endswith("scales")
            of_a = name.startswith("a")
            keep = block.keep_a if of_a else block.keep_b
            past = leave & ~keep
            m.d.sync += parts[name].eq(parts[name] + past)
            codes = scales_of(spec, block.codes, job.kind) if scaled else block.codes
            m.d.comb += [
                request.part.eq(parts[name]),
                request.row.eq(row if of_a else 0),
                request.lines.eq(
                    Mux(below, rows, engine.m) if of_a else Mux(right, columns, engine.n)
                ),
                request.codes.eq(codes),
                request.last.eq(ends),
                request.tail.eq(last_code),
                request.release.eq(right & below & ~keep),
            ]
        # The existing C is needed before the first block of K.
        waits, sums_full = Signal(), Signal(range(3))
        m.d.comb += waits.eq(job.accumulate & block.first_code)
        m.d.sync += sums_full.eq(sums_full + self.i_full_c - (leave & waits))
        with m.FSM():
            with m.State("BLOCK"), m.If(self.i_block.valid & (~waits | (sums_full != 0))):
                m.d.sync += [rows.eq(block.rows), columns.eq(block.columns)]
                thin, low = block.columns <= engine.n, block.rows <= engine.m
                m.d.sync += [below.eq(low), right.eq(thin), narrow.eq(thin), single.eq(thin & low)]
                m.d.sync += [
                    ends.eq(block.last_code | ~(thin & low)),
                    last_code.eq(block.last_code),
                ]
                m.d.sync += [a_address.eq(0), row_address.eq(0), row.eq(0)]
                m.d.sync += [word.eq(0), slice_.eq(0), column.eq(0)]
                m.next = "TILES"
            with m.State("TILES"):
                # All requests of a tile are issued in one cycle.
                wanted = (*(C(1) for _ in asks), ends, sums.done)
                goes = [~want | port.ready for port, want in zip(streams, wanted, strict=True)]
                for number, (port, want) in enumerate(zip(streams, wanted, strict=True)):
                    others = Cat(goes[:number], goes[number + 1 :])
                    m.d.comb += port.valid.eq(want & others.all())
                m.d.comb += step.eq(Cat(goes).all())
                inside = Mux(right, columns, engine.n)
                area = product_in_logic(a.lines, inside[: bits_for(engine.n)])
                counted = pick(lambda count: block.codes * count, each, job.kind)
                missing = Mux(block.last_code, job.missing, 0)
                m.d.comb += [
                    self.o_codes.eq(counted - missing),
                    self.o_area.eq(Mux(step, area, 0)),
                ]
                with m.If(step):
                    m.d.sync += [columns.eq(columns - engine.n), column.eq(column + 1)]
                    m.d.sync += right.eq(columns <= 2 * engine.n)
                    if max(slices) == 1:
                        m.d.sync += word.eq(word + 1)
                    else:
                        final = slice_ == pick(lambda count: C(count - 1), slices, job.kind)
                        m.d.sync += slice_.eq(Mux(final, 0, slice_ + 1))
                        with m.If(final):
                            m.d.sync += word.eq(word + 1)
                    with m.If(right):
                        m.d.sync += [columns.eq(block.columns), rows.eq(rows - engine.m)]
                        m.d.sync += [right.eq(narrow), below.eq(rows <= 2 * engine.m)]
                        m.d.sync += [word.eq(0), slice_.eq(0), column.eq(0)]
                        m.d.sync += [
                            row.eq(row + 1),
                            a_address.eq(a_address + job.a_stride),
                            row_address.eq(row_address + job.p_stride),
                        ]
                with m.If(leave):
                    m.next = "BLOCK"
        return m
