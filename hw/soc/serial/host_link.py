"""Frames of a host, as accesses to memory and registers."""

from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.serial.host_link import HostLinkFormat
from hw.soc.bus.axi import Axi4Lite
from hw.soc.serial.framing import FrameByte, FrameCrc
from hw.soc.stores.block_ram import ByteAccess

__all__ = ["HostLink"]

_F = HostLinkFormat
_HEADER = _F.HEADER + _F.CRC
_HUNT = 15
"""Bytes so far: those that come do not count, up to the next delimiter."""


class HostLink(wiring.Component):
    """Does what frames say, and answers.

    Computes :class:`golden.soc.serial.host_link.HostLink`. Bytes must be at least 16 cycles apart;
    those that come before the end of an answer are dropped.

    Parameters
    ----------
    spec : CoprocessorUartSpec
        What: the memory.
    address_width : int
        What: bits of a register address.

    Members
    -------
    i, i_valid : In
        A byte of a frame, valid for one cycle.
    i_end : In(1)
        A delimiter, for one cycle.
    o : Out(stream)
        Bytes of answers, and delimiters.
    memory : Out(ByteAccess)
        The memory.
    registers : Out(Axi4Lite)
        The registers.
    """

    i: Signal
    i_valid: Signal
    i_end: Signal
    o: stream.Interface
    memory: Any
    registers: Any

    def __init__(self, spec: CoprocessorUartSpec, address_width: int):
        self.spec = spec
        self.place = Signal(4, init=_HUNT)
        """Bytes of the header, or of what follows, so far."""
        self.count = Signal(32)
        """Value of a header: bytes of memory still to come, or a register's word."""
        self.waits = Signal()
        """It waits for bytes."""
        self.legal = Signal()
        """It is in one of its states; for proofs."""
        super().__init__({
            "i": In(8),
            "i_valid": In(1),
            "i_end": In(1),
            "o": Out(stream.Signature(FrameByte)),
            "memory": Out(ByteAccess()),
            "registers": Out(Axi4Lite(address_width)),
        })

    def elaborate(self, platform):
        m = Module()
        axi, memory, place = self.registers, self.memory, self.place
        sequence, address, code, value = Signal(8), Signal(24), Signal(8), self.count
        header, bytes_left = Cat(sequence, address, code, value), value[:16]
        command = code[:3]
        last, word, held = Signal(8), Signal(32), Signal(8)
        status, fresh = Signal(3), Signal(init=1)
        m.submodules.crc = crc = FrameCrc()

        m.d.comb += [
            crc.i.eq(self.i), memory.address.eq(address), memory.data.eq(held),
            axi.awaddr.eq(address), axi.araddr.eq(address), axi.wdata.eq(value),
            axi.wstrb.eq(15), axi.bready.eq(1), axi.rready.eq(1),
        ]  # fmt: skip
        for valid, ready in (
            (axi.awvalid, axi.awready), (axi.wvalid, axi.wready), (axi.arvalid, axi.arready),
        ):  # fmt: skip
            with m.If(ready):
                m.d.sync += valid.eq(0)
        next_byte = [address.eq(address + 1), bytes_left.eq(bytes_left - 1)]

        def receive() -> None:
            """Take a byte into the CRC; a delimiter begins a frame."""
            m.d.comb += [self.waits.eq(1), crc.i_valid.eq(self.i_valid), crc.start.eq(self.i_end)]
            with m.If(self.i_end):
                m.d.sync += place.eq(0)
                m.next = "header"

        def answer(byte: Any, then: str) -> Any:
            """Send a byte of an answer; what is done once more goes into the block returned."""
            m.d.comb += [self.o.valid.eq(1), self.o.payload.data.eq(byte)]
            m.d.comb += [crc.i.eq(byte), crc.i_valid.eq(self.o.ready)]
            with m.If(self.o.ready):
                m.next = then
            return m.If(self.o.ready)

        with m.FSM(name="state") as fsm:
            with m.State("header"):
                with m.If(self.i_valid & (place != _HUNT)):
                    m.d.sync += place.eq(place + 1)
                    with m.If(place < _F.HEADER):
                        m.d.sync += header.eq(Cat(header[8:], self.i))
                with m.If((place == _HEADER) & crc.o_valid):
                    m.d.sync += place.eq(_HUNT)
                    with m.If(crc.o_match):
                        m.d.sync += place.eq(0)
                        m.next = "check"
                receive()
            with m.State("check"):
                m.d.sync += held.eq(0)
                m.next = "open"
                with m.If(fresh & (command > _F.CLAIM)):
                    m.d.sync += [status.eq(_F.RESET), command.eq(_F.ZERO)]
                with m.Elif((command <= _F.READ) | (sequence != last)):
                    m.d.sync += status.eq(0)
                    with m.Switch(command):
                        with m.Case(_F.HELLO, _F.CLAIM):
                            m.d.sync += [status[2].eq(fresh), fresh.eq(fresh & ~command[0])]
                        with m.Case(_F.WRITE, _F.ZERO):
                            m.next = "more"
                        with m.Case(_F.READ_WORD):
                            m.d.sync += axi.arvalid.eq(1)
                            m.next = "read_word"
                        with m.Case(_F.WRITE_WORD):
                            m.d.sync += [axi.awvalid.eq(1), axi.wvalid.eq(1)]
                            m.next = "write_word"
            with m.State("write_word"), m.If(axi.bvalid):
                m.d.sync += status[:2].eq(axi.bresp)
                m.next = "open"
            with m.State("read_word"), m.If(axi.rvalid):
                m.d.sync += [word.eq(axi.rdata), status[:2].eq(axi.rresp)]
                m.next = "open"
            # Bytes of memory, one by one.
            with m.State("more"), m.Switch(command):
                with m.Case(_F.READ):
                    m.next = "read"
                    with m.If(bytes_left == 0):
                        m.next = "status"
                with m.Case(_F.WRITE):
                    m.next = "take"
                with m.Default():
                    m.next = "write"
                    with m.If(bytes_left == 0):
                        m.next = "open"
            with m.State("take"):
                with m.If(self.i_valid):
                    m.d.sync += held.eq(self.i)
                    m.next = "write"
                    with m.If(bytes_left == 0):
                        m.d.sync += place.eq(place + 1)
                        m.next = "take"
                with m.If((place == _F.CRC) & crc.o_valid):
                    m.d.sync += place.eq(_HUNT)
                    m.next = "header"
                    with m.If(crc.o_match):
                        m.next = "open"
                receive()
            with m.State("write"):
                m.d.comb += [memory.request.eq(1), memory.write.eq(1)]
                with m.If(memory.done):
                    m.d.sync += [*next_byte, status[:2].eq(status[:2] | memory.error.replicate(2))]
                    m.next = "more"
            with m.State("read"):
                m.d.comb += memory.request.eq(1)
                with m.If(memory.done):
                    m.d.sync += [held.eq(memory.read), *next_byte]
                    m.d.sync += status[:2].eq(status[:2] | memory.error.replicate(2))
                    m.next = "send"
            # The answer.
            with m.State("open"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.end.eq(1), crc.start.eq(1)]
                m.d.sync += [place.eq(0), last.eq(sequence)]
                with m.If(self.o.ready):
                    m.next = "sequence"
            with m.State("sequence"), answer(sequence, "status"), m.Switch(command):
                with m.Case(_F.HELLO, _F.CLAIM):
                    m.next = "size"
                with m.Case(_F.READ):
                    m.next = "more"
                with m.Case(_F.READ_WORD):
                    m.next = "word"
            with m.State("size"):
                answer((self.spec.memory_bytes - 1).bit_length(), "status")
            with m.State("send"):
                answer(held, "more")
            with m.State("word"), answer(word[:8], "word"):
                # Round once, so that it can be sent again.
                m.d.sync += [word.eq(Cat(word[8:], word[:8])), place.eq(place + 1)]
                with m.If(place == 3):
                    m.d.sync += place.eq(0)
                    m.next = "status"
            with m.State("status"):
                answer(status, "crc")
            with m.State("crc"):
                m.d.comb += self.o.valid.eq(crc.o_valid)
                m.d.comb += self.o.payload.data.eq(crc.o.word_select(place[:2], 8))
                with m.If(self.o.valid & self.o.ready):
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == _F.CRC - 1):
                        m.next = "close"
            with m.State("close"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.end.eq(1)]
                m.d.sync += place.eq(_HUNT)
                with m.If(self.o.ready):
                    m.next = "header"
        states: Any = fsm
        m.d.comb += self.legal.eq(states.state < len(states.encoding))
        return m
