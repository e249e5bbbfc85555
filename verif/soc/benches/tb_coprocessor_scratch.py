"""Bench of memory on chip: every byte there, and in memory, is compared with the twin's."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from carrysave.driver.registers import FIELDS
from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.axi_memory import CHANNELS, Memory
from carrysave.sim.cocotb.host import Host, descriptors
from carrysave.sim.cocotb.streams import generator, limited, schedule
from carrysave.sim.parameters import bench_spec
from golden.npe.requantiser import Requantisation
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, matrices
from verif.soc.benches import jobs
from verif.soc.benches import tb_coprocessor_vector as rows
from verif.soc.uvm.modes import ADDRESSES

SPEC: CoprocessorSpec = bench_spec()
BASE = SPEC.scratch_base
ROWS, SIDE = 512, 8
"""A product with B's diagonal of ones moves bytes: onto the chip, and back; few ones are fast."""
MOVED = ROWS * SIDE
ROOM = 1 << 16
"""Bytes of memory in front of those that move, and of the ring."""
SIZE = ROOM + 2 * MOVED + 8192
ONES, RING = ROOM + MOVED, ROOM + 2 * MOVED + 4096
COPY = Requantisation(
    multiplier=np.array([1 << 30]), shift=np.array([30]), zero_point=np.array([0])
)


class Both:
    """The device, and what the twin has in memory and on chip."""

    def __init__(self, host: Host, memory: Memory) -> None:
        self.host, self.memory = host, memory
        self.scratch = np.zeros(SPEC.scratch, np.uint8)
        ones = np.eye(SIDE, dtype=np.uint8)
        memory.data[ONES : ONES + ones.size] = ones.reshape(-1)

    async def run(self, *ring: Job) -> Error:
        """Run jobs on one start, and compare all of memory; returns the first error."""
        memory = self.memory.data
        for job in ring:
            jobs.fill_records(memory, job)
        if len(ring) > 1:
            image = np.frombuffer(descriptors(ring, SPEC.sum_bytes), np.uint8)
            memory[RING : RING + len(image)] = image
        expected = memory.copy()
        errors = [coprocessor(SPEC, expected, job, self.scratch) for job in ring]
        if len(ring) > 1:
            await self.host.start_ring(RING, len(ring))
        else:
            await self.host.write(FIELDS["ring_count"][0], 0)
            await self.host.start(ring[0])
        found = await self.host.wait()
        assert found == max(errors), f"{Error(found)!r}, not {errors}: {ring}"
        wrong = np.flatnonzero(memory != expected)
        assert not len(wrong), f"{len(wrong)} bytes from {wrong[0]} on differ: {ring}"
        assert self.memory.busy == 0
        return max(errors)

    def _copies(self, out: bool) -> list[tuple[int, Job]]:
        """Return jobs that each move some bytes off the chip, or onto it."""
        found = []
        for at in range(0, SPEC.scratch, MOVED):
            a, c = (BASE + at, ROOM) if out else (ROOM, BASE + at)
            job = Job(
                a=a,
                b=ONES,
                c=c,
                m=ROWS,
                n=SIDE,
                k=SIDE,
                lda=SIDE,
                ldb=SIDE,
                ldc=SIDE,
                requantisation=COPY,
                c_bytes=int(SPEC.sizes),
            )
            found.append((at, job))
        return found

    async def fill(self, rng: np.random.Generator) -> "Both":
        """Write all that is on chip."""
        for _, job in self._copies(out=False):
            self.memory.data[ROOM : ROOM + MOVED] = rng.integers(0, 256, MOVED, np.uint8)
            await self.run(job)
        return self

    async def check(self) -> None:
        """Compare all that is on chip."""
        for at, job in self._copies(out=True):
            await self.run(job)
            found = self.memory.data[ROOM : ROOM + MOVED]
            assert np.array_equal(found, self.scratch[at : at + MOVED])


