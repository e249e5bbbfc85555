"""The core alone with a memory, on Amaranth's simulator: what only some cycles or beats show."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from carrysave.sim.cocotb.host import descriptor
from golden.soc.coprocessor import Error, Job, matrices
from hw.catalog import Design
from hw.soc.coprocessor import Coprocessor
from hw.soc.core import Core
from verif.soc.bus.subordinates import Contents, Reader, Writer

SMALL: dict[str, Any] = {
    "data_width": 32,
    "sums": 16,
    "a_bytes": 64,
    "b_bytes": 64,
    "burst": 4,
    "outstanding": 2,
    "address_width": 16,
    "dimension_width": 8,
    "bias": False,
    "requantise": False,
}
PLAIN = Design("coprocessor", SMALL | {"engine": "systolic_os(m=2,n=2)"})
PAIRS = Design("coprocessor", SMALL | {"engine": "npe(m=2,n=2,formats=int8,int4)"})
RING, BASE = 0x100, 0x200


class Bench:
    """A core, and a memory whose byte 0 has address 0. Block RAM and products are not simulated."""

    def __init__(self, design: Design, **more: Any) -> None:
        component = design.component()
        assert isinstance(component, Coprocessor)
        self.dut: Core = component.core
        self.spec = component.spec
        octets, rng = np.zeros(0x1000, np.uint8), np.random.default_rng(1)
        self.memory = Contents(self.spec, octets, rng, **more)
        axi: Any = self.dut.m_axi  # type: ignore[attr-defined]
        self.reader, self.writer = Reader(axi, self.memory), Writer(axi, self.memory)
        self.cycle = self.products = 0

    def run(self, bench: Any) -> None:
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-8)
        simulator.add_testbench(bench)
        simulator.run()

    async def tick(self, ctx: Any) -> Sequence[int]:
        """Return idle, done, error's code, response and address as the edge found them."""
        self.reader.drive(ctx)
        self.writer.drive(ctx)
        dut, error = self.dut, self.dut.o_error
        own = [dut.o_idle, dut.o_done, error.code, error.response, error.address]
        ports, more = self.reader.ports, self.writer.ports
        _, _, macs, *values = await ctx.tick().sample(dut.o_events.macs, *own, *ports, *more)
        self.products += macs
        self.reader.see(self.cycle, values[len(own) : len(own) + len(ports)])
        self.writer.see(self.cycle, values[len(own) + len(ports) :])
        self.cycle += 1
        assert self.cycle < 50_000
        return values[: len(own)]

    async def idle(self, ctx: Any) -> None:
        while not (await self.tick(ctx))[0]:
            pass

    async def step(self, ctx: Any, request: Any) -> Sequence[int]:
        """Have a descriptor read, or its job run; return the error's code, response, address."""
        await self.idle(ctx)
        ctx.set(self.dut.i_fetched, 1)
        ctx.set(self.dut.i_address, RING)
        ctx.set(request, 1)
        await self.tick(ctx)
        ctx.set(request, 0)
        while True:
            _, done, *error = await self.tick(ctx)
            if done:
                await self.tick(ctx)
                return error

    async def job(self, ctx: Any, job: Job) -> tuple[Sequence[int], list[tuple[int, int]]]:
        """Run a job from its descriptor; return the error, and all bursts of it."""
        self.memory.octets[RING : RING + 128] = np.frombuffer(descriptor(job), np.uint8)
        reads, writes = len(self.reader.bursts), len(self.writer.bursts)
        error = await self.step(ctx, self.dut.i_fetch)
        assert error == [0, 0, 0]
        error = await self.step(ctx, self.dut.i_start)
        found = [*self.reader.bursts[reads:], *self.writer.bursts[writes:]]
        return error, [burst[:2] for burst in found]


