"""What tests of the register map share: a build, and an AXI4-Lite manager in Amaranth."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from amaranth.sim import Simulator

from hw.soc.registers.coprocessor import Registers

__all__ = [
    "BUILD", "CTRL", "DONE", "ERROR", "GIER", "IDLE", "IER", "IGNORED", "ISR", "OKAY", "READY",
    "RESET", "SLVERR", "START", "WRITABLE", "Host", "simulate",
]  # fmt: skip

OKAY, SLVERR = 0, 2

CTRL, GIER, IER, ISR = 0x00, 0x04, 0x08, 0x0C
START, DONE, IDLE, READY, RESET = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 31
ERROR, IGNORED = 0xA0, 1 << 16

# The map, by hand: what a host relies on.
WRITABLE = {
    **dict.fromkeys(range(0x10, 0x68, 4), 0xFFFFFFFF),  # A_LO to LDSB
    0x68: 0x4F7FFF,
    0x6C: 0x7FFFFFFF,
    0x70: 0x3F,
    0x74: 0xFFFF,
    0x78: 0xFFFF,
    0x7C: 0xFFFF,
    **dict.fromkeys((0x80, 0x84, 0x88), 0xFFFFFFFF),  # BLOCK_M, BLOCK_N, BLOCK_K
    **dict.fromkeys((0x90, 0x94, 0x98), 0xFFFFFFFF),  # RING_LO, RING_HI, RING_COUNT
}

# No two alike, so that no register can stand in for another.
BUILD = {
    "version": (3 << 16) | (14 << 8) | 15,
    "engine": 5,
    "tile_m": 16,
    "tile_n": 12,
    "tile_k": 4,
    "a_bits": 8,
    "b_bits": 2,
    "c_bits": 7,
    "sum_bytes": 6,
    "data_width": 256,
    "address_width": 40,
    "k_max": 0xFFFFFFFF,
    "sums": 192,
    "a_bytes": 4096,
    "b_bytes": 2048,
    "features": 0b1000_0010_1101,
    "hash": 0x0123456789ABCDEF,
    "numbers": 0x87_2B_85_0C,
    "outstanding": 23,
    "dimension_width": 21,
    "vector": 0b110,
    "vector_format": 0x11530C0A,
    "vector_length": 1234,
    "more_features": 0,
}


class Host:
    """Reads and writes registers; checks that responses wait, unchanged, until they are taken."""

    DEADLINE = 40

    def __init__(self, ctx: Any, dut: Registers) -> None:
        self.ctx = ctx
        self.dut = dut
        self.axi = dut.s_axi
        self.cycles = 0
        """Cycles of the last access."""

    async def write(
        self, address: int, value: int, strobe: int = 0b1111, *, aw: int = 0, w: int = 0, b: int = 0
    ) -> int:
        """Write, with so many cycles before each channel; return the response."""
        ctx, axi = self.ctx, self.axi
        ctx.set(axi.awaddr, address)
        ctx.set(axi.wdata, value)
        ctx.set(axi.wstrb, strobe)
        asked = written = False
        held = None
        for cycle in range(1, self.DEADLINE):
            self.cycles = cycle
            ctx.set(axi.awvalid, not asked and cycle > aw)
            ctx.set(axi.wvalid, not written and cycle > w)
            ctx.set(axi.bready, cycle > b)
            ports = (axi.awvalid, axi.awready, axi.wvalid, axi.wready, axi.bvalid, axi.bresp)
            *_, awvalid, awready, wvalid, wready, bvalid, bresp = await ctx.tick().sample(*ports)
            assert not bvalid or (asked and written), "response without a request"
            asked |= bool(awvalid and awready)
            written |= bool(wvalid and wready)
            assert held in (None, (bvalid, bresp)), "response changed while it waited"
            if bvalid:
                held = bvalid, bresp
                if cycle > b:
                    ctx.set(axi.bready, 0)
                    return int(bresp)
        raise AssertionError(f"no response to a write of {address:#x}")

    async def access(self, address: int, *, ar: int = 0, r: int = 0) -> tuple[int, int]:
        """Read, with so many cycles before each channel; return the response and the data."""
        ctx, axi = self.ctx, self.axi
        ctx.set(axi.araddr, address)
        asked = False
        held = None
        for cycle in range(1, self.DEADLINE):
            self.cycles = cycle
            ctx.set(axi.arvalid, not asked and cycle > ar)
            ctx.set(axi.rready, cycle > r)
            ports = (axi.arvalid, axi.arready, axi.rvalid, axi.rresp, axi.rdata)
            *_, arvalid, arready, rvalid, rresp, rdata = await ctx.tick().sample(*ports)
            assert not rvalid or asked, "response without a request"
            asked |= bool(arvalid and arready)
            assert held in (None, (rvalid, rresp, rdata)), "response changed while it waited"
            if rvalid:
                held = rvalid, rresp, rdata
                if cycle > r:
                    ctx.set(axi.rready, 0)
                    return int(rresp), int(rdata)
        raise AssertionError(f"no response to a read of {address:#x}")

    async def read(self, address: int) -> int:
        """Read a register that is there."""
        response, value = await self.access(address)
        assert response == OKAY, f"response {response} to a read of {address:#x}"
        return value

    async def pulse(self, *signals: Any) -> None:
        """Hold inputs of the device high for a cycle."""
        for signal in signals:
            self.ctx.set(signal, 1)
        await self.ctx.tick()
        for signal in signals:
            self.ctx.set(signal, 0)


def simulate(bench: Any, widths: Mapping[str, int] = MappingProxyType({})) -> None:
    """Run ``await bench(host)`` on a device whose core is idle, with arguments of these widths.

    It begins when the device does not sweep its memory any more.
    """
    dut = Registers(BUILD, widths)
    ran = []

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.i_idle, 1)
        if not widths:
            file: Any = dut.file  # its members are the map's
            await ctx.tick().until(~file.o_sweeps)
        await bench(Host(ctx, dut))
        ran.append(True)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(testbench)
    simulator.run()
    assert ran
