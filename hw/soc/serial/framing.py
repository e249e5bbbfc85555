"""Frames on a serial line: delimiters, the escaping of bytes that look like them, and CRCs."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out

from golden.soc.serial.host_link import HostLinkFormat

__all__ = ["Deframer", "FrameByte", "FrameCrc", "Framer"]


class FrameByte(data.Struct):
    """A byte of a frame; with ``end``, the delimiter in its place."""

    data: 8
    end: 1


class Deframer(wiring.Component):
    """Finds delimiters, and removes escapes. Latency: 0 cycles.

    Members
    -------
    i, i_valid : In
        A received byte, valid for one cycle.
    o, o_valid : Out
        A byte of a frame, valid for one cycle.
    o_end : Out(1)
        A delimiter was received, for one cycle.
    """

    i: Signal
    i_valid: Signal
    o: Signal
    o_valid: Signal
    o_end: Signal

    def __init__(self) -> None:
        super().__init__({
            "i": In(8),
            "i_valid": In(1),
            "o": Out(8),
            "o_valid": Out(1),
            "o_end": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        end, escape = self.i == HostLinkFormat.END, self.i == HostLinkFormat.ESCAPE
        escaped = Signal()
        with m.If(self.i_valid):
            m.d.sync += escaped.eq(escape)
        m.d.comb += [
            self.o.eq(self.i ^ Mux(escaped, HostLinkFormat.FLIP, 0)),
            self.o_valid.eq(self.i_valid & ~end & ~escape),
            self.o_end.eq(self.i_valid & end),
        ]
        return m


class Framer(wiring.Component):
    """Adds escapes. Latency: 0 cycles; a byte that is escaped takes two transfers.

    Members
    -------
    i : In(stream)
        Bytes of frames, and delimiters.
    o : Out(stream)
        Bytes to send.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(FrameByte)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        byte, end = self.i.payload.data, self.i.payload.end
        special = (byte == HostLinkFormat.END) | (byte == HostLinkFormat.ESCAPE)
        escapes, escaped = Signal(), Signal()
        m.d.comb += [
            escapes.eq(special & ~end & ~escaped),
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready & ~escapes),
            self.o.payload.eq(
                Mux(
                    end,
                    HostLinkFormat.END,
                    Mux(
                        escapes,
                        HostLinkFormat.ESCAPE,
                        byte ^ Mux(escaped, HostLinkFormat.FLIP, 0),
                    ),
                )
            ),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += escaped.eq(escapes)
        return m


class FrameCrc(wiring.Component):
    """CRC-32 of the bytes of a frame, bit by bit, as that is the smallest.

    Latency, byte to results: 9 cycles. Throughput: one byte per 8 cycles.

    Members
    -------
    start : In(1)
        A frame begins; what came before is dropped.
    i, i_valid : In
        A byte of it, valid for one cycle.
    o : Out(32)
        The CRC.
    o_valid : Out(1)
        All bytes are in it.
    o_match : Out(1)
        They end with the CRC of those before them.
    """

    start: Signal
    i: Signal
    i_valid: Signal
    o: Signal
    o_valid: Signal
    o_match: Signal

    def __init__(self) -> None:
        super().__init__({
            "start": In(1),
            "i": In(8),
            "i_valid": In(1),
            "o": Out(32),
            "o_valid": Out(1),
            "o_match": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = CRC32_ISO_HDLC(data_width=1).create()
        shifted, left = Signal(8), Signal(4)
        with m.If(self.start):
            m.d.sync += left.eq(0)
        with m.Elif(self.i_valid):
            m.d.sync += [shifted.eq(self.i), left.eq(8)]
        with m.Elif(left != 0):
            m.d.sync += [shifted.eq(shifted >> 1), left.eq(left - 1)]
        m.d.comb += [
            crc.start.eq(self.start),
            crc.data.eq(shifted[0]),
            crc.valid.eq((left != 0) & ~self.start),
            self.o.eq(crc.crc),
            self.o_valid.eq(left == 0),
            self.o_match.eq(crc.match_detected),
        ]
        return m
