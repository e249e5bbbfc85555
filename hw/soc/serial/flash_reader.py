"""Reads an SPI flash from an address on: a command, and then one byte after the other."""

from amaranth import Array, Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["FlashReader"]

_WAKE, _READ = 0xAB, 0x03
"""Commands of flash: end its power-down; read bytes, slowly enough for any clock here."""
_HALF = 2
"""Cycles of half a period of its clock."""
_PAUSE = 1 << 12
"""Cycles until flash is awake: 35 us of data sheets, at up to 117 MHz."""


class FlashReader(wiring.Component):
    """Reads bytes over one wire, in SPI's mode 0; flash is woken before.

    A bit takes four cycles, and is taken in the third from the edge at which flash shows it: on its
    way are the pins, and the wires of the FPGA's clock for its configuration. The clock stops while
    nobody takes a byte. Latency, ``en`` to the first byte: about 4,300 cycles. Throughput: one byte
    per 33 cycles.

    Parameters
    ----------
    address : int
        What: of the first byte, 0..16777215.

    Members
    -------
    en : In(1)
        Read; once low, it begins anew.
    busy : Out(1)
        It reads, or is about to end.
    o : Out(stream)
        Bytes.
    cs_n, clk, mosi, miso : Out(1), Out(1), Out(1), In(1)
        The flash's pins.
    """

    en: Signal
    busy: Signal
    o: stream.Interface
    cs_n: Signal
    clk: Signal
    mosi: Signal
    miso: Signal

    def __init__(self, address: int):
        self.address = address
        super().__init__({
            "en": In(1),
            "busy": Out(1),
            "o": Out(stream.Signature(8)),
            "cs_n": Out(1, init=1),  # type: ignore[call-arg]
            "clk": Out(1),
            "mosi": Out(1),
            "miso": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        halves, phase = Signal(range(17)), Signal(range(_HALF))
        shifted, came, step = Signal(8), Signal(), Signal(range(4))
        pause, over, data = Signal(range(_PAUSE)), Signal(), Signal()
        command = Array([_READ, *self.address.to_bytes(3, "big")])
        m.d.comb += [
            over.eq(halves == 0),
            self.mosi.eq(shifted[-1]),
            self.o.payload.eq(shifted),
        ]
        m.d.sync += came.eq(self.miso)
        with m.If(~over):
            m.d.sync += phase.eq(phase + 1)
            with m.If(phase == _HALF - 1):
                m.d.sync += [phase.eq(0), halves.eq(halves - 1), self.clk.eq(~self.clk)]
                with m.If(self.clk):
                    m.d.sync += shifted.eq(Cat(came, shifted))
        m.d.comb += self.busy.eq(~self.cs_n)
        with m.FSM():
            with m.State("idle"), m.If(self.en):
                m.d.sync += [self.cs_n.eq(0), shifted.eq(_WAKE), halves.eq(16), step.eq(0)]
                m.next = "wake"
            with m.State("wake"), m.If(over):
                m.d.sync += [self.cs_n.eq(1), pause.eq(pause + 1)]
                with m.If(pause == _PAUSE - 1):
                    m.next = "command"
            with m.State("command"), m.If(over):
                m.d.sync += [
                    self.cs_n.eq(0),
                    shifted.eq(command[step]),
                    halves.eq(16),
                    step.eq(step + 1),
                ]
                with m.If(step == len(command) - 1):
                    m.next = "read"
            with m.State("read"), m.If(over):
                m.d.comb += self.o.valid.eq(data)
                with m.If(~self.en):
                    m.d.sync += [self.cs_n.eq(1), data.eq(0)]
                    m.next = "idle"
                with m.Elif(self.o.ready | ~data):
                    m.d.sync += [data.eq(1), halves.eq(16)]
        return m
