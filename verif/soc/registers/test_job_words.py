"""The job in the registers: words in memory, which a sweep resets."""

from typing import Any

import numpy as np
from amaranth import ResetInserter, Signal
from amaranth.sim import Simulator

from hw.soc.registers.job_words import JobWords

WORDS, SWEEP = 32, 16


def test_job_words_are_all_0_after_a_sweep() -> None:
    """Of a reset, in the middle of another sweep too, or on request; writes are kept after it."""
    dut, rst = JobWords(dict.fromkeys(range(WORDS), 0xFFFFFFFF)), Signal()
    rng = np.random.default_rng(1)
    rounds: list[str] = []

    async def write(ctx: Any, values: list[int]) -> None:
        ctx.set(dut.i_strobe, 0b1111)
        for address, value in enumerate(values):
            ctx.set(dut.i_address, address)
            ctx.set(dut.i_data, value)
            ctx.set(dut.write, 1)
            await ctx.tick()
        ctx.set(dut.write, 0)

    async def check(ctx: Any, values: list[int]) -> None:
        for address, value in enumerate(values):
            ctx.set(dut.i_host, address)
            ctx.set(dut.i_pair, address // 2)
            assert ctx.get(dut.o_host) == value
            assert ctx.get(dut.o_pair) >> 32 * (address % 2) & 0xFFFFFFFF == value

    async def swept(ctx: Any) -> int:
        cycles = 0
        while ctx.get(dut.o_sweeps):
            await ctx.tick()
            cycles += 1
        return cycles

    async def bench(ctx: Any) -> None:
        for way in ("reset", "request", "again"):
            assert await swept(ctx) == (0 if rounds else SWEEP)
            values = [int(value) for value in rng.integers(1, 1 << 32, WORDS)]
            await write(ctx, values)
            await check(ctx, values)
            ports = [dut.i_clear if way == "request" else rst]
            if way == "again":
                ctx.set(dut.i_clear, 1)
                await ctx.tick().repeat(5)
            for port in ports:
                ctx.set(port, 1)
            await ctx.tick()
            for port in (*ports, dut.i_clear):
                ctx.set(port, 0)
            assert await swept(ctx) == SWEEP
            await check(ctx, [0] * WORDS)
            rounds.append(way)

    simulator = Simulator(ResetInserter(rst)(dut))
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(rounds) == 3
