"""The co-processor's registers: resets, and traffic on AXI4-Lite in any order."""

import random
from itertools import product

from verif.soc.registers.bench import (
    CTRL,
    DONE,
    ERROR,
    GIER,
    IDLE,
    IER,
    IGNORED,
    ISR,
    OKAY,
    RESET,
    SLVERR,
    START,
    WRITABLE,
    Host,
    simulate,
)


def test_registers_soft_reset_gives_reset_values_but_answers() -> None:
    async def bench(host: Host) -> None:
        ctx, dut = host.ctx, host.dut
        for address in (GIER, IER, *WRITABLE):
            await host.write(address, 3)
        ctx.set(dut.i_error.code, 1)
        await host.pulse(dut.i_done, dut.i_error.valid)
        ctx.set(dut.i_idle, 0)
        await host.write(0x10, 1)
        assert ctx.get(dut.o_interrupt)
        assert await host.write(CTRL, START | RESET, b=6) == OKAY
        assert ctx.get(dut.o_reset)
        assert not ctx.get(dut.o_start)
        assert not ctx.get(dut.o_interrupt)
        for address in (GIER, IER, ISR, ERROR):
            assert await host.read(address) == 0, hex(address)
        assert await host.read(CTRL) == RESET
        for address in WRITABLE:
            assert await host.read(address) == 3, hex(address)

        # Reports and starts do not count meanwhile; the bit to read is that one was ignored.
        await host.pulse(dut.i_done, dut.i_error.valid, dut.i_ready)
        assert await host.read(ISR) == 0
        assert await host.read(ERROR) == 0
        await host.write(CTRL, START)
        assert await host.read(CTRL) == RESET
        assert await host.read(ERROR) == IGNORED
        ctx.set(dut.i_idle, 1)
        await host.pulse(dut.i_reset_done)
        assert not ctx.get(dut.o_reset)
        for address in WRITABLE:
            assert await host.read(address) == 0, hex(address)
        assert await host.read(CTRL) == IDLE
        await host.write(CTRL, START)
        assert ctx.get(dut.o_start)
        await host.write(CTRL, RESET)
        assert not ctx.get(dut.o_start)
        await host.pulse(dut.i_reset_done)
        assert await host.read(CTRL) == IDLE
        assert await host.read(ERROR) == 0

    simulate(bench)


def test_registers_channels_come_in_any_order() -> None:
    async def bench(host: Host) -> None:
        for number, (aw, w, b) in enumerate(product((0, 1, 2, 5), repeat=3)):
            value = 0x01010101 * (number + 1)
            assert await host.write(0x48, value, aw=aw, w=w, b=b) == OKAY
            assert host.cycles == max(max(aw, w) + 3, b + 1)
            assert await host.read(0x48) == value
            assert await host.write(0x1FC, value, aw=aw, w=w, b=b) == SLVERR
            assert await host.access(0x48, ar=aw, r=b) == (OKAY, value)
            assert host.cycles == max(aw + 3, b + 1)
            assert await host.access(0xE8, ar=aw, r=b) == (SLVERR, 0)

    simulate(bench)


def test_registers_take_a_write_every_two_cycles_and_a_read_every_three() -> None:
    async def bench(host: Host) -> None:
        ctx, axi = host.ctx, host.axi
        values = list(range(1, 21))
        writes, reads, responses, seen = 0, 0, 0, []
        for signal in (axi.bready, axi.rready, axi.arvalid, axi.awvalid, axi.wvalid):
            ctx.set(signal, 1)
        ctx.set(axi.wstrb, 0b1111)
        ctx.set(axi.awaddr, 0x50)
        ctx.set(axi.araddr, 0x50)
        for _ in range(40):
            ctx.set(axi.wdata, values[min(writes, 19)])
            ports = (axi.wready, axi.awready, axi.bvalid, axi.arready, axi.rvalid, axi.rdata)
            *_, wready, awready, bvalid, arready, rvalid, rdata = await ctx.tick().sample(*ports)
            assert wready == awready
            writes += wready
            responses += bvalid
            reads += arready
            if rvalid:
                seen.append(rdata)
        assert (writes, reads) == (20, 14)
        assert responses == 19
        assert seen == sorted(seen)
        assert len(set(seen)) >= 12

    simulate(bench)


def test_registers_random_traffic_matches_a_model() -> None:
    rng = random.Random(1)

    async def bench(host: Host) -> None:
        model = dict.fromkeys(WRITABLE, 0)
        for _ in range(300):
            address, value, strobe = (
                rng.choice([*WRITABLE]),
                rng.getrandbits(32),
                rng.getrandbits(4),
            )
            delays = {name: rng.choice((0, 0, 0, 1, 4)) for name in ("aw", "w", "b")}
            assert await host.write(address, value, strobe, **delays) == OKAY
            bits = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            model[address] = model[address] & ~bits | value & bits & WRITABLE[address]
            address = rng.choice([*WRITABLE])
            seen = await host.access(address, ar=delays["aw"], r=delays["b"])
            assert seen == (OKAY, model[address])
        assert {address: await host.read(address) for address in WRITABLE} == model

    simulate(bench)


def test_registers_reads_of_one_register_disturb_no_other() -> None:
    async def bench(host: Host) -> None:
        await host.pulse(host.dut.i_done)
        for address in range(4, 0x200, 4):
            await host.access(address)
        assert await host.read(CTRL) == DONE | IDLE

    simulate(bench)
