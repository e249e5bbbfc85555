"""Bench of the co-processor between streams: every beat that leaves is compared."""

from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from cocotb.triggers import ClockCycles, RisingEdge

from carrysave.sim.cocotb.clocks import start_clocks
from carrysave.sim.cocotb.host import Host
from carrysave.sim.cocotb.streams import generator, limited, schedule
from carrysave.sim.parameters import bench_spec
from golden.soc.coprocessor_stream import Row, coprocessor_stream, rows
from golden.soc.job import Error, Job
from golden.soc.job_check import error_of
from verif.soc.benches.jobs import SIZE, any_job, draw, fill_records

SPEC = bench_spec()
A_NAMES = ("a", "a_scales")


class Streams:
    """The ends of the three streams: beats to send, and beats that came."""

    def __init__(self, dut: Any, stalls: dict[str, Iterator[bool] | None]):
        self.dut = dut
        self.stalls = stalls
        self.sent: dict[str, list[bytes]] = {"a": [], "b": []}
        self.came: list[tuple[bytes, int, bool]] = []
        self._given_up: set[str] = set()

    def start(self) -> list[Task[None]]:
        """Serve all three from now on."""
        return [cocotb.start_soon(self._send(side)) for side in "ab"] + [
            cocotb.start_soon(self._take())
        ]

    def give_up(self) -> None:
        """Withdraw and forget everything, as DMAs do that are reset."""
        self.came.clear()
        for side, queue in self.sent.items():
            queue.clear()
            self._given_up.add(side)
            self._excuse(side, True)

    def _excuse(self, side: str, on: bool) -> None:
        """Have the rules of a stream not count, or count again; a port may have none."""
        rules = getattr(self.dut, f"rules_s_axis_{side}", None)
        if rules is not None:
            rules.excused.value = int(on)

    def _go(self, name: str) -> bool:
        stall = self.stalls.get(name)
        return stall is None or next(stall)

    async def _send(self, side: str) -> None:
        """Offer what is to be sent; an offer stays until it is taken."""
        port = {
            name: getattr(self.dut, f"s_axis_{side}_t{name}")
            for name in ("data", "keep", "last", "valid", "ready")
        }
        offered = False
        port["keep"].value = (1 << SPEC.bytes) - 1
        port["last"].value = 0
        while True:
            queue = self.sent[side]
            excused = side in self._given_up
            if excused:
                self._given_up.discard(side)
                offered = False
            if not offered:
                offered = bool(queue) and self._go(side)
                if offered:
                    port["data"].value = int.from_bytes(queue[0], "little")
                port["valid"].value = int(offered)
            await RisingEdge(self.dut.aclk)
            if offered and port["ready"].value == 1 and side not in self._given_up:
                queue.pop(0)
                offered = False
            if excused:
                self._excuse(side, False)

    async def _take(self) -> None:
        """Take what comes, and check that it stays until it is taken."""
        data, keep, last, valid, ready = (
            getattr(self.dut, f"m_axis_c_t{name}")
            for name in ("data", "keep", "last", "valid", "ready")
        )
        held: tuple[int, int, int] | None = None
        while True:
            go = self._go("c")
            ready.value = int(go)
            await RisingEdge(self.dut.aclk)
            if valid.value == 1:
                beat = int(data.value), int(keep.value), int(last.value)
                assert held in (None, beat), "a beat of C changed while it waited"
                held = None if go else beat
                if go:
                    self.came.append((
                        beat[0].to_bytes(SPEC.bytes, "little"),
                        beat[1],
                        beat[2] == 1,
                    ))
            else:
                assert held is None, "a beat of C was withdrawn"


def beats(memory: np.ndarray, parts: list[Row]) -> list[bytes]:
    """Cut rows into beats; behind a row's last byte is anything."""
    found = []
    for part in parts:
        data = memory[part.address : part.address + part.bytes].tobytes()
        data += bytes(170 for _ in range(-len(data) % SPEC.bytes))
        found += [data[at : at + SPEC.bytes] for at in range(0, len(data), SPEC.bytes)]
    return found


