"""The order of blocks, for loader and engine."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.geometry import Geometry, block_widths

__all__ = ["Block", "BlockWalk"]


class Block(data.StructLayout):
    """A block: its size and position, see :class:`BlockWalk`."""

    def __init__(self, spec: CoprocessorSpec):
        widths = block_widths(spec)
        super().__init__({
            **{name: widths[name] for name in ("rows", "columns", "codes")},
            "first_code": 1,
            "last_row": 1,
            "last_column": 1,
            "last_code": 1,
            "last": 1,
            "keep_a": 1,
            "keep_b": 1,
        })


class BlockWalk(wiring.Component):
    """Steps through the blocks of a product: K in the inner loop, then C by rows or by columns.

    If all of K is one block and C goes by rows, successive blocks share their block of A, which is
    not loaded again; likewise B, if C goes by columns.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.

    Members
    -------
    i_geometry : In
        The job; stable while it runs.
    i_start, i_next : In(1)
        Go to the first block, the next one.
    o_valid : Out(1)
        There is a block.
    o_rows, o_columns, o_codes : Out
        Its size: rows and columns of C, codes of K.
    o_first_row, o_last_row, o_first_column, o_last_column, o_first_code, o_last_code : Out(1)
        It is at that edge of C, or of K.
    o_last : Out(1)
        It is the last one.
    o_again_a, o_again_b : Out(1)
        Its block of A, of B, is the previous block's, if it has all of K.
    o_keep_a, o_keep_b : Out(1)
        The next block's is the same.
    """

    i_geometry: data.View
    i_start: Signal
    i_next: Signal
    o_valid: Signal
    o_rows: Signal
    o_columns: Signal
    o_codes: Signal
    o_first_row: Signal
    o_last_row: Signal
    o_first_column: Signal
    o_last_column: Signal
    o_first_code: Signal
    o_last_code: Signal
    o_last: Signal
    o_again_a: Signal
    o_again_b: Signal
    o_keep_a: Signal
    o_keep_b: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        widths = block_widths(spec)
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "i_next": In(1),
            "o_valid": Out(1),
            **{f"o_{name}": Out(widths[name]) for name in ("rows", "columns", "codes")},
            **{
                f"o_{end}_{side}": Out(1)
                for end in ("first", "last")
                for side in ("row", "column", "code")
            },
            "o_last": Out(1),
            **{f"o_{what}_{side}": Out(1) for what in ("again", "keep") for side in "ab"},
        })

    def elaborate(self, platform):
        m = Module()
        whole = self.i_geometry
        across, down, along = (Signal(name=f"step_{side}") for side in ("column", "row", "code"))
        for all_, part, now, first, last, step in (
            (whole.m, whole.rows, self.o_rows, self.o_first_row, self.o_last_row, down),
            (
                whole.n,
                whole.columns,
                self.o_columns,
                self.o_first_column,
                self.o_last_column,
                across,
            ),
            (whole.k, whole.codes, self.o_codes, self.o_first_code, self.o_last_code, along),
        ):
            # What is left, less one; a block may be larger than any product.
            left = Signal(self.spec.dimension_width, name=f"{now.name}_left")
            after = Signal(max(len(left), len(part)) + 1, name=f"{now.name}_after")
            m.d.comb += [
                after.eq(left - part),
                last.eq(after[-1]),
                now.eq(Mux(last, left[: len(now)] + 1, part)),
            ]
            # What is left of none is that of the job that begins.
            with m.If(~self.o_valid | (step & last)):
                m.d.sync += [left.eq(all_), first.eq(1)]
            with m.Elif(step):
                m.d.sync += [left.eq(after), first.eq(0)]
        m.d.comb += [
            along.eq(self.i_next),
            across.eq(along & self.o_last_code & (~whole.by_columns | self.o_last_row)),
            down.eq(along & self.o_last_code & (whole.by_columns | self.o_last_column)),
            self.o_last.eq(self.o_last_code & self.o_last_row & self.o_last_column),
        ]
        with m.If(self.i_start):
            m.d.sync += self.o_valid.eq(1)
        with m.Elif(self.i_next & self.o_last):
            m.d.sync += self.o_valid.eq(0)
        single = self.o_first_code & self.o_last_code
        keep_a, keep_b = single & ~whole.by_columns, single & whole.by_columns
        m.d.comb += [
            self.o_again_a.eq(self.o_first_code & ~whole.by_columns & ~self.o_first_column),
            self.o_again_b.eq(self.o_first_code & whole.by_columns & ~self.o_first_row),
            self.o_keep_a.eq(keep_a & ~self.o_last_column),
            self.o_keep_b.eq(keep_b & ~self.o_last_row),
        ]
        return m
