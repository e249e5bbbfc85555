"""Streams instead of memory: requested rows arrive in order, rows of C leave in order."""

from typing import Any

from amaranth import Module, Mux, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.soc.bus.axi import Axi4Stream
from hw.soc.bus.burst import Beat, Row
from hw.soc.bus.packer import Packed

__all__ = ["StreamReader", "StreamWriter"]


class StreamReader(wiring.Component):
    """Reads rows from one of two streams, each from byte 0 of a beat on.

    Throughput: one beat per cycle, across rows too. Stalls: ``o.ready`` reaches ``a.tready`` and
    ``b.tready`` combinationally. ``tkeep`` and ``tlast`` are ignored: the number of beats
    is known.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the streams.

    Members
    -------
    a, b : In
        :class:`hw.soc.bus.axi.Axi4Stream`.
    i : In(stream)
        :class:`hw.soc.bus.burst.Row`, whose address is ignored; those ``other`` come from ``b``.
    o : Out(stream)
        :class:`hw.soc.bus.burst.Beat`: the beats of each row, in order.
    i_stop : In(1)
        Discards the row.
    o_idle : Out(1)
        No row is being read.
    o_error, o_response, o_address : Out
        0: streams have no errors.
    o_beats : Out(1)
        A beat is taken.
    """

    a: Any
    b: Any
    i: stream.Interface
    o: stream.Interface
    i_stop: Signal
    o_idle: Signal
    o_error: Signal
    o_response: Signal
    o_address: Signal
    o_beats: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "a": In(Axi4Stream(spec)),
            "b": In(Axi4Stream(spec)),
            "i": In(stream.Signature(Row(spec))),
            "o": Out(stream.Signature(Beat(spec.data_width))),
            "i_stop": In(1),
            "o_idle": Out(1),
            "o_error": Out(1),
            "o_response": Out(2),
            "o_address": Out(spec.address_width),
            "o_beats": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        # Stalls end here.
        rows = Fifo(Row(self.spec), 2)
        m.submodules.rows = ResetInserter(self.i_stop)(rows)
        busy, of_b, last = Signal(), Signal(), Signal()
        left = Signal(self.spec.length_width)  # beats after this one
        m.d.comb += [
            last.eq(left == 0),
            self.o.valid.eq(busy & Mux(of_b, self.b.tvalid, self.a.tvalid)),
            self.o.payload.data.eq(Mux(of_b, self.b.tdata, self.a.tdata)),
            self.o.payload.last.eq(last),
            self.a.tready.eq(busy & ~of_b & self.o.ready),
            self.b.tready.eq(busy & of_b & self.o.ready),
            self.o_beats.eq(self.o.valid & self.o.ready),
            rows.i.valid.eq(self.i.valid),
            rows.i.payload.eq(self.i.payload),
            self.i.ready.eq(rows.i.ready),
            rows.o.ready.eq(~busy | (self.o_beats & last)),
            self.o_idle.eq(~busy & ~rows.o.valid),
        ]
        with m.If(self.o_beats):
            m.d.sync += left.eq(left - 1)
        with m.If(rows.o.ready):
            m.d.sync += [
                busy.eq(rows.o.valid),
                of_b.eq(rows.o.payload.other),
                left.eq((rows.o.payload.bytes - 1) >> exact_log2(self.spec.bytes)),
            ]
        with m.If(self.i_stop):
            m.d.sync += busy.eq(0)
        return m


class StreamWriter(wiring.Component):
    """Sends rows of C, each from byte 0 of a beat on; ``tlast`` ends C.

    Latency: 1 cycle. Throughput: one beat per cycle. Stalls: ``c.tready`` reaches ``i_data.ready``
    combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the stream.

    Members
    -------
    c : Out
        :class:`hw.soc.bus.axi.Axi4Stream`.
    i : In(stream)
        :class:`hw.soc.bus.burst.Row`, whose address and bytes are ignored.
    i_data : In(stream)
        :class:`hw.soc.bus.packer.Packed`: the beats of each row, in order.
    i_stop : In(1)
        Discards rows; a valid beat stays until it is taken.
    o_idle : Out(1)
        No row waits, and no beat is valid.
    o_error, o_response, o_address : Out
        0: streams have no errors.
    o_beats : Out(1)
        A beat leaves.
    """

    c: Any
    i: stream.Interface
    i_data: stream.Interface
    i_stop: Signal
    o_idle: Signal
    o_error: Signal
    o_response: Signal
    o_address: Signal
    o_beats: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "c": Out(Axi4Stream(spec)),
            "i": In(stream.Signature(Row(spec))),
            "i_data": In(stream.Signature(Packed(spec.bytes))),
            "i_stop": In(1),
            "o_idle": Out(1),
            "o_error": Out(1),
            "o_response": Out(2),
            "o_address": Out(spec.address_width),
            "o_beats": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        finals = Fifo(1, 4)
        m.submodules.finals = ResetInserter(self.i_stop)(finals)
        move, row = Signal(), self.i_data.payload
        m.d.comb += [
            finals.i.valid.eq(self.i.valid),
            finals.i.payload.eq(self.i.payload.final),
            self.i.ready.eq(finals.i.ready),
            move.eq(~self.c.tvalid | self.c.tready),
            self.i_data.ready.eq(move & finals.o.valid & ~self.i_stop),
            finals.o.ready.eq(self.i_data.valid & self.i_data.ready & row.last),
            self.o_beats.eq(self.c.tvalid & self.c.tready),
            self.o_idle.eq(~self.c.tvalid & (finals.o_level == 0)),
        ]
        with m.If(move):
            m.d.sync += [
                self.c.tvalid.eq(self.i_data.valid & self.i_data.ready),
                self.c.tdata.eq(row.data),
                self.c.tkeep.eq(row.strb),
                self.c.tlast.eq(row.last & finals.o.payload),
            ]
        return m
