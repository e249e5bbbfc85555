"""The loader: requests the rows of blocks, and their side data, in the order of use."""

from typing import NamedTuple

from amaranth import C, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.block_walk import Block, BlockWalk
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry, block_widths, scales_of, words_bytes

__all__ = [
    "A", "ADDEND", "A_SCALES", "B", "BIAS", "B_SCALES", "RECORD", "Loader", "RowRequest", "parts"
]  # fmt: skip

A, B, A_SCALES, B_SCALES, BIAS, RECORD, ADDEND = range(7)
"""Destinations of rows."""


def parts(spec: CoprocessorSpec) -> dict[int, int]:
    """Return the buffers of each store: how many blocks it can hold."""
    operands = dict.fromkeys((A, B, A_SCALES, B_SCALES), spec.PARTS)
    return {**operands, BIAS: 2, RECORD: 4, ADDEND: 2}


class RowRequest(data.StructLayout):
    """A row to read: address, destination, whether it ends its block."""

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({
            "address": spec.address_width,
            "bytes": spec.length_width,
            "to": range(7),
            "last": 1,
        })


class _Asks(NamedTuple):
    """Rows of one kind: whether a block needs any, how many, and their addresses.

    ``start`` is the address of the next row of the matrix, a register if others follow; the block's
    part of it is `length` bytes from offset `before`; the stride to the row below is `step`.
    """

    needed: Value
    rows: Value
    start: Value
    before: Value
    length: Value
    step: Value


class Loader(wiring.Component):
    """Requests the rows of blocks, one per cycle, as soon as a buffer is free for them.

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
        A buffer of the store of A, B, their scales, biases, records, sums became free.
    o : Out(stream)
        :class:`RowRequest`.
    o_block : Out(stream)
        :class:`hw.soc.schedule.block_walk.Block`, before its rows are requested.
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
        # Rows requested so far, of the current kind.
        asked, count = (
            Signal(max(widths["rows"], widths["codes"]), name=name) for name in ("asked", "count")
        )
        row = self.o.payload
        # For A, its scales and C: addresses of the block's first row and of the next; for B the
        # next.
        a_base, a_row, b_row, sa_base, sa_row, sb_row, c_base, c_row = (
            Signal(spec.address_width, name=name)
            for name in ("a_base", "a_row", "b_row", "sa_base", "sa_row", "sb_row",
                         "c_base", "c_row")
        )  # fmt: skip
        # Offset of the block: words of K, columns of C.
        codes, columns = (Signal(spec.dimension_width, name=name) for name in ("codes", "columns"))
        # The requested row, from the start of its matrix row on, and the next one.
        base, offset = Signal(spec.address_width), Signal(BYTES_WIDTH)
        stride, after = Signal(BYTES_WIDTH), Signal(spec.address_width)
        m.d.comb += [
            walk.i_geometry.eq(job),
            walk.i_start.eq(self.i_start),
            row.last.eq(asked + 1 == count),
            *(self.o_block.payload[name].eq(getattr(walk, f"o_{name}")) for name, _ in Block(spec)),
            row.address.eq(base + offset),
            after.eq(base + stride),
        ]

        first = walk.o_first_code
        scales = self._scales(walk.o_codes)
        sum_bytes, record_bytes = spec.sum_bytes, spec.RECORD_BYTES
        # In order of requests: operands last, since sums start when A and B arrive, one of which
        # may be loaded already; C after them, since it waits until the block before the last has
        # left.
        asks: dict[int, _Asks] = {}
        if spec.bias:
            before, length = columns * sum_bytes, walk.o_columns * sum_bytes
            asks[BIAS] = _Asks(job.biased & first, C(1), job.bias, before, length, C(0))
        if spec.requantises_columns:
            before, length = columns * record_bytes, walk.o_columns * record_bytes
            asks[RECORD] = _Asks(job.per_column & first, C(1), job.requant, before, length, C(0))
        before, length = (words_bytes(spec, "a", x, job.kind) for x in (codes, walk.o_codes))
        asks[A] = _Asks(~walk.o_again_a, walk.o_rows, a_row, before, length, job.lda)
        if spec.scales:
            before = self._scales(codes)
            asks[A_SCALES] = _Asks(~walk.o_again_a, walk.o_rows, sa_row, before, scales, job.ldsa)
        before, length = (words_bytes(spec, "b", x, job.kind) for x in (columns, walk.o_columns))
        asks[B] = _Asks(~walk.o_again_b, walk.o_codes, b_row, before, length, job.ldb)
        if spec.scales:
            asks[B_SCALES] = _Asks(
                ~walk.o_again_b, scales, sb_row, columns, walk.o_columns, job.ldsb
            )
        if spec.accumulates:
            before, length = columns * sum_bytes, walk.o_columns * sum_bytes
            asks[ADDEND] = _Asks(
                job.accumulate & first, walk.o_rows, c_row, before, length, job.ldc
            )
        follow = {A: a_row, A_SCALES: sa_row, B: b_row, B_SCALES: sb_row, ADDEND: c_row}

        steps = Signal()

        def go(behind: int | None) -> None:
            """Advance to the next kind needed; after B, whose register restarts, at once."""
            left = list(asks)
            m.next = "NEXT"
            if behind == (B_SCALES if spec.scales else B):
                with m.If(~asks[ADDEND].needed if spec.accumulates else C(1)):
                    m.d.comb += steps.eq(1)
                    m.next = "BLOCK"
                    with m.If(walk.o_last):
                        m.next = "IDLE"
            for to in reversed(left if behind is None else left[left.index(behind) + 1 :]):
                with m.If(asks[to].needed):
                    m.next = f"ROWS{to}"

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
                m.next = "BLOCK"
            with m.State("BLOCK"):
                m.d.comb += self.o_block.valid.eq(1)
                with m.If(self.o_block.ready):
                    go(None)
            for to, ask in asks.items():
                with m.State(f"ROWS{to}"):
                    m.d.comb += [
                        # The first row allocates a buffer of the store.
                        self.o.valid.eq((asked != 0) | (free[to] != 0)),
                        taken[to].eq((asked == 0) & self.o.valid & self.o.ready),
                        count.eq(ask.rows),
                        row.to.eq(to),
                        base.eq(ask.start),
                        offset.eq(ask.before),
                        stride.eq(ask.step),
                        row.bytes.eq(ask.length),
                    ]
                    with m.If(self.o.valid & self.o.ready):
                        m.d.sync += asked.eq(asked + 1)
                        if to in follow:
                            m.d.sync += follow[to].eq(after)
                        with m.If(row.last):
                            m.d.sync += asked.eq(0)
                            go(to)
            with m.State("NEXT"):
                m.d.comb += steps.eq(1)
                with m.If(walk.o_last):
                    m.next = "IDLE"
                with m.Else():
                    m.next = "BLOCK"
        m.d.comb += walk.i_next.eq(steps)
        with m.If(steps):
            row_ends = walk.o_last_code & (job.by_columns | walk.o_last_column)
            column_ends = walk.o_last_code & (~job.by_columns | walk.o_last_row)
            with m.If(walk.o_last_code):
                m.d.sync += [codes.eq(0), b_row.eq(job.b), sb_row.eq(job.b_scales)]
            with m.Else():
                m.d.sync += codes.eq(codes + job.codes)
            # Blocks below: the next row is theirs, if this block's were requested.
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
        return m

    def _scales(self, words: Value) -> Value:
        """Return the scales of a count of words along K; 0 if codes have none."""
        if not self.spec.inside.block:
            return C(0)
        return scales_of(self.spec, words, self.i_geometry.kind)