async def start(dut: Any, seed: int, kind: str = "flowing", latency: int = 9) -> Both:
    """Reset, and write what is on chip."""
    stalls = {channel: schedule(kind, generator(seed, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=latency, stalls=stalls)
    return await Both(host, memory).fill(generator(seed, 99))


def placed(rng: np.random.Generator, job: Job, likely: float = 0.6) -> Job:
    """Put some of a job's matrices on chip, one behind the other, where they fit."""
    free = int(rng.integers(64))
    for name in rng.permutation([one for one in ADDRESSES if one in matrices(SPEC, job)]):
        matrix = matrices(SPEC, job)[str(name)]
        if name == "records" or rng.random() > likely:
            continue
        length = (matrix.rows - 1) * matrix.distance + matrix.row_bytes
        if free + length <= SPEC.scratch:
            where: dict[str, Any] = {str(name): BASE + free}
            job = replace(job, **where)
            free += length + int(rng.integers(40))
    return job


def drawn(rng: np.random.Generator, both: Both) -> Job:
    """Draw a product, or an operation on rows."""
    if SPEC.vector is not None and rng.integers(2):
        job = rows.draw(rng, *rows.sizes(rng))
        rows.fill(both.memory, rng, job)
        return placed(rng, job)
    return placed(rng, jobs.any_job(SPEC, rng, 0.07))


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts", "long"))
async def test_anywhere(dut: Any, kind: str) -> None:
    """Each matrix on chip or in memory, at any byte, whatever memory stalls."""
    both, rng = await start(dut, 1, kind, 20), generator(2)
    for number in range(limited(24)):
        await both.run(drawn(rng, both))
        if number % 8 == 7:
            await both.check()


@cocotb.test
async def test_ends_of_the_chip(dut: Any) -> None:
    """A matrix of the last bytes, one of all, and one of the last bytes of memory before it."""
    both, rng = await start(dut, 3), generator(4)
    good = jobs.draw(SPEC, rng, 5, 6, 7)
    found = matrices(SPEC, good)
    for name, matrix in found.items():
        length = matrix.end - matrix.address
        for address in (BASE, BASE + SPEC.scratch - length):
            where: dict[str, Any] = {name: address}
            await both.run(replace(good, **where))
    await both.check()


@cocotb.test
async def test_refused(dut: Any) -> None:
    """A matrix in part on chip, or beyond its end: told, and nothing is read or written."""
    both, rng = await start(dut, 5), generator(6)
    good = [jobs.draw(SPEC, rng, 5, 6, 7)]
    if SPEC.bias:
        good.append(jobs.draw(SPEC, rng, 5, 6, 7, bias=True))
    if SPEC.vector is not None:
        good += [rows.draw(rng, 5, 6, operation) for operation in SPEC.vector_jobs]
    beats = both.memory.read_beats, both.memory.write_beats
    for job in good:
        found = matrices(SPEC, job)
        for name, matrix in ((one, found[one]) for one in ADDRESSES if one in found):
            length = matrix.end - matrix.address
            if name == "b" and job.vector is not None and not job.ldb:
                length = matrix.row_bytes
            refused = {BASE - 1, BASE + 1 - length, BASE + SPEC.scratch + 1 - length} - {BASE}
            for address in sorted(refused if length > 1 else ()):
                where: dict[str, Any] = {name: address}
                assert await both.run(replace(job, **where)) == Error.WRAPS, (name, address)
    assert (both.memory.read_beats, both.memory.write_beats) == beats
    await both.check()


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts"))
async def test_chains(dut: Any, kind: str) -> None:
    """Jobs of one start, each of which reads on chip what the one before wrote there."""
    both, rng = await start(dut, 7, kind), generator(8)
    for _ in range(limited(4)):
        m, n = (int(size) for size in rng.integers(1, 12, 2))
        ring = [jobs.draw(SPEC, rng, m, n, n, requantisation=jobs.requantisation(rng), c_bytes=0)]
        free = 0
        for number in range(6):
            last = ring[-1]
            length = (m - 1) * last.ldc + n
            ring[-1] = replace(last, c=BASE + free if number < 5 else last.c)
            if number < 5:
                ring.append(replace(last, a=BASE + free, lda=last.ldc, k=n))
            free += length + int(rng.integers(9))
        await both.run(*ring)
    await both.check()


@cocotb.test(skip=SPEC.vector is None or "softmax" not in SPEC.vector_jobs)
async def test_in_place(dut: Any) -> None:
    """Shares where their scores are, row by row, also of fewer bytes and so closer together."""
    both, rng = await start(dut, 9), generator(10)
    for _ in range(limited(8)):
        m, n = rows.sizes(rng)
        job = rows.draw(rng, m, n, "softmax", a_format=SPEC.vector_in_bytes - 1)
        found = matrices(SPEC, job)
        ldc = found["c"].row_bytes
        lda = max(found["a"].row_bytes, ldc)
        for distance in {ldc, lda}:
            await both.run(replace(job, a=BASE + 3, c=BASE + 3, lda=lda, ldc=distance))
    await both.check()


@cocotb.test
@cocotb.parametrize(way=("r", "w"))
async def test_errors_of_memory(dut: Any, way: str) -> None:
    """An error among answers from the chip ends the job; the next one is right."""
    both, rng = await start(dut, 11, "bursts", 12), generator(12)
    memory, wanted = both.memory, Error.READ if way == "r" else Error.WRITE
    for number in range(limited(8)):
        job = jobs.draw(SPEC, rng, 9, 10, 11)
        found = matrices(SPEC, job)
        failing = ("a", "b")[number % 2] if way == "r" else "c"
        on_chip = {"a": BASE, "b": BASE + 1024, "c": BASE + 2048}
        del on_chip[failing]
        if number % 4 < 2:
            on_chip.pop("c", None)
        where: dict[str, Any] = dict(on_chip)
        job = replace(job, **where)
        address = int(rng.choice(found[failing].places().reshape(-1)))
        memory.faults[way] = {address // SPEC.bytes * SPEC.bytes: 2}
        await both.host.start(job)
        assert await both.host.wait() == wanted
        assert await both.host.read(0xA0) >> 8 & 3 == 2
        told = await both.host.read(0xA8) | await both.host.read(0xAC) << 32
        assert any(at == told for _, at, _ in memory.bursts)
        assert memory.busy == 0
        memory.faults[way] = {}
        await both.fill(rng)
        await both.run(drawn(rng, both))
    await both.check()


@cocotb.test
async def test_resets(dut: Any) -> None:
    """After a soft reset at any moment all is idle; the next jobs are right, and so is the chip."""
    both, rng = await start(dut, 13, "rare", 25), generator(14)
    for _ in range(limited(16)):
        job = jobs.draw(SPEC, rng, 12, 13, 14)
        await both.host.start(replace(job, a=BASE, c=BASE + 2048) if rng.integers(2) else job)
        await ClockCycles(dut.aclk, int(rng.integers(1, 500)))
        await both.host.write(0, 1 << 31)
        while await both.host.read(0) & 1 << 31:
            pass
        assert both.memory.busy == 0
        assert await both.host.read(0) & 4
        await both.fill(rng)
        await both.run(drawn(rng, both))
    await both.check()


@cocotb.test(skip=not SPEC.counters)
async def test_counters(dut: Any) -> None:
    """Beats of memory are counted, those on chip are not; a job wholly on chip has none."""
    both, rng = await start(dut, 15), generator(16)
    job = jobs.draw(SPEC, rng, 9, 10, 11)
    inside = replace(job, a=BASE, b=BASE + 1024, c=BASE + 2048)
    for one in (job, replace(job, a=BASE), replace(job, c=BASE), inside):
        before = both.memory.read_beats, both.memory.write_beats
        await both.run(one)
        counted = [await both.host.read(0xB0 + 8 * number) for number in (4, 5)]
        read, written = both.memory.read_beats, both.memory.write_beats
        assert counted == [read - before[0], written - before[1]], one
    assert counted == [0, 0]
