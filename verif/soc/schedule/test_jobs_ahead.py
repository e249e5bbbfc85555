"""Jobs ahead of their turns: how many are under way, and in which order they fail."""

from collections.abc import Iterator
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.soc.schedule.jobs_ahead import JobsAhead

MOST = 4
"""Jobs that are begun and not complete."""


def _simulate(bench: Any) -> None:
    dut = JobsAhead()

    async def run(ctx: Any) -> None:
        await bench(ctx, dut)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(run)
    simulator.run()


def _completions(every: int) -> Iterator[bool]:
    """Complete a job in every so many cycles, from the 200th on."""
    yield from [False] * 200
    while True:
        yield from [False] * (every - 1)
        yield True


@pytest.mark.parametrize("every", [5, 40])
def test_four_jobs_are_begun_and_not_complete(every: int) -> None:
    """None more, even while memory and checks are as fast as can be; and all come to their turn."""
    jobs = 12

    async def bench(ctx: Any, dut: JobsAhead) -> None:
        ctx.set(dut.i_alike, jobs - 1)
        for port in (dut.i_more, dut.i_fetch, dut.i_ready):
            ctx.set(port, 1)
        begun = complete = checked = 0
        most = set()
        for cycle, completes in enumerate(_completions(every)):
            under_way = begun - complete
            completes &= under_way > 0
            ctx.set(dut.i_begin, cycle == 0)
            ctx.set(dut.i_complete, completes)
            # The last beat comes, and the check ends, at once.
            ctx.set(dut.i_descriptor, 1)
            ctx.set(dut.i_checked, 1)
            _, _, begins, checks, last, busy = await ctx.tick().sample(
                dut.o_begin, dut.o_check, dut.o_last, dut.o_busy
            )
            assert last == (under_way == 1)
            # One that is checked will be begun.
            assert not (checks and under_way >= MOST)
            checked += checks
            begun += begins + (cycle == 0)
            complete += completes
            most.add(begun - complete)
            assert busy or cycle == 0 or begun == jobs
            if complete == jobs:
                break
        assert (begun, checked, max(most)) == (jobs, jobs - 1, MOST)

    _simulate(bench)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_bad_descriptor_is_told_when_the_jobs_before_are_complete(wrong: bool) -> None:
    async def bench(ctx: Any, dut: JobsAhead) -> None:
        ctx.set(dut.i_alike, 2)
        for port in (dut.i_more, dut.i_fetch, dut.i_ready, dut.i_descriptor, dut.i_checked):
            ctx.set(port, 1)
        ctx.set(dut.i_broken, not wrong)
        ctx.set(dut.i_wrong, wrong)
        ctx.set(dut.i_begin, 1)
        for cycle in range(40):
            ctx.set(dut.i_complete, cycle == 30)
            _, _, unread, bad, begins = await ctx.tick().sample(
                dut.o_unread, dut.o_wrong, dut.o_begin
            )
            assert (unread, bad) == ((cycle > 30) & (not wrong), (cycle > 30) & wrong)
            assert not begins
            ctx.set(dut.i_begin, 0)

    _simulate(bench)
