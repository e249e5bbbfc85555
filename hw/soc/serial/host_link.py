"""Host commands over a byte stream, as accesses to memory and registers."""

from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.coprocessor_uart import CoprocessorUartSpec
from hw.soc.bus.axi import Axi4Lite
from hw.soc.stores.block_ram import ByteAccess

__all__ = ["HostLink"]

_HEADER = 7
"""Bytes of a command: letter, address, number of bytes."""


class HostLink(wiring.Component):
    """Executes the commands of :class:`golden.soc.coprocessor_uart.CoprocessorUartSpec`.

    Bytes must be at least 16 cycles apart.

    Parameters
    ----------
    spec : CoprocessorUartSpec
        What: memory, and the command timeout.
    address_width : int
        What: bits of a register address.

    Members
    -------
    i, i_valid : In
        A received byte, valid for one cycle.
    o : Out(stream)
        Bytes to send.
    memory : Out(ByteAccess)
        The memory.
    registers : Out(Axi4Lite)
        The registers.
    """

    i: Signal
    i_valid: Signal
    o: stream.Interface
    memory: Any
    registers: Any

    def __init__(self, spec: CoprocessorUartSpec, address_width: int):
        self.spec = spec
        super().__init__({
            "i": In(8),
            "i_valid": In(1),
            "o": Out(stream.Signature(8)),
            "memory": Out(ByteAccess()),
            "registers": Out(Axi4Lite(address_width)),
        })

    def elaborate(self, platform):
        m = Module()
        axi, memory = self.registers, self.memory
        header = Signal(8 * _HEADER)
        letter, address, count = header[:8], header[8:40], header[40:]
        place = Signal(range(_HEADER + 1))
        word, status = Signal(32), Signal(8)

        # Idle time within a command.
        limit = self.spec.TIMEOUT * self.spec.divisor
        silence = Signal(range(limit + 1))
        waits, late = Signal(), Signal()
        m.d.comb += late.eq(silence == limit)
        with m.If(self.i_valid | ~waits):
            m.d.sync += silence.eq(0)
        with m.Else():
            m.d.sync += silence.eq(silence + 1)

        def forget_if_late() -> None:
            m.d.comb += waits.eq(1)
            with m.If(late):
                m.d.sync += place.eq(0)
                m.next = "command"

        def answer(byte: Any, last: Any, then: str) -> None:
            """Send a byte, then the next one, or continue."""
            m.d.comb += [self.o.payload.eq(byte), self.o.valid.eq(1)]
            with m.If(self.o.ready & last):
                m.next = then

        m.d.comb += [
            memory.address.eq(address), memory.data.eq(self.i), axi.awaddr.eq(address),
            axi.araddr.eq(address), axi.wdata.eq(word), axi.wstrb.eq(15), axi.bready.eq(1),
            axi.rready.eq(1),
        ]  # fmt: skip
        with m.If(axi.awready):
            m.d.sync += axi.awvalid.eq(0)
        with m.If(axi.wready):
            m.d.sync += axi.wvalid.eq(0)
        with m.If(axi.arready):
            m.d.sync += axi.arvalid.eq(0)
        next_byte = [address.eq(address + 1), count.eq(count - 1)]
        held = Signal(8)

        with m.FSM(name="state"):
            with m.State("command"):
                m.d.sync += status.eq(0)
                with m.If(place != 0):
                    forget_if_late()
                with m.If(self.i_valid):
                    m.d.sync += header.eq(Cat(header[8:], self.i))
                    # The letter is shifted in first, and reaches the lowest byte with the last one.
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == 0), m.Switch(self.i):
                        with m.Case(ord("i")):
                            m.d.sync += place.eq(0)
                            m.next = "size"
                        with m.Case(*map(ord, "wzrWR")):
                            pass
                        with m.Default():
                            m.d.sync += place.eq(0)
                    with m.If(place == _HEADER - 1):
                        m.d.sync += place.eq(0)
                        m.next = "begin"
            with m.State("size"):
                answer((self.spec.memory_bytes - 1).bit_length(), 1, "status")
            with m.State("begin"):
                with m.If(count == 0):
                    m.next = "status"
                with m.Else(), m.Switch(letter):
                    with m.Case(ord("w")):
                        m.next = "take"
                    with m.Case(ord("z")):
                        m.d.sync += held.eq(0)
                        m.next = "write"
                    with m.Case(ord("r")):
                        m.next = "read"
                    with m.Case(ord("W")):
                        m.next = "take_word"
                    with m.Default():
                        m.d.sync += axi.arvalid.eq(1)
                        m.next = "read_word"
            with m.State("take"):
                forget_if_late()
                with m.If(self.i_valid):
                    m.d.sync += held.eq(self.i)
                    m.next = "write"
            with m.State("write"):
                m.d.comb += [memory.request.eq(1), memory.write.eq(1), memory.data.eq(held)]
                with m.If(memory.done):
                    m.d.sync += [*next_byte, status.eq(status | memory.error.replicate(2))]
                    m.next = "begin"
            with m.State("read"):
                m.d.comb += memory.request.eq(1)
                with m.If(memory.done):
                    m.d.sync += [
                        held.eq(memory.read),
                        status.eq(status | memory.error.replicate(2)),
                    ]
                    m.next = "send"
            with m.State("send"):
                answer(held, 1, "begin")
                with m.If(self.o.ready):
                    m.d.sync += next_byte
            with m.State("take_word"):
                forget_if_late()
                with m.If(self.i_valid):
                    m.d.sync += [word.eq(Cat(word[8:], self.i)), place.eq(place + 1)]
                    with m.If(place == 3):
                        m.d.sync += [place.eq(0), axi.awvalid.eq(1), axi.wvalid.eq(1)]
                        m.next = "write_word"
            with m.State("write_word"), m.If(axi.bvalid):
                m.d.sync += [address.eq(address + 4), count.eq(count - 4)]
                m.d.sync += status.eq(status | axi.bresp)
                m.next = "begin"
            with m.State("read_word"), m.If(axi.rvalid):
                m.d.sync += [word.eq(axi.rdata), status.eq(status | axi.rresp)]
                m.next = "send_word"
            with m.State("send_word"):
                answer(word[:8], place == 3, "begin")
                with m.If(self.o.ready):
                    m.d.sync += [word.eq(word[8:]), place.eq(place + 1)]
                    with m.If(place == 3):
                        m.d.sync += [place.eq(0), address.eq(address + 4), count.eq(count - 4)]
            with m.State("status"):
                answer(status, 1, "command")
        return m
