"""Fills memory with an image of SPI flash, before a host may access it."""

from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.soc.serial.flash_image import FlashImageFormat
from hw.soc.serial.flash_reader import FlashReader
from hw.soc.serial.framing import FrameCrc
from hw.soc.stores.byte_access import UNSTARTED, ByteAccess

__all__ = ["FlashLoader"]

_F = FlashImageFormat
_, LOADING, LOADED, EMPTY, OTHER, DAMAGED, FAILED = range(7)
"""Of :class:`golden.soc.serial.flash_image.FlashStatus`."""


class FlashLoader(wiring.Component):
    """Copies an image into memory, once, and then passes a host's bytes on.

    Computes :func:`golden.soc.serial.flash_image.load_flash`. Until it is over, a byte of the host
    is refused, as by memory that has not started. Latency: as long as flash takes, 33 cycles a
    byte, or memory, if that is longer; none for bytes of a host.

    Parameters
    ----------
    address : int
        What: of the image in flash.
    size : int
        What: bytes of the memory.
    digest : int
        What: of the design, which the image must name.

    Members
    -------
    host : In(ByteAccess)
        Single bytes.
    memory : Out(ByteAccess)
        The memory.
    i_started : In(1)
        Memory has started; stays so.
    i_again : In(1)
        Copy it once more, if nothing is being copied.
    o_started : Out(1)
        And has been filled, or there is nothing to fill it with.
    o_status : Out(3)
        What came from flash.
    o_image : Out(32)
        The CRC-32 of its data; 0 unless it is LOADED.
    flash_cs_n, flash_clk, flash_mosi, flash_miso : Out(1), Out(1), Out(1), In(1)
        The flash's pins.
    """

    host: Any
    memory: Any
    i_started: Signal
    i_again: Signal
    o_started: Signal
    o_status: Signal
    o_image: Signal
    flash_cs_n: Signal
    flash_clk: Signal
    flash_mosi: Signal
    flash_miso: Signal

    def __init__(self, address: int, size: int, digest: int):
        self.address, self.size, self.digest = address, size, digest
        self.length, self.wanted = Signal(32), Signal(32)
        """Bytes that are left of the image, and the CRC of its data, as its header says."""
        self.writes, self.place, self.byte = Signal(), Signal(32), Signal(8)
        """A byte is to be written; where, and which."""
        self.position, self.wrong, self.other = Signal(range(_F.HEADER + 1)), Signal(), Signal()
        """Bytes of the header so far; it is none; it is of another design."""
        super().__init__({
            "host": In(ByteAccess()),
            "memory": Out(ByteAccess()),
            "i_started": In(1),
            "i_again": In(1),
            "o_started": Out(1),
            "o_status": Out(3, init=LOADING),  # type: ignore[call-arg]
            "o_image": Out(32),
            **self.pins(),
        })

    @staticmethod
    def pins() -> dict[str, wiring.Member]:
        """Return the pins of flash."""
        outs = {name: Out(1) for name in ("flash_cs_n", "flash_clk", "flash_mosi")}
        return {**outs, "flash_miso": In(1)}

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = FlashReader(self.address)
        m.submodules.crc = crc = FrameCrc()
        m.d.comb += [
            self.flash_cs_n.eq(reader.cs_n),
            self.flash_clk.eq(reader.clk),
            self.flash_mosi.eq(reader.mosi),
            reader.miso.eq(self.flash_miso),
            crc.i.eq(reader.o.payload),
            self.o_started.eq(self.o_status != LOADING),
            self.o_image.eq(Mux(self.o_status == LOADED, self.wanted, 0)),
        ]
        self._pass(m)
        with m.FSM():
            with m.State("wait"), m.If(self.i_started & ~reader.busy):
                m.d.comb += crc.start.eq(1)
                m.d.sync += [self.place.eq(0), self.position.eq(0)]
                m.d.sync += [self.wrong.eq(0), self.other.eq(0)]
                m.next = "header"
            self._take_header(m, reader, crc)
            self._copy(m, reader, crc)
            with m.State("over"), m.If(self.i_again):
                m.d.sync += self.o_status.eq(LOADING)
                m.next = "wait"
        return m

    def _pass(self, m: Module) -> None:
        """Pass bytes of the host on, or refuse them; before, memory gets those of flash."""
        host, memory, over, refused = self.host, self.memory, self.o_started, Signal()
        m.d.sync += refused.eq(host.request & ~refused & ~over)
        m.d.comb += [
            memory.request.eq(Mux(over, host.request, self.writes)),
            memory.write.eq(host.write | ~over),
            memory.address.eq(Mux(over, host.address, self.place)),
            memory.data.eq(Mux(over, host.data, self.byte)),
            host.read.eq(memory.read),
            host.done.eq(Mux(over, memory.done, refused)),
            host.error.eq(Mux(over, memory.error, UNSTARTED)),
        ]

    def _take_header(self, m: Module, reader: FlashReader, crc: FrameCrc) -> None:
        """Take the header, and see whether the image is one for this memory and design."""
        position, wrong, other = self.position, self.wrong, self.other
        text = _F.MAGIC + self.digest.to_bytes(8, "little")
        byte, name = reader.o.payload, Array([*text, *bytes(32 - len(text))])[position]
        both = Cat(self.length, self.wanted)
        with m.State("header"):
            m.d.comb += [reader.en.eq(1), reader.o.ready.eq(position != _F.HEADER)]
            with m.If(reader.o.valid & reader.o.ready):
                m.d.comb += crc.i_valid.eq(1)
                m.d.sync += position.eq(position + 1)
                with m.If(position < _F.DIGEST):
                    m.d.sync += wrong.eq(wrong | (byte != name))
                with m.Elif(position < _F.BYTES):
                    m.d.sync += other.eq(other | (byte != name))
                with m.Elif(position < _F.CRC):
                    m.d.sync += both.eq(Cat(both[8:], byte))
            with m.If((position == _F.HEADER) & crc.o_valid):
                m.d.comb += crc.start.eq(1)
                m.next = "copy"
                with m.If(wrong | ~crc.o_match | (self.length == 0) | (self.length > self.size)):
                    m.d.sync += self.o_status.eq(EMPTY)
                    m.next = "over"
                with m.Elif(other):
                    m.d.sync += self.o_status.eq(OTHER)
                    m.next = "over"

    def _copy(self, m: Module, reader: FlashReader, crc: FrameCrc) -> None:
        """Write byte after byte, while flash shows the next one, and compare their CRC."""
        with m.State("copy"):
            m.d.comb += [
                reader.en.eq(self.length != 0),
                reader.o.ready.eq(~self.writes & (self.length != 0)),
                crc.i_valid.eq(reader.o.valid & reader.o.ready),
            ]
            with m.If(crc.i_valid):
                m.d.sync += [self.byte.eq(reader.o.payload), self.writes.eq(1)]
            with m.If(self.memory.done):
                m.d.sync += [self.place.eq(self.place + 1), self.length.eq(self.length - 1)]
                m.d.sync += self.writes.eq(0)
                with m.If(self.memory.error != 0):
                    m.d.sync += self.o_status.eq(FAILED)
                    m.next = "over"
            with m.If((self.length == 0) & crc.o_valid):
                m.d.sync += self.o_status.eq(Mux(crc.o == self.wanted, LOADED, DAMAGED))
                m.next = "over"
