"""UART, 8N1: receiver and transmitter."""

from amaranth import C, Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["UartReceiver", "UartTransmitter"]

_BITS = 10
"""Bits of a byte on the line, with start and stop bit."""


class UartReceiver(wiring.Component):
    """Receives bytes; a byte with a low stop bit is dropped.

    Latency, middle of the stop bit to byte: 3 cycles. Bits are sampled in their middle.

    Parameters
    ----------
    divisor : int
        What: cycles of a bit, 4 or more.

    Members
    -------
    rx : In(1)
        The line, asynchronous.
    o : Out(8)
        A byte.
    o_valid : Out(1)
        It is valid, for one cycle.
    """

    rx: Signal
    o: Signal
    o_valid: Signal

    def __init__(self, divisor: int):
        self.divisor = divisor
        super().__init__({"rx": In(1), "o": Out(8), "o_valid": Out(1)})

    def elaborate(self, platform):
        m = Module()
        line = Signal(2, init=3)
        m.d.sync += line.eq(Cat(self.rx, line))
        rx = line[1]
        left = Signal(range(self.divisor))
        bits = Signal(range(_BITS + 1))
        shifted = Signal(_BITS - 1, reset_less=True)
        m.d.comb += self.o.eq(shifted[1:])
        m.d.sync += self.o_valid.eq(0)
        with m.If(bits == 0):
            m.d.sync += left.eq(self.divisor // 2 - 1)
            with m.If(~rx):
                m.d.sync += bits.eq(_BITS)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += [left.eq(self.divisor - 1), bits.eq(bits - 1)]
            with m.If(bits != 1):
                m.d.sync += shifted.eq(Cat(shifted[1:], rx))
            with m.If((bits == _BITS) & rx):
                m.d.sync += bits.eq(0)  # a glitch, no start bit
            with m.If(bits == 1):
                m.d.sync += self.o_valid.eq(rx)
        return m


class UartTransmitter(wiring.Component):
    """Sends bytes. Throughput: one per ten bit times.

    Parameters
    ----------
    divisor : int
        What: cycles of a bit.

    Members
    -------
    i : In(stream)
        Bytes.
    tx : Out(1)
        The line.
    """

    i: stream.Interface
    tx: Signal

    def __init__(self, divisor: int):
        self.divisor = divisor
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1)})

    def elaborate(self, platform):
        m = Module()
        left = Signal(range(self.divisor))
        bits = Signal(range(_BITS + 1))
        shifted = Signal(_BITS - 1, reset_less=True)
        low = Signal()  # so that the line is high from the first cycle on
        m.d.comb += self.tx.eq(~low)
        m.d.comb += self.i.ready.eq((bits == 0) & (left == 0))
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Elif(bits != 0):
            m.d.sync += [left.eq(self.divisor - 1), bits.eq(bits - 1)]
            m.d.sync += [low.eq(~shifted[0]), shifted.eq(Cat(shifted[1:], C(1, 1)))]
        with m.Elif(self.i.valid):
            m.d.sync += [bits.eq(_BITS - 1), left.eq(self.divisor - 1), low.eq(1)]
            m.d.sync += shifted.eq(Cat(self.i.payload, C(1, 1)))
        return m
