"""Frames of a host, as accesses to memory and registers."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.serial.host_link import HostLinkFormat
from hw.soc.bus.axi import Axi4Lite
from hw.soc.serial.framing import FrameByte, FrameCrc
from hw.soc.serial.host_frame import HostFrame
from hw.soc.stores.byte_access import UNSTARTED, ByteAccess

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
    i_started : In(1)
        Memory has started: jobs may.
    i_flash, i_image : In(3), In(32)
        What came from flash, and the CRC-32 of it, if the design reads flash.
    o_again : Out(1)
        It is to come anew, for one cycle.
    """

    i: Signal
    i_valid: Signal
    i_end: Signal
    o: stream.Interface
    memory: Any
    registers: Any
    i_started: Signal
    i_flash: Signal
    i_image: Signal
    o_again: Signal

    def __init__(self, spec: CoprocessorUartSpec, address_width: int):
        self.spec = spec
        self.position = Signal(4, init=_HUNT)
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
            "i_started": In(1, init=1),  # type: ignore[call-arg]
            "i_flash": In(3),
            "i_image": In(32),
            "o_again": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        axi, memory = self.registers, self.memory
        frame = HostFrame.make(self.count)
        m.submodules.crc = crc = FrameCrc()
        m.d.comb += [
            crc.i.eq(self.i),
            memory.address.eq(frame.place),
            memory.data.eq(frame.byte),
            axi.awaddr.eq(frame.address),
            axi.araddr.eq(frame.address),
            axi.wdata.eq(self.count),
            axi.wstrb.eq(15),
            axi.bready.eq(1),
            axi.rready.eq(1),
        ]
        for valid, ready in (
            (axi.awvalid, axi.awready),
            (axi.wvalid, axi.wready),
            (axi.arvalid, axi.arready),
        ):
            with m.If(ready):
                m.d.sync += valid.eq(0)
        with m.FSM(name="state") as fsm:
            self._take_header(m, frame, crc)
            self._check(m, frame)
            self._access_registers(m, frame)
            self._access_memory(m, frame, crc)
            self._answer(m, frame, crc)
            self._end(m, crc)
        states: Any = fsm
        m.d.comb += self.legal.eq(states.state < len(states.encoding))
        return m

    def _receive(self, m: Module, crc: FrameCrc) -> None:
        """Take a byte into the CRC; a delimiter begins a frame."""
        m.d.comb += [self.waits.eq(1), crc.i_valid.eq(self.i_valid), crc.start.eq(self.i_end)]
        with m.If(self.i_end):
            m.d.sync += self.position.eq(0)
            m.next = "header"

    def _send(self, m: Module, crc: FrameCrc, byte: Any, then: str) -> Any:
        """Send a byte of an answer; what is done once more goes into the block returned."""
        m.d.comb += [self.o.valid.eq(1), self.o.payload.data.eq(byte)]
        m.d.comb += [crc.i.eq(byte), crc.i_valid.eq(self.o.ready)]
        with m.If(self.o.ready):
            m.next = then
        return m.If(self.o.ready)

    def _take_header(self, m: Module, frame: HostFrame, crc: FrameCrc) -> None:
        """Wait for a frame, and take its header, up to the CRC."""
        position, header = self.position, frame.header
        with m.State("header"):
            with m.If(self.i_valid & (position != _HUNT)):
                m.d.sync += position.eq(position + 1)
                with m.If(position < _F.HEADER):
                    m.d.sync += header.eq(Cat(header[8:], self.i))
            with m.If((position == _HEADER) & crc.o_valid):
                m.d.sync += position.eq(_HUNT)
                with m.If(crc.o_match):
                    m.d.sync += position.eq(0)
                    m.next = "check"
            self._receive(m, crc)

    def _check(self, m: Module, frame: HostFrame) -> None:
        """Do what the header says, but for a command that was done already."""
        axi, command, status, fresh = self.registers, frame.command, frame.status, frame.fresh
        image = bool(self.spec.flash) & frame.address[-1]
        with m.State("check"):
            m.d.sync += frame.byte.eq(0)
            m.next = "open"
            with m.If(fresh & (command > _F.CLAIM)):
                m.d.sync += [status.eq(_F.RESET), command.eq(_F.ZERO)]
            with m.Elif((command <= _F.READ) | (frame.sequence != frame.last)):
                m.d.sync += status.eq(0)
                with m.Switch(command):
                    with m.Case(_F.HELLO, _F.CLAIM):
                        m.d.sync += [status[2].eq(fresh), fresh.eq(fresh & ~command[0])]
                        m.d.sync += status[3:].eq(Cat(~self.i_started, self.i_flash))
                    with m.Case(_F.WRITE, _F.ZERO):
                        m.next = "more"
                    with m.Case(_F.READ_WORD):
                        m.d.sync += frame.word.eq(self.i_image)
                        with m.If(~image):
                            m.d.sync += axi.arvalid.eq(1)
                            m.next = "read_word"
                    with m.Case(_F.WRITE_WORD):
                        starts = (axi.awaddr[2:] == _F.CTRL >> 2) & (self.count & _F.START).any()
                        with m.If(image):
                            m.d.comb += self.o_again.eq(1)
                        with m.Elif(starts & ~self.i_started):
                            m.d.sync += status.eq(_F.UNSTARTED)
                        with m.Else():
                            m.d.sync += [axi.awvalid.eq(1), axi.wvalid.eq(1)]
                            m.next = "write_word"

    def _access_registers(self, m: Module, frame: HostFrame) -> None:
        """Wait for the answer of a register."""
        axi, status = self.registers, frame.status
        with m.State("write_word"), m.If(axi.bvalid):
            m.d.sync += status[:2].eq(axi.bresp)
            m.next = "open"
        with m.State("read_word"), m.If(axi.rvalid):
            m.d.sync += [frame.word.eq(axi.rdata), status[:2].eq(axi.rresp)]
            m.next = "open"

    def _access_memory(self, m: Module, frame: HostFrame, crc: FrameCrc) -> None:
        """Read or write bytes of memory, one by one."""
        memory, position, command, status = self.memory, self.position, frame.command, frame.status
        bytes_left = self.count[:16]
        next_byte = [frame.place.eq(frame.place + 1), bytes_left.eq(bytes_left - 1)]
        error = Mux(memory.error == UNSTARTED, _F.UNSTARTED, memory.error)
        next_byte.append(status.eq(status | error))
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
                m.d.sync += frame.byte.eq(self.i)
                m.next = "write"
                with m.If(bytes_left == 0):
                    m.d.sync += position.eq(position + 1)
                    m.next = "take"
            with m.If((position == _F.CRC) & crc.o_valid):
                m.d.sync += position.eq(_HUNT)
                m.next = "header"
                with m.If(crc.o_match):
                    m.next = "open"
            self._receive(m, crc)
        with m.State("write"):
            m.d.comb += [memory.request.eq(1), memory.write.eq(1)]
            with m.If(memory.done):
                m.d.sync += next_byte
                m.next = "more"
        with m.State("read"):
            m.d.comb += memory.request.eq(1)
            with m.If(memory.done):
                m.d.sync += [frame.byte.eq(memory.read), *next_byte]
                m.next = "send"

    def _answer(self, m: Module, frame: HostFrame, crc: FrameCrc) -> None:
        """Send an answer, up to its CRC."""
        position, word = self.position, frame.word
        with m.State("open"):
            m.d.comb += [self.o.valid.eq(1), self.o.payload.end.eq(1), crc.start.eq(1)]
            m.d.sync += [position.eq(0), frame.last.eq(frame.sequence)]
            with m.If(self.o.ready):
                m.next = "sequence"
        with (
            m.State("sequence"),
            self._send(m, crc, frame.sequence, "status"),
            m.Switch(frame.command),
        ):
            with m.Case(_F.HELLO, _F.CLAIM):
                m.next = "size"
            with m.Case(_F.READ):
                m.next = "more"
            with m.Case(_F.READ_WORD):
                m.next = "word"
        with m.State("size"):
            self._send(m, crc, (self.spec.memory_bytes - 1).bit_length(), "status")
        with m.State("send"):
            self._send(m, crc, frame.byte, "more")
        with m.State("word"), self._send(m, crc, word[:8], "word"):
            # Round once, so that it can be sent again.
            m.d.sync += [word.eq(Cat(word[8:], word[:8])), position.eq(position + 1)]
            with m.If(position == 3):
                m.d.sync += position.eq(0)
                m.next = "status"
        with m.State("status"):
            self._send(m, crc, frame.status, "crc")

    def _end(self, m: Module, crc: FrameCrc) -> None:
        """Send the CRC of an answer, and its delimiter."""
        position = self.position
        with m.State("crc"):
            m.d.comb += self.o.valid.eq(crc.o_valid)
            m.d.comb += self.o.payload.data.eq(crc.o.word_select(position[:2], 8))
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += position.eq(position + 1)
                with m.If(position == _F.CRC - 1):
                    m.next = "close"
        with m.State("close"):
            m.d.comb += [self.o.valid.eq(1), self.o.payload.end.eq(1)]
            m.d.sync += position.eq(_HUNT)
            with m.If(self.o.ready):
                m.next = "header"
