"""The co-processor's registers between a host and a core: starts, interrupts, reports."""

from itertools import product

import pytest

from hw.soc.registers.coprocessor import CountersLayout
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
    READY,
    RESET,
    START,
    WRITABLE,
    Host,
    simulate,
)


def test_registers_start_waits_until_it_is_taken() -> None:
    async def bench(host: Host) -> None:
        ctx, dut = host.ctx, host.dut
        assert not ctx.get(dut.o_start)
        await host.write(CTRL, START)
        await host.write(CTRL, 0)
        assert ctx.get(dut.o_start)
        assert await host.read(CTRL) == START
        await host.pulse(dut.i_ready)
        ctx.set(dut.i_idle, 0)
        assert not ctx.get(dut.o_start)
        assert await host.read(CTRL) == READY
        assert await host.read(CTRL) == 0
        await host.pulse(dut.i_done)
        ctx.set(dut.i_idle, 1)
        assert await host.read(GIER) == 0
        assert await host.read(CTRL) == DONE | IDLE
        assert await host.read(CTRL) == IDLE

        # A core that is ready sees a start for one cycle.
        ctx.set(dut.i_ready, 1)
        starts = 0
        ctx.set(host.axi.bready, 1)
        ctx.set(host.axi.wdata, START)
        ctx.set(host.axi.wstrb, 1)
        await host.pulse(host.axi.awvalid, host.axi.wvalid)
        for _ in range(8):
            starts += ctx.get(dut.o_start)
            await ctx.tick()
        assert starts == 1

    simulate(bench)


def test_registers_done_in_the_cycle_of_a_read_is_not_lost() -> None:
    async def bench(host: Host) -> None:
        ctx, dut = host.ctx, host.dut
        ctx.set(host.axi.rready, 1)
        seen = []
        ctx.set(host.axi.araddr, CTRL)
        ctx.set(host.axi.arvalid, 1)
        for cycle in range(12):
            ctx.set(dut.i_done, cycle in (3, 7))
            *_, valid, value = await ctx.tick().sample(host.axi.rvalid, host.axi.rdata)
            if valid:
                seen.append(value & DONE)
        assert seen == [0, 0, DONE, DONE]  # read in cycles 0, 3, 6, 9
        assert await host.read(CTRL) & DONE == 0

    simulate(bench)


def test_registers_interrupt() -> None:
    async def bench(host: Host) -> None:
        ctx, dut = host.ctx, host.dut
        await host.pulse(dut.i_done)
        assert await host.read(ISR) == 1
        for gier, ier in product(range(2), range(4)):
            await host.write(GIER, gier)
            await host.write(IER, ier)
            assert (await host.read(GIER), await host.read(IER)) == (gier, ier)
            assert ctx.get(dut.o_interrupt) == (gier and ier & 1)
        await host.write(ISR, 1)
        assert await host.read(ISR) == 0
        assert not ctx.get(dut.o_interrupt)
        await host.write(ISR, 0b10)
        assert await host.read(ISR) == 0b10
        assert ctx.get(dut.o_interrupt)
        await host.write(ISR, 0b11)
        assert await host.read(ISR) == 0b01
        await host.write(ISR, 0b01)
        await host.pulse(dut.i_error.valid)
        assert await host.read(ISR) == 0b10
        assert ctx.get(dut.o_interrupt)

        # The write lands in the second cycle; an event in the same one is kept.
        await host.write(ISR, 0b10)
        await host.pulse(dut.i_done)
        assert await host.read(ISR) == 1
        ctx.set(host.axi.awaddr, ISR)
        ctx.set(host.axi.wdata, 1)
        ctx.set(host.axi.wstrb, 1)
        ctx.set(host.axi.bready, 1)
        await host.pulse(host.axi.awvalid, host.axi.wvalid)
        await host.pulse(dut.i_done)
        assert await host.read(ISR) == 1

    simulate(bench)


