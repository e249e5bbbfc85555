"""The walk through tiles, alone: when blocks of C become known, and when a job's last tile is."""

from typing import Any

import pytest
from amaranth.sim import Simulator

from golden.soc.spec import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.schedule.sides import sides
from hw.soc.schedule.tile_walk import TileWalk

SPEC = CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), address_width=32)
ROWS, COLUMNS = 10, 7
"""Of a block: three tiles down, two across."""


def walked(blocks: list[dict[str, int]]) -> list[tuple[bool, bool, bool]]:
    """Walk blocks; of each tile, whether its block becomes known, is complete, and ends the job."""
    dut, tiles = TileWalk(SPEC, sides(SPEC)), list[tuple[bool, bool, bool]]()

    async def bench(ctx: Any) -> None:
        outputs = dut.o_a, dut.o_b, dut.o_sums, dut.o_done
        for one in outputs:
            ctx.set(one.ready, 1)
        for block in blocks:
            for name, value in {"rows": ROWS, "columns": COLUMNS, "codes": 8, **block}.items():
                ctx.set(dut.i_block.payload[name], value)
            ctx.set(dut.i_block.valid, 1)
            taken = False
            while not taken:
                if ctx.get(dut.o_a.valid):
                    done = ctx.get(dut.o_sums.payload.done)
                    known, last = ctx.get(dut.o_done.valid), ctx.get(dut.o_last)
                    tiles.append((bool(known), bool(done), bool(last)))
                taken = bool(ctx.get(dut.i_block.ready))
                await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return tiles


def parts(count: int, *, last: bool) -> list[dict[str, int]]:
    """Return a block in parts of K, and whether it is the job's last one."""
    return [
        {
            "first_code": part == 0,
            "last_code": part == count - 1,
            "last": last and part == count - 1,
        }
        for part in range(count)
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_a_block_is_known_with_its_first_tile_that_ends_k(count: int) -> None:
    """Its rows leave as they complete, while the tiles after it are multiplied."""
    tiles = walked([*parts(count, last=False), *parts(count, last=True)])
    each = 6
    assert len(tiles) == 2 * count * each
    known, done, last = zip(*tiles, strict=True)
    of_ends = [(count - 1) * each, (2 * count - 1) * each]
    assert [at for at, one in enumerate(known) if one] == of_ends
    assert [at for at, one in enumerate(done) if one] == [at + each - 1 for at in of_ends]
    assert [at for at, one in enumerate(last) if one] == [2 * count * each - 1]
