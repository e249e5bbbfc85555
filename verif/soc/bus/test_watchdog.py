"""The watchdog of memory: it counts right, and ends a job of which memory owes something."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.sim.cocotb.host import descriptor
from golden.soc.bus import BusSpec
from golden.soc.coprocessor import Error, Job
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.spec import CoprocessorSpec, CoprocessorStreamSpec
from hw.catalog import Design
from hw.soc.bus.watchdog import Watchdog
from verif.soc.bus.partners import Pin, Watch, run
from verif.soc.test_core import BASE, RING, SMALL, Bench, job_of

PATIENCE = 32
"""Cycles; less than any design may have, so that many cases take a short time."""


@pytest.mark.parametrize("cycles", [1, 2, 5, 8, 9])
def test_watchdog_counts(cycles: int) -> None:
    """It tells in the second cycle after so many, and not in the one after an end."""
    rng = np.random.default_rng(cycles)
    waits: list[bool] = []
    told: list[int] = []
    lengths = iter(rng.integers(0, 2 * cycles + 2, 200).tolist())
    left = [0]

    def draw() -> bool:
        left[0] = next(lengths, 0) if left[0] == 0 else left[0] - 1
        waits.append(left[0] > 0)
        return waits[-1]

    dut = Watchdog(cycles)
    parts = [Pin(dut.i, draw), Watch([dut.o], lambda cycle, values: told.append(values[0]))]
    run(dut, parts, lambda: len(told) > 400, deadline=500)
    for now, value in enumerate(told):
        before = waits[max(0, now - cycles - 1) : now]
        assert value == (len(before) > cycles and all(before)), now
    assert 0 < sum(told) < len(told)


def test_watchdog_of_specs() -> None:
    assert CoprocessorSpec().patience == BusSpec().watchdog == 65536
    assert CoprocessorSpec(watchdog=0).patience == 0
    assert CoprocessorStreamSpec().patience == 0
    assert CoprocessorUartSpec().patience == 0
    assert CoprocessorUartSpec(memory="external", address_width=32).patience == 65536
    for wrong in (1, 1023):
        with pytest.raises(ValueError, match=f"watchdog must be 0, or 1024 or more, not {wrong}"):
            BusSpec(watchdog=wrong)
    with pytest.raises(ValueError, match=r"watchdog must be 0..16777216 cycles, not 16777217"):
        BusSpec(watchdog=(1 << 24) + 1)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr("golden.soc.bus._LEAST", PATIENCE)
    design = Design("coprocessor", SMALL | {"engine": "systolic_os(m=2,n=2)", "watchdog": PATIENCE})
    return Bench(design, latency=2)


class Silent:
    """Jobs of a core whose memory falls silent."""

    def __init__(self, bench: Bench, job: Job) -> None:
        self.bench, self.job = bench, job
        self.bursts: list[tuple[int, int]] = []

    async def right(self, ctx: Any) -> None:
        """Run the job: there is no error, and its bursts are those of all other times."""
        error, bursts = await self.bench.job(ctx, self.job)
        self.bursts = self.bursts or bursts
        assert error == [0, 0, 0]
        assert bursts == self.bursts

    async def silenced(self, ctx: Any, channel: str, after: int) -> Sequence[int] | None:
        """Start the job, and silence a channel some cycles later; None: the job ends well."""
        bench, memory = self.bench, self.bench.memory
        assert await bench.step(ctx, bench.dut.i_fetch) == [0, 0, 0]
        await bench.idle(ctx)
        ctx.set(bench.dut.i_start, 1)
        await bench.tick(ctx)
        ctx.set(bench.dut.i_start, 0)
        since = 0
        for cycle in range(after + 20 * PATIENCE):
            if cycle == after:
                memory.silent = {channel}
            moved = self.moves
            _, done, *error = await bench.tick(ctx)
            since = 0 if self.moves != moved else since + 1
            if done:
                break
        else:
            raise AssertionError("the job does not end")
        if error[0]:
            # Memory may have taken an address, and be waiting for what is still computed.
            assert PATIENCE < since < PATIENCE + 64
            return error
        memory.silent = set()
        return None

    async def over(self, ctx: Any) -> None:
        """Have memory answer; the core becomes idle, and nothing is under way."""
        self.bench.memory.silent = set()
        await self.bench.idle(ctx)
        reader, writer = self.bench.reader, self.bench.writer
        assert reader.under_way == len(writer.bursts) - writer.answered == 0

    @property
    def moves(self) -> int:
        """Transfers so far."""
        reader, writer = self.bench.reader, self.bench.writer
        one = len(reader.bursts) + len(reader.beats)
        return one + len(writer.bursts) + len(writer.beats) + writer.answered


@pytest.mark.sample(2)
@pytest.mark.parametrize("channel", ["r", "w", "b", "ar", "aw"])
def test_a_job_ends_whose_memory_is_silent(bench: Bench, channel: str) -> None:
    """At once, with the side and the address; what comes late is not of the next job."""
    silent = Silent(bench, job_of(3, 3, 5))
    reads = channel in ("ar", "r")
    side: Any = bench.reader if reads else bench.writer
    axi: Any = bench.dut.m_axi  # type: ignore[attr-defined]
    late = 0

    async def runs(ctx: Any) -> None:
        nonlocal late
        await silent.right(ctx)
        for after in (0, 25):
            error = await silent.silenced(ctx, channel, after)
            if error is not None:
                late += 1
                code, response, address = error
                assert code == (Error.READ_TIMEOUT if reads else Error.WRITE_TIMEOUT)
                assert response == 0
                owed = bench.reader.under_way if reads else len(side.bursts) - bench.writer.answered
                # If none is, an address was not taken.
                port = ctx.get(axi.araddr if reads else axi.awaddr)
                assert address == (side.bursts[-owed][0] if owed else port)
                await bench.tick(ctx)
                for _ in range(PATIENCE):
                    idle, done, *error = await bench.tick(ctx)
                    assert (idle, done) == (0, 0), "it takes a job while memory owes an answer"
                    assert error == [0, 0, 0]
                await silent.over(ctx)
        await silent.right(ctx)

    bench.run(runs)
    assert late


def test_a_descriptor_that_memory_owes(bench: Bench) -> None:
    silent = Silent(bench, job_of(2, 3, 2))

    async def runs(ctx: Any) -> None:
        await silent.right(ctx)
        for channel in ("ar", "r"):
            bench.memory.silent = {channel}
            error = await bench.step(ctx, bench.dut.i_fetch)
            assert error == [Error.DESCRIPTOR_TIMEOUT, 0, RING]
            await silent.over(ctx)
        await silent.right(ctx)

    bench.run(runs)


@pytest.mark.parametrize("whole", [False, True])
def test_a_descriptor_ahead_that_memory_owes(bench: Bench, whole: bool) -> None:
    """What is not read whole fails, as it waits behind it; a job that is read whole ends well."""
    k = 4 if whole else 60
    jobs = [replace(job_of(2, 2, k), c=BASE + place) for place in (0x800, 0x900)]
    images = b"".join(map(descriptor, jobs))
    bench.memory.octets[RING : RING + len(images)] = np.frombuffer(images, np.uint8)
    bench.memory.latency = 8
    dut, reader, ends = bench.dut, bench.reader, []

    async def runs(ctx: Any) -> None:
        assert await bench.step(ctx, dut.i_fetch) == [0, 0, 0]
        await bench.idle(ctx)
        for port, value in ((dut.i_address, RING + 128), (dut.i_more, 1), (dut.i_start, 1)):
            ctx.set(port, value)
        since = 0
        while since < 100 + 4 * PATIENCE:
            _, done, *error = await bench.tick(ctx)
            ctx.set(dut.i_start, 0)
            asked = any(address == RING + 128 for address, *_ in reader.bursts)
            ctx.set(dut.i_more, not asked)
            if reader.under_way and reader.bursts[-reader.under_way][0] == RING + 128:
                bench.memory.silent = {"r"}
            since = since + 1 if bench.memory.silent else 0
            ends.extend([error] * done)

    bench.run(runs)
    owed = [Error.DESCRIPTOR_TIMEOUT if whole else Error.READ_TIMEOUT, 0, RING + 128]
    assert ends == [[0, 0, 0]] * whole + [owed]


def test_a_stop_waits_for_memory(bench: Bench) -> None:
    """A reset of a job does not end before memory has answered, whatever the watchdog says."""
    silent = Silent(bench, job_of(3, 3, 5))

    async def runs(ctx: Any) -> None:
        await silent.right(ctx)
        for early in (0, 3 * PATIENCE):
            assert await bench.step(ctx, bench.dut.i_fetch) == [0, 0, 0]
            await bench.idle(ctx)
            ctx.set(bench.dut.i_start, 1)
            await bench.tick(ctx)
            ctx.set(bench.dut.i_start, 0)
            while not bench.reader.under_way:
                await bench.tick(ctx)
            bench.memory.silent = {"r"}
            for _ in range(10 + early):
                await bench.tick(ctx)
            assert bench.reader.under_way
            ctx.set(bench.dut.i_stop, 1)
            for _ in range(3 * PATIENCE):
                assert (await bench.tick(ctx))[:2] == [0, 0]
            await silent.over(ctx)
            ctx.set(bench.dut.i_stop, 0)
        await silent.right(ctx)

    bench.run(runs)


def test_slow_memory_is_no_error(bench: Bench) -> None:
    """A move now and then is enough: an address, a beat, a response."""
    silent = Silent(bench, job_of(3, 3, 12))
    bench.memory.latency, bench.memory.rates = PATIENCE - 8, (0.2, 1.0, 1.0)

    async def runs(ctx: Any) -> None:
        await silent.right(ctx)

    bench.run(runs)