class Bench:
    """The co-processor, its host, its streams, and a memory that the job is in."""

    def __init__(self, dut: Any, stalls: dict[str, Iterator[bool] | None]):
        self.dut = dut
        self.host = Host(dut)
        self.streams = Streams(dut, stalls)
        self.memory = generator(0).integers(0, 256, SIZE, dtype=np.uint8)
        self.number = 0

    @classmethod
    async def start(cls, dut: Any, kind: str = "flowing") -> "Bench":
        """Reset, and begin to serve the streams."""
        stalls = {name: schedule(kind, generator(1, i)) for i, name in enumerate("abc")}
        bench = cls(dut, stalls)
        start_clocks(dut.aclk)
        dut.aresetn.value = 0
        await ClockCycles(dut.aclk, 2)
        dut.aresetn.value = 1
        bench.streams.start()
        await RisingEdge(dut.aclk)
        return bench

    def offer(self, job: Job) -> list[Row]:
        """Have what a job reads sent; returns all of its rows."""
        parts = list(rows(SPEC, job))
        self.streams.sent["a"] += beats(self.memory, [p for p in parts if p.name in A_NAMES])
        others = [p for p in parts if p.name not in (*A_NAMES, "c")]
        self.streams.sent["b"] += beats(self.memory, others)
        return parts

    async def begin(self, job: Job) -> None:
        """Start a job; the test ends if there were enough of them."""
        self.number += 1
        if limited(self.number) < self.number:
            cocotb.pass_test("as many jobs as wanted")
        await self.host.start(job)

    async def run(self, job: Job) -> None:
        """Run a job, and compare what leaves."""
        fill_records(self.memory, job)
        error = error_of(SPEC, job)
        parts = [] if error else self.offer(job)
        expected = self.memory.copy()
        assert coprocessor_stream(SPEC, expected, job) == error
        await self.begin(job)
        assert await self.host.wait() == error, job
        wanted = [part for part in parts if part.name == "c"]
        came, self.streams.came = self.streams.came, []
        assert sum(-(-part.bytes // SPEC.bytes) for part in wanted) == len(came)
        for part in wanted:
            whole = expected[part.address : part.address + part.bytes].tobytes()
            for at in range(0, part.bytes, SPEC.bytes):
                data, keep, last = came.pop(0)
                count = min(SPEC.bytes, part.bytes - at)
                assert keep == (1 << count) - 1
                assert data[:count] == whole[at : at + count], f"{part} at {at}: {job}"
                assert last == (not came)
        assert not any(self.streams.sent.values()), "something was not read"


@cocotb.test
async def test_small(dut: Any) -> None:
    bench = await Bench.start(dut)
    assert await bench.host.read(0x100) == 0x43535631
    rng = generator(2)
    for m, n, k in ((1, 1, 1), (4, 4, 4), (5, 7, 9), (13, 3, 40)):
        await bench.run(draw(SPEC, rng, m, n, k))


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts", "rare", "long"))
async def test_random(dut: Any, kind: str) -> None:
    bench = await Bench.start(dut, kind)
    rng = generator(3)
    for _ in range(12):
        await bench.run(any_job(SPEC, rng, 0.06))


@cocotb.test
async def test_kept(dut: Any) -> None:
    """Operands that the block before had come once, if all of K is in a block, and only then."""
    bench = await Bench.start(dut)
    rng, inside = generator(6), SPEC.inside
    across, deep = next((n, k) for k in (8, 32) for n in (1, 2, 4, 8) if SPEC.fits(1, n, k))
    codes = SPEC.kinds[0].codes * inside.k
    for k in ((deep - 1) * codes, deep * codes, deep * codes + 1):
        for by_columns in (False, True):
            how = {"block_m": 1, "block_n": across, "block_k": deep, "by_columns": by_columns}
            await bench.run(draw(SPEC, rng, 2 * inside.m + 1, 2 * across * inside.n + 1, k, **how))


@cocotb.test
async def test_refused(dut: Any) -> None:
    """Nothing is read, nothing leaves; neither of a ring nor of a sum that is added to."""
    bench = await Bench.start(dut)
    rng = generator(4)
    good = draw(SPEC, rng, 5, 6, 7)
    for change in (
        {"m": 0},
        {"k": 1 << 24},
        {"a_format": 15},
        {"accumulate": True},
        {"block_m": 1 << 20, "block_n": 1, "block_k": 1},
    ):
        await bench.run(Job(**{**vars(good), **change}))
    await bench.host.start_ring(0, 1)
    assert await bench.host.wait() == Error.MODE
    await bench.host.start_ring(0, 0)
    await bench.host.wait()
    await bench.run(good)


@cocotb.test
async def test_resets(dut: Any) -> None:
    """After a soft reset at any moment, of the DMAs too, the next job is right."""
    bench = await Bench.start(dut, "bursts")
    rng = generator(5)
    for _ in range(20):
        bench.offer(job := draw(SPEC, rng, 9, 12, 50))
        await bench.begin(job)
        await ClockCycles(dut.aclk, int(rng.integers(1, 700)))
        await bench.host.write(0, 1 << 31)
        while await bench.host.read(0) & 1 << 31:
            pass
        bench.streams.give_up()
        await ClockCycles(dut.aclk, 3)
        await bench.run(draw(SPEC, rng, 5, 3, 6))
