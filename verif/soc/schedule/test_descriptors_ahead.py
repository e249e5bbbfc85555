"""When the next descriptor is requested, and what a job waits for that is not loaded ahead."""

from typing import Any

import pytest

from hw.soc.schedule.jobs_ahead import JobsAhead
from verif.soc.schedule.test_jobs_ahead import simulate


@pytest.mark.parametrize("asked", [10, 200])
def test_the_next_descriptor_lets_rows_go_first(asked: int) -> None:
    """It is requested when all rows have been, or 64 cycles after a job has begun."""

    async def bench(ctx: Any, dut: JobsAhead) -> None:
        ctx.set(dut.i_more, 1)
        found: list[int] = []
        for cycle in range(100):
            ctx.set(dut.i_begin, cycle == 0)
            ctx.set(dut.i_asked, cycle >= asked)
            _, _, asks = await ctx.tick().sample(dut.o_fetch)
            if asks:
                found.append(cycle)
        assert found[0] == min(asked + 1, 66)

    simulate(bench)


def test_one_job_is_loaded_ahead() -> None:
    """The third is asked for at once, and waits until the first is complete; all rows or not."""

    async def bench(ctx: Any, dut: JobsAhead) -> None:
        for port in (dut.i_fetch, dut.i_checked, dut.i_descriptor, dut.i_free, dut.i_ahead):
            ctx.set(port, 1)
        asks, begins = list[int](), list[int]()
        for cycle in range(200):
            ctx.set(dut.i_begin, cycle == 0)
            ctx.set(dut.i_more, len(asks) < min(2, 1 + len(begins)))
            ctx.set(dut.i_complete, cycle == 150)
            _, _, asked, begun = await ctx.tick().sample(dut.o_fetch, dut.o_begin)
            asks += [cycle] * asked
            begins += [cycle] * begun
        assert asks[0] < begins[0] < asks[1] < begins[0] + 10
        assert begins[0] < 150 < begins[1]

    simulate(bench)


@pytest.mark.parametrize("ready", [20, 80])
def test_a_job_that_is_not_loaded_ahead_waits_for_rows(ready: int) -> None:
    """Rows may be read to their ends behind a job's last result."""

    async def bench(ctx: Any, dut: JobsAhead) -> None:
        for port in (dut.i_fetch, dut.i_checked, dut.i_descriptor, dut.i_free, dut.i_asked):
            ctx.set(port, 1)
        turns = list[int]()
        for cycle in range(100):
            ctx.set(dut.i_begin, cycle == 0)
            ctx.set(dut.i_more, cycle < 3)
            ctx.set(dut.i_complete, cycle == 40)
            ctx.set(dut.i_ready, cycle >= ready)
            _, _, turn = await ctx.tick().sample(dut.o_turn)
            turns += [cycle] * turn
        assert turns[0] == max(41, ready)

    simulate(bench)


def test_a_job_that_is_checked_runs_before_a_broken_descriptor_tells() -> None:
    """The ring ends at the third job; the second one waits for the first, and is complete."""

    async def bench(ctx: Any, dut: JobsAhead) -> None:
        for port in (dut.i_fetch, dut.i_asked, dut.i_ready, dut.i_descriptor, dut.i_checked):
            ctx.set(port, 1)
        asked = 0
        begins, unread = list[int](), list[int]()
        for cycle in range(160):
            ctx.set(dut.i_begin, cycle == 0)
            ctx.set(dut.i_more, asked < 2)
            ctx.set(dut.i_broken, asked == 2)
            # The first job has what it needs in cycle 60 alone: the second is copied then.
            ctx.set(dut.i_free, cycle >= 60)
            ctx.set(dut.i_complete, cycle in (40, 120))
            _, _, asks, begun, tells = await ctx.tick().sample(
                dut.o_fetch, dut.o_begin, dut.o_unread
            )
            asked += asks
            begins += [cycle] * begun
            unread += [cycle] * tells
        assert len(begins) == 1
        assert 60 < begins[0] < 120 < unread[0]

    simulate(bench)
