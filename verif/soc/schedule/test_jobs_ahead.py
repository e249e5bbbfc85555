"""Jobs ahead of their turns: how many are under way, what is loaded, and how they fail."""

from collections.abc import Iterator
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.soc.schedule.jobs_ahead import JobsAhead

MOST = 4
"""Jobs that are begun and not complete."""


def simulate(bench: Any, *, copies: bool = True) -> None:
    dut = JobsAhead(copies=copies)

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
        for port in (dut.i_fetch, dut.i_ready):
            ctx.set(port, 1)
        begun = complete = checked = asked = 0
        most = set()
        for cycle, completes in enumerate(_completions(every)):
            under_way = begun - complete
            completes &= under_way > 0
            ctx.set(dut.i_begin, cycle == 0)
            ctx.set(dut.i_more, asked < jobs - 1)
            ctx.set(dut.i_complete, completes)
            # The last beat comes, and the check ends, at once.
            ctx.set(dut.i_descriptor, 1)
            ctx.set(dut.i_checked, 1)
            _, _, begins, checks, last, busy, asks, of_addresses = await ctx.tick().sample(
                dut.o_begin, dut.o_check, dut.o_last, dut.o_busy, dut.o_fetch, dut.o_alike
            )
            asked += asks
            assert of_addresses or not asks
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

    simulate(bench)


@pytest.mark.parametrize("copies", [False, True])
def test_a_job_of_its_kind_begins_when_all_before_it_are_complete(copies: bool) -> None:
    """It is copied first; read and checked before that, if the path has copies of the one before.

    A job that is like it follows, of which addresses alone are read.
    """

    async def bench(ctx: Any, dut: JobsAhead) -> None:
        for port in (
            dut.i_fetch, dut.i_asked, dut.i_ready, dut.i_descriptor, dut.i_checked, dut.i_free,
        ):  # fmt: skip
            ctx.set(port, 1)
        log: dict[str, list[int]] = {name: [] for name in ("fetch", "check", "turn", "begin")}
        kinds, asked = [], 0
        for cycle in range(140):
            ctx.set(dut.i_begin, cycle == 0)
            # The second job differs from the first, the third is as the second.
            ctx.set(dut.i_alike, asked == 1)
            ctx.set(dut.i_more, asked < 2)
            ctx.set(dut.i_complete, cycle in (60, 100, 120))
            _, _, kind, busy, *events = await ctx.tick().sample(
                dut.o_alike,
                dut.o_busy,
                dut.o_fetch,
                dut.o_check,
                dut.o_turn if copies else dut.o_copy,
                dut.o_begin,
            )
            for name, event in zip(log, events, strict=True):
                if event:
                    log[name].append(cycle)
            if events[0]:
                kinds.append(kind)
                asked += 1
            assert busy == (len(log["begin"]) < 2 or cycle == log["begin"][1])
        assert kinds == [0, 1]
        assert len(log["turn"]) == 1
        copied = log["turn"][0]
        assert log["begin"][0] == copied + 1
        assert copied > 60
        assert (log["check"][0] < 60, copied == 61) == (copies, copies)
        assert log["begin"][1] < 100

    simulate(bench, copies=copies)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("free", [20, 90])
def test_a_job_is_loaded_while_the_one_before_runs(free: int, written: bool) -> None:
    """As soon as there is room, but for A if that is written; it runs when that one is complete.

    The descriptor of the third job is requested meanwhile, and taken when the second is copied;
    that one waits for the second.
    """
    complete = 100

    async def bench(ctx: Any, dut: JobsAhead) -> None:
        for port in (dut.i_fetch, dut.i_checked, dut.i_ahead):
            ctx.set(port, 1)
        ctx.set(dut.i_written, written)
        log: dict[str, list[int]] = {name: [] for name in ("copy", "begin", "turn", "run")}
        asked = checked = taken = comes = 0
        for cycle in range(complete + 20):
            ctx.set(dut.i_begin, cycle == 0)
            ctx.set(dut.i_more, asked < 2)
            ctx.set(dut.i_asked, cycle >= 10)
            ctx.set(dut.i_free, free <= cycle < complete and not log["begin"])
            ctx.set(dut.i_complete, cycle == complete)
            _, _, asks, takes, checks, holds, *events = await ctx.tick().sample(
                dut.o_fetch,
                dut.o_take,
                dut.o_check,
                dut.o_hold,
                dut.o_copy,
                dut.o_begin,
                dut.o_turn,
                dut.o_run,
            )
            asked += asks
            checked |= checks
            assert not (takes and checked) or log["copy"]
            # Its only beat comes in the cycle after that.
            ctx.set(dut.i_descriptor, takes and not comes)
            comes = takes and not comes
            taken += comes
            loaded = bool(log["begin"]) and cycle <= complete
            assert holds == (loaded and written)
            for name, event in zip(log, events, strict=True):
                if event:
                    log[name].append(cycle)
            if asks and asked == 2:
                assert checked
                assert cycle < 20
        assert log == {
            "copy": [free],
            "begin": [free + 1],
            "turn": [complete + 1],
            "run": [complete + 2],
        }
        assert asked == taken == 2

    simulate(bench)


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

    simulate(bench)