def job_of(m: int, n: int, k: int, **more: Any) -> Job:
    """Place A, B and C in rows that are apart, the first two at odd bytes."""
    return Job(
        a=BASE + 1,
        b=BASE + 0x302,
        c=BASE + 0x800,
        m=m,
        n=n,
        k=k,
        lda=k + 3,
        ldb=n + 5,
        ldc=16 * n + 8,
        **more,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("design", "more"),
    [(PLAIN, {}), (PAIRS, {"a_format": 1, "b_format": 1})],
    ids=["one code a word", "two codes a word"],
)
def test_products_are_counted_at_ragged_edges(design: Design, more: dict[str, int]) -> None:
    """What pads a tile, or a word along K, is no product."""
    bench = Bench(design, latency=3)

    async def runs(ctx: Any) -> None:
        for m, n, k in ((1, 1, 1), (3, 5, 7), (2, 4, 6), (5, 2, 23)):
            bench.products = 0
            error, _ = await bench.job(ctx, job_of(m, n, k, **more))
            assert error == [0, 0, 0]
            assert bench.products == m * n * k

    bench.run(runs)


def test_a_read_error_on_any_beat_ends_the_job() -> None:
    """Also on the very last one; the next job is not of it."""
    bench = Bench(PLAIN, latency=2)
    job = job_of(3, 3, 5)
    found = matrices(bench.spec, job)
    places = np.unique([*found["a"].places().ravel(), *found["b"].places().ravel()])

    async def runs(ctx: Any) -> None:
        error, bursts = await bench.job(ctx, job)
        assert error == [0, 0, 0]
        for address in sorted({int(place) & ~3 for place in places}):
            bench.memory.errors = {address: 2 + address // 4 % 2}
            (code, response, where), _ = await bench.job(ctx, job)
            assert (code, response) == (Error.READ, bench.memory.errors[address])
            assert where <= address < where + 4 * bench.spec.burst
            bench.memory.errors = {}
        assert await bench.job(ctx, job) == ([0, 0, 0], bursts)

    bench.run(runs)


def test_a_job_after_one_that_is_refused_is_as_ever() -> None:
    """Its check begins without the error of the one before."""
    bench = Bench(PLAIN, latency=2)
    job = job_of(2, 3, 2)

    async def runs(ctx: Any) -> None:
        _, bursts = await bench.job(ctx, job)
        refused, _ = await bench.job(ctx, replace(job, ldc=1))
        assert refused == [Error.LEADING_DIMENSION, 0, 0]
        assert await bench.job(ctx, job) == ([0, 0, 0], bursts)

    bench.run(runs)


@pytest.mark.prove
def test_a_stop_while_a_descriptor_is_read() -> None:
    """In each cycle: the core is idle once no burst is under way, and the next job is right."""
    bench = Bench(PLAIN, latency=4)
    dut, reader = bench.dut, bench.reader
    job = job_of(2, 3, 2)
    stopped = set()

    async def runs(ctx: Any) -> None:
        _, bursts = await bench.job(ctx, job)
        after, done = 0, False
        while not done:
            await bench.idle(ctx)
            before = len(reader.bursts)
            ctx.set(dut.i_fetch, 1)
            await bench.tick(ctx)
            ctx.set(dut.i_fetch, 0)
            done = any([(await bench.tick(ctx))[1] for _ in range(after)])
            ctx.set(dut.i_stop, 1)
            idle = 0
            while not idle:
                idle, ended, *error = await bench.tick(ctx)
                done |= bool(ended)
                assert error == [0, 0, 0]
            assert reader.under_way == 0
            bursts_then = len(reader.bursts)
            stopped.add(bursts_then - before)
            ctx.set(dut.i_stop, 0)
            for _ in range(4):
                await bench.tick(ctx)
            assert len(reader.bursts) == bursts_then, "it asks again for what was stopped"
            after += 1
            if after % 12 == 0 or done:
                assert await bench.job(ctx, job) == ([0, 0, 0], bursts)

    bench.run(runs)
    assert stopped == set(range(9))
