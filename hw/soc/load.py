"""The loader: asks for the rows of blocks, and what goes with them, in the order of use."""

from amaranth import C, Module, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.job import BYTES_WIDTH, Geometry, block_widths, scales_of, words_bytes
from hw.soc.walk import Block, BlockWalk

__all__ = [
    "A", "ADDEND", "A_SCALES", "B", "BIAS", "B_SCALES", "RECORD", "Loader", "RowRequest", "parts"
]  # fmt: skip

A, B, A_SCALES, B_SCALES, BIAS, RECORD, ADDEND = range(7)
"""Where a row goes."""


def parts(spec: CoprocessorSpec) -> dict[int, int]:
    """Count the parts of each store: how many blocks may be in it."""
    operands = dict.fromkeys((A, B, A_SCALES, B_SCALES), spec.PARTS)
    return {**operands, BIAS: 2, RECORD: 4, ADDEND: 2}


class RowRequest(data.StructLayout):
    """A row to read: where it is, where it goes, whether its block ends with it."""

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({
            "address": spec.address_width,
            "bytes": spec.length_width,
            "to": range(7),
            "last": 1,
        })


class Loader(wiring.Component):
    """Asks for what the blocks need, a row a cycle, as soon as a part of a store is free for it.

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
    i_free : In(7)
        A part of the store of A, B, their scales, biases, records, sums has become free.
    o : Out(stream)
        :class:`RowRequest`.
    o_block : Out(stream)
        :class:`hw.soc.walk.Block`, when all its rows have been asked for.
    """

    i_geometry: data.View
    i_start: Signal
    i_free: Signal
    o: stream.Interface
    o_block: stream.Interface

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "i_free": In(7),
            "o": Out(stream.Signature(RowRequest(spec))),
            "o_block": Out(stream.Signature(Block(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        spec, job = self.spec, self.i_geometry
        m.submodules.walk = walk = BlockWalk(spec)
        free, taken = [], []
        for to, most in parts(spec).items():
            taken.append(Signal(name=f"take{to}"))
            free.append(Signal(range(most + 1), name=f"free{to}", init=most))
            m.d.sync += free[to].eq(free[to] + self.i_free[to] - taken[to])

        widths = block_widths(spec)
        left = Signal(max(widths["rows"], widths["codes"]))
        last = left == 1
        row = self.o.payload
        # Of A, its scales and C: where the block's rows begin and the next one; of B the next one.
        a_base, a_row, b_row, sa_base, sa_row, sb_row, c_base, c_row = (
            Signal(spec.address_width, name=name)
            for name in ("a_base", "a_row", "b_row", "sa_base", "sa_row", "sb_row",
                         "c_base", "c_row")
        )  # fmt: skip
        # What is before the block: words of K, columns of C.
        codes, columns = (Signal(spec.dimension_width, name=name) for name in ("codes", "columns"))
        # The row that is asked for, from the beginning of its matrix' row on, and the next one.
        base, offset = Signal(spec.address_width), Signal(BYTES_WIDTH)
        stride, after = Signal(BYTES_WIDTH), Signal(spec.address_width)
        lengths = {
            A: words_bytes(spec, "a", walk.o_codes, job.kind),
            B: words_bytes(spec, "b", walk.o_columns, job.kind),
            A_SCALES: self._scales(walk.o_codes),
            B_SCALES: walk.o_columns,
            BIAS: walk.o_columns * spec.sum_bytes,
            RECORD: walk.o_columns * spec.RECORD_BYTES,
            ADDEND: walk.o_columns * spec.sum_bytes,
        }
        m.d.comb += [
            walk.i_geometry.eq(job),
            walk.i_start.eq(self.i_start),
            row.last.eq(last),
            *(self.o_block.payload[name].eq(getattr(walk, f"o_{name}")) for name, _ in Block(spec)),
            row.address.eq(base + offset),
            after.eq(base + stride),
        ]

        has = dict.fromkeys((A, B), True) | dict.fromkeys((A_SCALES, B_SCALES), bool(spec.scales))
        has |= {BIAS: spec.bias, RECORD: spec.requantises_columns, ADDEND: spec.accumulates}

        def begin(to: int, skip: Value, count: Value, then: str) -> None:
            """Wait for a part of a store, unless there is nothing to load."""
            if not has[to]:
                m.next = then
                return
            with m.If(skip):
                m.next = then
            with m.Elif(free[to] != 0):
                m.d.comb += taken[to].eq(1)
                m.d.sync += left.eq(count)
                m.next = f"ROWS{to}"

        def ask(to: int, start: Value, skip: Value, then: str, step: ValueLike = 0) -> Value:
            """Ask for a row; returns whether it is taken."""
            m.d.comb += [
                self.o.valid.eq(1),
                row.to.eq(to),
                base.eq(start),
                offset.eq(skip),
                stride.eq(step),
                row.bytes.eq(lengths[to]),
            ]
            with m.If(self.o.ready):
                m.d.sync += left.eq(left - 1)
                with m.If(last):
                    m.next = then
            return self.o.ready

        scaled = has[A_SCALES]
        after_a, after_b = ("A_SCALES", "B_SCALES") if scaled else ("B", "ADDEND")
        with m.FSM():
            with m.State("IDLE"), m.If(self.i_start):
                m.d.sync += [
                    sa_base.eq(job.a_scales),
                    sa_row.eq(job.a_scales),
                    sb_row.eq(job.b_scales),
                    a_base.eq(job.a),
                    a_row.eq(job.a),
                    b_row.eq(job.b),
                    c_base.eq(job.c),
                    c_row.eq(job.c),
                    codes.eq(0),
                    columns.eq(0),
                ]
                m.next = "BIAS"
            # Operands last: a block begins when A and B are there, one of which may be already.
            with m.State("BIAS"):
                begin(BIAS, ~(job.biased & walk.o_first_code), C(1), "RECORD")
            if has[BIAS]:
                with m.State(f"ROWS{BIAS}"):
                    ask(BIAS, job.bias, columns * spec.sum_bytes, "RECORD")
            with m.State("RECORD"):
                begin(RECORD, ~(job.per_column & walk.o_first_code), C(1), "A")
            if has[RECORD]:
                with m.State(f"ROWS{RECORD}"):
                    ask(RECORD, job.requant, columns * spec.RECORD_BYTES, "A")
            with m.State("A"):
                begin(A, walk.o_again_a, walk.o_rows, after_a)
            with m.State(f"ROWS{A}"):
                skip = words_bytes(spec, "a", codes, job.kind)
                with m.If(ask(A, a_row, skip, after_a, job.lda)):
                    m.d.sync += a_row.eq(after)
            with m.State("B"):
                begin(B, walk.o_again_b, walk.o_codes, after_b)
            with m.State(f"ROWS{B}"):
                skip = words_bytes(spec, "b", columns, job.kind)
                with m.If(ask(B, b_row, skip, after_b, job.ldb)):
                    m.d.sync += b_row.eq(after)
            if scaled:
                with m.State("A_SCALES"):
                    begin(A_SCALES, walk.o_again_a, walk.o_rows, "B")
                with m.State(f"ROWS{A_SCALES}"):
                    skip = self._scales(codes)
                    with m.If(ask(A_SCALES, sa_row, skip, "B", job.ldsa)):
                        m.d.sync += sa_row.eq(after)
                with m.State("B_SCALES"):
                    count = self._scales(walk.o_codes)
                    begin(B_SCALES, walk.o_again_b, count, "ADDEND")
                with m.State(f"ROWS{B_SCALES}"):
                    taken_ = ask(B_SCALES, sb_row, columns, "ADDEND", job.ldsb)
                    with m.If(taken_):
                        m.d.sync += sb_row.eq(after)
            # Sums of C after them: they wait until the last block but one has left.
            with m.State("ADDEND"):
                begin(ADDEND, ~(job.accumulate & walk.o_first_code), walk.o_rows, "NEXT")
            if has[ADDEND]:
                with m.State(f"ROWS{ADDEND}"):
                    skip = columns * spec.sum_bytes
                    with m.If(ask(ADDEND, c_row, skip, "NEXT", job.ldc)):
                        m.d.sync += c_row.eq(after)
            with m.State("NEXT"):
                m.d.comb += [self.o_block.valid.eq(1), walk.i_next.eq(self.o_block.ready)]
                with m.If(self.o_block.ready):
                    row_ends = walk.o_last_code & (job.by_columns | walk.o_last_column)
                    column_ends = walk.o_last_code & (~job.by_columns | walk.o_last_row)
                    with m.If(walk.o_last_code):
                        m.d.sync += [codes.eq(0), b_row.eq(job.b), sb_row.eq(job.b_scales)]
                    with m.Else():
                        m.d.sync += codes.eq(codes + job.codes)
                    # Blocks below: the next row, if this block's were asked for, is theirs.
                    with m.If(row_ends & walk.o_last_row):
                        m.d.sync += [a_base.eq(job.a), a_row.eq(job.a)]
                        m.d.sync += [c_base.eq(job.c), c_row.eq(job.c)]
                        m.d.sync += [sa_base.eq(job.a_scales), sa_row.eq(job.a_scales)]
                    with m.Elif(row_ends):
                        m.d.sync += [a_base.eq(a_row), c_base.eq(c_row), sa_base.eq(sa_row)]
                    with m.Elif(~walk.o_keep_a):
                        m.d.sync += [a_row.eq(a_base), sa_row.eq(sa_base)]
                    with m.If(walk.o_last_code & ~row_ends):
                        m.d.sync += c_row.eq(c_base)
                    with m.If(column_ends & walk.o_last_column):
                        m.d.sync += columns.eq(0)
                    with m.Elif(column_ends):
                        m.d.sync += columns.eq(columns + job.columns)
                    with m.If(walk.o_last):
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "BIAS"
        return m

    def _scales(self, words: Value) -> Value:
        """Count the scales of so many words along K; none, if codes have none."""
        if not self.spec.inside.block:
            return C(0)
        return scales_of(self.spec, words, self.i_geometry.kind)