@pytest.mark.parametrize("reason", ["start", "core", "reset"])
def test_registers_ignore_configuration_while_busy(reason: str) -> None:
    async def bench(host: Host) -> None:
        ctx, dut = host.ctx, host.dut
        if reason == "start":
            await host.write(CTRL, START)
        elif reason == "reset":
            await host.write(CTRL, RESET)
        else:
            ctx.set(dut.i_idle, 0)
        # Neither an empty write nor one of what is no configuration is ignored.
        assert await host.write(0x48, 1, 0) == OKAY
        for address in (GIER, IER, 0x8C, 0x9C, 0x100):
            assert await host.write(address, 1) == OKAY
        assert await host.read(ERROR) == 0
        assert (await host.read(GIER), await host.read(IER)) == (1, 1)
        for address in WRITABLE:
            assert await host.write(address, 0xFFFFFFFF) == OKAY
            assert await host.read(ERROR) == IGNORED
            assert await host.read(address) == 0
            await host.write(ERROR, IGNORED, 0b1011)
            await host.write(ERROR, 0xFFFFFFFF & ~IGNORED)
            assert await host.read(ERROR) == IGNORED
            await host.write(ERROR, IGNORED)
            assert await host.read(ERROR) == 0
        await host.write(0x48, 7)
        ctx.set(dut.i_idle, 1)
        await host.pulse(dut.i_ready, dut.i_reset_done)
        await host.write(0x4C, 9)
        assert (await host.read(0x48), await host.read(0x4C)) == (0, 9)
        assert await host.read(ERROR) == IGNORED

    simulate(bench)


def test_registers_read_counters_elsewhere() -> None:
    async def bench(host: Host) -> None:
        ctx, dut = host.ctx, host.dut
        names = [name for name, _ in CountersLayout()]
        assert names == [
            "cycles",
            "compute",
            "stall_load",
            "stall_store",
            "read_beats",
            "write_beats",
            "macs",
        ]
        for word in range(14):
            ctx.set(dut.i_word, 0x12345678 + word)
            ctx.set(host.axi.araddr, 0xB0 + 4 * word)
            ctx.set(host.axi.arvalid, 1)
            await ctx.delay(1e-9)
            assert (ctx.get(dut.o_read), ctx.get(dut.o_word)) == (1, word)
            assert await host.read(0xB0 + 4 * word) == 0x12345678 + word
        ctx.set(host.axi.araddr, 0xAC)
        ctx.set(host.axi.arvalid, 1)
        await ctx.delay(1e-9)
        assert ctx.get(dut.o_read) == 0
        # The word is that of the next cycle, whatever the address is by then.
        axi = host.axi
        for address, other, expected in ((0xB0, 0x9C, 5), (0x9C, 0xB0, 0)):
            ctx.set(axi.araddr, address)
            ctx.set(axi.arvalid, 1)
            ctx.set(dut.i_word, 1)
            await ctx.tick().until(axi.arready)
            ctx.set(axi.araddr, other)
            ctx.set(axi.arvalid, 0)
            ctx.set(dut.i_word, 5)
            await ctx.tick()
            assert (ctx.get(axi.rvalid), ctx.get(axi.rdata)) == (1, expected)
            ctx.set(axi.rready, 1)
            await ctx.tick()
        ctx.set(host.axi.arvalid, 0)
        ctx.set(dut.i_ring_done, 0x87654321)
        assert await host.read(0x9C) == 0x87654321

    simulate(bench)


def test_registers_report_the_first_error_of_a_start() -> None:
    async def bench(host: Host) -> None:
        ctx, error = host.ctx, host.dut.i_error

        async def report(code: int, response: int, job: int, address: int) -> None:
            values = {"code": code, "response": response, "job": job, "address": address}
            for name, value in values.items():
                ctx.set(error[name], value)
            await host.pulse(error.valid)
            for name in values:
                ctx.set(error[name], 0)

        async def reported() -> list[int]:
            return [await host.read(address) for address in (ERROR, 0xA4, 0xA8, 0xAC)]

        await report(16, 3, 0x1234, 0xFEDCBA9876543210)
        await report(1, 0, 1, 1)
        assert await reported() == [0x310, 0x1234, 0x76543210, 0xFEDCBA98]
        assert await host.read(ISR) == 0b10
        ctx.set(host.dut.i_idle, 0)
        await host.write(0x10, 1)
        ctx.set(host.dut.i_idle, 1)
        assert await reported() == [IGNORED | 0x310, 0x1234, 0x76543210, 0xFEDCBA98]
        await host.write(CTRL, START)
        assert await reported() == [IGNORED | 0x310, 0x1234, 0x76543210, 0xFEDCBA98]
        await host.pulse(host.dut.i_ready)
        assert await reported() == [IGNORED, 0, 0, 0]
        await report(7, 0, 2, 3)
        assert await reported() == [IGNORED | 7, 2, 3, 0]

    simulate(bench)
