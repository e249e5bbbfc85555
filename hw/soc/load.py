"""The loader: asks for the rows of blocks of A and B, and for biases, in the order of use."""

from amaranth import C, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.bus import BusSpec
from golden.soc.spec import CoprocessorSpec
from hw.soc.job import Geometry
from hw.soc.walk import BlockWalk

__all__ = ["A", "B", "BIAS", "BIAS_PARTS", "Loader", "RowRequest"]

A, B, BIAS = range(3)
"""Where a row goes."""
BIAS_PARTS = 2


class RowRequest(data.StructLayout):
    """A row to read: where it is, where it goes, whether its block ends with it."""

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({
            "address": spec.address_width,
            "bytes": BusSpec.LENGTH_WIDTH,
            "to": 2,
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
    i_free : In(3)
        A part of the store of A, B, biases has become free.
    o : Out(stream)
        :class:`RowRequest`.
    """

    i_geometry: data.View
    i_start: Signal
    i_free: Signal
    o: stream.Interface

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "i_free": In(3),
            "o": Out(stream.Signature(RowRequest(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        spec, job = self.spec, self.i_geometry
        m.submodules.walk = walk = BlockWalk(spec)
        parts = {A: spec.PARTS, B: spec.PARTS, BIAS: BIAS_PARTS}
        free = [Signal(range(parts[to] + 1), name=f"free{to}", init=parts[to]) for to in range(3)]
        taken = [Signal(name=f"take{to}") for to in range(3)]
        for to in range(3):
            m.d.sync += free[to].eq(free[to] + self.i_free[to] - taken[to])

        left = Signal(spec.DIMENSION_WIDTH)
        last = left == 1
        row = self.o.payload
        # A: where the block's rows begin, the next row, and the bytes of K before the block.
        a_base, a_row = (Signal(spec.address_width, name=name) for name in ("a_base", "a_row"))
        a_offset = Signal(spec.address_width)
        b_row, b_offset = (Signal(spec.address_width, name=name) for name in ("b_row", "b_offset"))
        bias = Signal(spec.address_width)
        lengths = {
            A: _bytes(walk.o_codes, spec.a_bits),
            B: _bytes(walk.o_columns, spec.b_bits),
            BIAS: _bytes(walk.o_columns, 8 * spec.sum_bytes),
        }
        m.d.comb += [
            walk.i_geometry.eq(job),
            walk.i_start.eq(self.i_start),
            row.last.eq(last),
        ]

        def begin(to: int, skip: Value, count: Value, then: str) -> None:
            """Wait for a part of a store, unless there is nothing to load."""
            with m.If(skip):
                m.next = then
            with m.Elif(free[to] != 0):
                m.d.comb += taken[to].eq(1)
                m.d.sync += left.eq(count)
                m.next = f"ROWS{to}"

        def ask(to: int, address: Value, then: str) -> Value:
            """Ask for a row; returns whether it is taken."""
            m.d.comb += [
                self.o.valid.eq(1),
                row.to.eq(to),
                row.address.eq(address),
                row.bytes.eq(lengths[to]),
            ]
            with m.If(self.o.ready):
                m.d.sync += left.eq(left - 1)
                with m.If(last):
                    m.next = then
            return self.o.ready

        with m.FSM():
            with m.State("IDLE"), m.If(self.i_start):
                m.d.sync += [a_base.eq(job.a), a_row.eq(job.a), a_offset.eq(0)]
                m.d.sync += [b_row.eq(job.b), b_offset.eq(0), bias.eq(job.bias)]
                m.next = "BIAS"
            # Biases first: a block begins when A and B are there, one of which may be already.
            with m.State("BIAS"):
                begin(BIAS, ~(job.biased & walk.o_first_code), C(1), "A")
            with m.State(f"ROWS{BIAS}"):
                ask(BIAS, bias, "A")
            with m.State("A"):
                begin(A, walk.o_again_a, walk.o_rows, "B")
            with m.State(f"ROWS{A}"), m.If(ask(A, a_row + a_offset, "B")):
                m.d.sync += a_row.eq(a_row + job.lda)
            with m.State("B"):
                begin(B, walk.o_again_b, walk.o_codes, "NEXT")
            with m.State(f"ROWS{B}"), m.If(ask(B, b_row + b_offset, "NEXT")):
                m.d.sync += b_row.eq(b_row + job.ldb)
            with m.State("NEXT"):
                m.d.comb += walk.i_next.eq(1)
                row_ends = walk.o_last_code & (job.by_columns | walk.o_last_column)
                column_ends = walk.o_last_code & (~job.by_columns | walk.o_last_row)
                with m.If(walk.o_last_code):
                    m.d.sync += [a_offset.eq(0), b_row.eq(job.b)]
                with m.Else():
                    m.d.sync += a_offset.eq(a_offset + _bytes(job.codes, spec.a_bits))
                # Blocks below: the next row, if this block's were asked for, is theirs.
                with m.If(row_ends & walk.o_last_row):
                    m.d.sync += [a_base.eq(job.a), a_row.eq(job.a)]
                with m.Elif(row_ends):
                    m.d.sync += a_base.eq(a_row)
                with m.Elif(~walk.o_keep_a):
                    m.d.sync += a_row.eq(a_base)
                with m.If(column_ends & walk.o_last_column):
                    m.d.sync += [b_offset.eq(0), bias.eq(job.bias)]
                with m.Elif(column_ends):
                    m.d.sync += [
                        b_offset.eq(b_offset + _bytes(job.columns, spec.b_bits)),
                        bias.eq(bias + _bytes(job.columns, 8 * spec.sum_bytes)),
                    ]
                with m.If(walk.o_last):
                    m.next = "IDLE"
                with m.Else():
                    m.next = "BIAS"
        return m


def _bytes(numbers: Value, bits: int) -> Value:
    """Count the bytes of so many numbers."""
    return numbers * (bits // 8) if bits >= 8 else (numbers + (8 // bits - 1)) // (8 // bits)
