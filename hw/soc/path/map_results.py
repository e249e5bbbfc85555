"""Addresses of the codes that jobs on maps make."""

from typing import Any

from amaranth import C, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.burst import Row
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry
from hw.soc.schedule.window_place import SIDE

__all__ = ["MapResults"]


class MapResults(wiring.Component):
    """Hands over addresses of rows of C before their sums, and lets these move.

    Rows of windows that fill beats and follow each other in memory are joined, up to :attr:`JOINED`
    of a row of them, so that short ones are no bursts of their own. Latency: none; a joined row
    takes a cycle more.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes.

    Members
    -------
    i_geometry : In
        The job: M rows of N codes.
    i_windows, i_across : In
        They are of windows, and how many of these are in a row, less one.
    i_c : In
        The address of C, with ``i_start``.
    i_start : In(1)
        Begin.
    o_busy : Out(1)
        There are more rows.
    o_ends : Out(1)
        The last sums of the job are taken.
    i_valid, o_move : In(1), Out(1)
        There are sums; they may be followed by the next ones.
    o_valid, i_ready : Out(1), In(1)
        The same sums, of a row whose address is handed over.
    write_row : Out(stream)
        :class:`hw.soc.bus.burst.Row`.
    """

    JOINED = 16
    """Most rows that are joined."""

    i_geometry: data.View
    i_windows: Signal
    i_across: Signal
    i_c: Signal
    i_start: Signal
    o_busy: Signal
    o_ends: Signal
    i_valid: Signal
    o_move: Signal
    o_valid: Signal
    i_ready: Signal
    write_row: Any

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.lanes = spec.vector.lanes
        self.most = spec.vector.beats * spec.vector.lanes
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_windows": In(1),
            "i_across": In(SIDE),
            "i_c": In(spec.address_width),
            "i_start": In(1),
            "o_busy": Out(1),
            "o_ends": Out(1),
            "i_valid": In(1),
            "o_move": Out(1),
            "o_valid": Out(1),
            "i_ready": In(1),
            "write_row": Out(stream.Signature(Row(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        job, row, valid = self.i_geometry, self.write_row.payload, self.i_valid
        addressed, addresses, sent, ends, planned = (
            Signal(name=name) for name in ("addressed", "addresses", "sent", "ends", "planned")
        )
        rows = Signal(self.spec.dimension_width, name="rows_left")
        # Codes of the row that are left, and all of them, less one each.
        left, codes = (Signal(range(self.most), name=name) for name in ("codes_left", "codes"))
        at = Signal(self.spec.address_width)
        joins, count = self._join(m, rows, sent & ends) if self.spec.depthwise else (C(0), C(0))
        step = Mux(joins, codes + 1, job.ldc[:BYTES_WIDTH])
        m.d.comb += [
            self.write_row.valid.eq(valid & planned & ~addressed),
            row.address.eq(at),
            row.bytes.eq(codes + 1),
            row.final.eq(rows == count),
            addresses.eq(self.write_row.valid & self.write_row.ready),
            self.o_valid.eq(valid & (addressed | addresses)),
            sent.eq(self.o_valid & self.i_ready),
            ends.eq(left < self.lanes),
            self.o_move.eq(~valid | sent),
            self.o_ends.eq(sent & ends & (rows == count)),
        ]
        with m.If(addresses):
            m.d.sync += addressed.eq(1)
        with m.If(sent):
            m.d.sync += left.eq(left - self.lanes)
            with m.If(ends):
                m.d.sync += [left.eq(codes), addressed.eq(0), planned.eq(~joins)]
                m.d.sync += [at.eq(at + step), rows.eq(rows - count - 1)]
                m.d.sync += self.o_busy.eq(rows != count)
        with m.If(~planned):
            whole = self._codes(count) if self.spec.depthwise else job.n
            m.d.sync += [planned.eq(1), left.eq(whole), codes.eq(whole)]
        with m.If(self.i_start):
            m.d.sync += [self.o_busy.eq(1), planned.eq(0), rows.eq(job.m), at.eq(self.i_c)]
        return m

    def _join(self, m: Module, rows: Value, ends: Value) -> tuple[Value, Value]:
        """Return whether rows are joined, and how many are the next one, less one."""
        job, lanes = self.i_geometry, self.lanes
        windows, most = Signal(SIDE, name="windows_left"), self.JOINED - 1
        joins = Signal(name="joins")
        whole = job.n[: exact_log2(lanes)].all() if lanes > 1 else C(1, 1)
        m.d.sync += joins.eq(
            self.i_windows & whole & (job.ldc == job.n + 1) & (job.n < self.most // self.JOINED)
        )
        least, count = Signal(SIDE, name="least"), Signal(range(self.JOINED), name="count")
        m.d.comb += [
            least.eq(Mux(rows < windows, rows, windows)),
            count.eq(Mux(joins, Mux(least < most, least, most), 0)),
        ]
        with m.If(ends):
            m.d.sync += windows.eq(Mux(windows == count, self.i_across, windows - count - 1))
        with m.If(self.i_start):
            m.d.sync += windows.eq(self.i_across)
        return joins, count

    def _codes(self, count: Value) -> Value:
        """Return the codes of some rows, less one; of rows and codes less one."""
        whole: Value = self.i_geometry.n
        for weight, bit in enumerate(count):
            whole = whole + Mux(bit, (self.i_geometry.n + 1) << weight, 0)
        return whole[: (self.most - 1).bit_length()]
