"""Whether a job reads what the one before writes: every pair of ranges of small addresses."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from hw.soc.schedule.destination import Destination
from hw.soc.schedule.job_overlap import JobOverlap

A, B, C = Destination.A, Destination.B, Destination.ADDEND
MATRICES = [A, B, C, Destination.BIAS, Destination.RECORD, Destination.A_SCALES]
WIDTH = 2
END = 1 << WIDTH
RANGES = [(low, high) for low, high in product(range(END), repeat=2) if low <= high]


@pytest.mark.parametrize("to", [to for to in MATRICES if to != C], ids=lambda to: to.name)
def test_it_is_known_what_is_written(to: Destination) -> None:
    """Ranges that share a byte, and only of matrices that the job has; never its own C."""
    dut = JobOverlap(MATRICES, WIDTH)
    rng = np.random.default_rng(1)
    cases = [(one, two, used) for one, two in product(RANGES, repeat=2) for used in (0, 1)]

    async def job(ctx: Any, ranges: dict[Destination, tuple[int, int]], used: set[Any]) -> None:
        ctx.set(dut.i_start, 1)
        await ctx.tick()
        ctx.set(dut.i_start, 0)
        for step, matrix in enumerate([*MATRICES, None]):
            ctx.set(dut.en, 1)
            ctx.set(dut.i_step, step)
            ctx.set(dut.i_first, ranges[matrix][0] if matrix is not None else 0)
            before = MATRICES[step - 1] if step else None
            ctx.set(dut.i_last, ranges[before][1] if before is not None else 0)
            ctx.set(dut.i_used, before in used)
            await ctx.tick()
            ctx.set(dut.en, 0)
            await ctx.tick().repeat(int(rng.integers(1, 3)))
        await ctx.tick()

    async def bench(ctx: Any) -> None:
        for written, read, used in cases:
            await job(ctx, dict.fromkeys(MATRICES, (0, END - 1)) | {C: written}, set(MATRICES))
            # All others are read, too, where nothing is written; or are not read.
            others = {number: RANGES[int(rng.integers(len(RANGES)))] for number in MATRICES}
            await job(ctx, others | {to: read}, {C} | ({to} if used else set()))
            meet = bool(used) and read[0] <= written[1] and written[0] <= read[1]
            of_a = to in (A, Destination.A_SCALES)
            assert (ctx.get(dut.o_a), ctx.get(dut.o_others)) == (meet and of_a, meet and not of_a)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
