"""Sums of blocks, while the blocks before leave slowly: what is read stays until it is taken."""

import random
from itertools import pairwise
from typing import Any

import pytest
from amaranth.sim import Simulator

from golden.soc.spec import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.stores.operand_store import Bank
from hw.soc.stores.sum_store import SumStore

SPEC = CoprocessorSpec(engine=SystolicOsSpec(m=2, n=2), data_width=64, sums=64)
TILES, LINES = 2, 2
ROWS = TILES * LINES
"""Of a block: two tiles, one below the other."""


class Bench:
    """Blocks that are each added up from passes over K, and a reader that takes its time."""

    def __init__(self, copies: int, pace: float, seed: int):
        self.dut = SumStore(SPEC, copies=copies)
        bank = self.dut.bank
        bank.place = lambda: Bank(bank.module, bank.width, bank.depth)  # type: ignore[method-assign,assignment,return-value]
        self.draw, self.pace = random.Random(seed), pace
        self.passes = [self.draw.randint(1, 4) for _ in range(25)]
        self.sums = [[0] * ROWS for _ in self.passes]
        self.read = 0

        self.requests: list[dict[str, int]] = []
        self.rows: list[dict[str, int]] = []
        for block, passes in enumerate(self.passes):
            for turn in range(passes):
                self.add(block, turn, turn == passes - 1)

    def add(self, block: int, turn: int, ends: bool) -> None:
        """Have the engine make a block's sums of a pass."""
        width = SPEC.number_width
        for tile in range(TILES):
            done = ends and tile == TILES - 1
            place = {"address": tile * LINES, "rows": LINES * ends, "add": int(turn > 0)}
            self.requests.append(place | {"done": int(done)})
        for row in range(ROWS):
            sums = [self.draw.getrandbits(width - 4) << width * at for at in range(SPEC.inside.n)]
            self.sums[block][row] += sum(sums)
            self.rows.append({"data": sum(sums), "last": int(row % LINES == LINES - 1)})

    async def ask(self, ctx: Any) -> None:
        await self.send(ctx, self.dut.i, self.requests, 1)

    async def give(self, ctx: Any) -> None:
        ctx.set(self.dut.i_geometry.across, 1)
        await self.send(ctx, self.dut.i_rows, self.rows, 0.8)

    async def send(self, ctx: Any, to: Any, items: list[dict[str, int]], rate: float) -> None:
        for item in items:
            taken = offers = False
            while not (taken and offers):
                offers = self.draw.random() < rate
                ctx.set(to.valid, offers)
                ctx.set(to.payload, item)
                _, _, taken = await ctx.tick().sample(to.ready)
        ctx.set(to.valid, 0)

    async def take(self, ctx: Any) -> None:
        read, full, cycles = self.dut.read, 0, 0

        async def tick() -> None:
            nonlocal full, cycles
            _, _, complete = await ctx.tick().sample(read.half_complete)
            full, cycles = full + complete, cycles + 1
            assert cycles < 5000

        for block, sums in enumerate(self.sums):
            while not full:
                await tick()
            full -= 1
            for row, total in enumerate(sums):
                for name, value in (("half", block % 2), ("address", row), ("en", 1)):
                    ctx.set(getattr(read, name), value)
                await tick()
                ctx.set(read.en, 0)
                assert ctx.get(read.row) == total, (block, row)
                while self.draw.random() > self.pace:
                    await tick()
                    assert ctx.get(read.row) == total, (block, row)
            ctx.set(read.free, 1)
            await tick()
            ctx.set(read.free, 0)
            self.read += 1

    def run(self) -> None:
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-8)
        for one in (self.ask, self.give):
            simulator.add_testbench(one, background=True)
        simulator.add_testbench(self.take)
        simulator.run()


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("pace", [0.2, 0.9])
def test_sum_store_keeps_what_leaves(copies: int, pace: float) -> None:
    for seed in range(2):
        bench = Bench(copies, pace, seed)
        bench.run()
        assert bench.read == len(bench.passes)
        assert any(one > 1 and other > 1 for one, other in pairwise(bench.passes))
