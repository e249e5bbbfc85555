"""AXI4-Lite subordinate: bus accesses to register accesses, one at a time."""

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.check import Integer
from hw.soc.bus.axi import Axi4Lite

__all__ = ["AxiLiteSlave", "RegisterBus"]

_OKAY, _SLVERR = 0, 2


class RegisterBus(wiring.Signature):
    """Register accesses, from the initiator's side.

    Addresses count words of 32 bits. An access with an error must have no effect.

    Members
    -------
    write, read : Out(1)
        High for the one cycle of an access.
    write_address, write_data, write_strobe : Out
        With ``write``: the word, its bits, and a bit for each byte to be written.
    write_error : In(1)
        In the cycle of ``write``: it is refused.
    read_address : Out
        With ``read``: the word.
    read_data, read_error : In
        In the cycle after ``read``: its bits, and that it is refused.
    """

    def __init__(self, address_width: int):
        super().__init__({
            "write": Out(1),
            "write_address": Out(address_width),
            "write_data": Out(32),
            "write_strobe": Out(4),
            "write_error": In(1),
            "read": Out(1),
            "read_address": Out(address_width),
            "read_data": In(32),
            "read_error": In(1),
        })


class AxiLiteSlave(wiring.Component):
    """Executes the accesses of an AXI4-Lite manager.

    Latency, later of address and data to response: 2 cycles, for a read too. Throughput: one write
    every 2 cycles, and one read every 3. Stalls: no input reaches an output combinationally,
    except for the address and request of a read. Errors respond with SLVERR. One read and one write
    execute at a time; address and data of the next write may wait meanwhile. The lowest 2 address
    bits are ignored.

    Parameters
    ----------
    address_width : int
        What: 3..32 bits of an address.

    Members
    -------
    s_axi : In(Axi4Lite)
        The manager.
    registers : Out(RegisterBus)
        The registers.
    i_hold : In(1)
        There is no access in this cycle.
    """

    s_axi: Any
    registers: Any
    i_hold: Signal

    def __init__(self, address_width: int):
        Integer("", 3, 3, 32, "bits").check("address_width", address_width)
        self.address_width = address_width
        super().__init__({
            "s_axi": In(Axi4Lite(address_width)),
            "registers": Out(RegisterBus(address_width - 2)),
            "i_hold": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        axi, registers = self.s_axi, self.registers

        # Address and data wait for each other, and for the response register to be free.
        aw_full, w_full = Signal(), Signal()
        aw_address = Signal(self.address_width - 2)
        w_data, w_strobe = Signal(32), Signal(4)
        m.d.comb += [
            axi.awready.eq(~aw_full),
            axi.wready.eq(~w_full),
            registers.write.eq(aw_full & w_full & ~axi.bvalid & ~self.i_hold),
            registers.write_address.eq(aw_address),
            registers.write_data.eq(w_data),
            registers.write_strobe.eq(w_strobe),
        ]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [aw_full.eq(1), aw_address.eq(axi.awaddr[2:])]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [w_full.eq(1), w_data.eq(axi.wdata), w_strobe.eq(axi.wstrb)]
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(registers.write):
            m.d.sync += [
                aw_full.eq(0),
                w_full.eq(0),
                axi.bvalid.eq(1),
                axi.bresp.eq(Mux(registers.write_error, _SLVERR, _OKAY)),
            ]

        asked = Signal()
        m.d.sync += asked.eq(registers.read)
        m.d.comb += [
            axi.arready.eq(~axi.rvalid & ~asked & ~self.i_hold),
            registers.read.eq(axi.arvalid & axi.arready),
            registers.read_address.eq(axi.araddr[2:]),
        ]
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(asked):
            m.d.sync += [
                axi.rvalid.eq(1),
                axi.rdata.eq(registers.read_data),
                axi.rresp.eq(Mux(registers.read_error, _SLVERR, _OKAY)),
            ]
        return m
