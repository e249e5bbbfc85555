"""Bench of products whose B is packed: every byte of memory is compared with the twin's."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.axi_memory import Memory
from carrysave.sim.cocotb.streams import SCHEDULES, generator, limited
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.formats.bitmap import BlockSize, pack_image
from golden.soc.blocking import plan
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, matrices
from verif.soc.benches.jobs import fill_records
from verif.soc.benches.packed import SLOT, packed_job, spoiled, with_image
from verif.soc.benches.slots import Slots

SPEC: CoprocessorSpec = bench_spec()
JOBS = 6
LIKELY = 0.06
SLOTS = Slots(spec=SPEC, slot=SLOT, jobs=JOBS, likely=LIKELY, seed=40)


def _draw(rng: np.random.Generator, memory: Memory, slot: int) -> Job:
    """Draw a job; in one of four, B is as it is."""
    if rng.integers(4):
        job = packed_job(SPEC, rng, memory.data, slot, LIKELY)
    else:
        job = SLOTS.job(rng, slot)
    fill_records(memory.data, job)
    return job


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_any_jobs(dut: Any, kind: str) -> None:
    """Packed and other jobs follow each other, with what they share in memory."""
    host, memory, rng = await SLOTS.start(dut, kind, 0)
    for _ in range(limited(8)):
        count = int(rng.integers(1, JOBS + 1)) if SPEC.follows_ring else 1
        await SLOTS.run(host, memory, [_draw(rng, memory, slot) for slot in range(count)])


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts"))
async def test_images_that_are_none(dut: Any, kind: str) -> None:
    """They are told, nothing beyond them is read; jobs before are done, the next one is right."""
    host, memory, rng = await SLOTS.start(dut, kind, 1)
    ways = set[str]()
    for _ in range(limited(24)):
        count = int(rng.integers(1, 4)) if SPEC.follows_ring else 1
        jobs = [_draw(rng, memory, slot) for slot in range(count - 1)]
        while True:
            last = packed_job(SPEC, rng, memory.data, count - 1, LIKELY)
            fill_records(memory.data, last)
            way, bad = spoiled(SPEC, rng, memory.data, last)
            if coprocessor(SPEC, memory.data.copy(), bad) == Error.OFFSET:
                break
        ways.add(way)
        expected = memory.data[: JOBS * SLOT].copy()
        assert not any(coprocessor(SPEC, expected, job) for job in jobs)
        bursts = len(memory.bursts)
        await SLOTS.begin(host, memory, [*jobs, bad])
        code = await host.wait()
        assert code == Error.OFFSET, (code, way, bad, memory.data[bad.b : bad.b + 32].tolist())
        assert memory.busy == 0
        if SPEC.follows_ring:
            assert await host.read(0x9C) == count - 1
            await host.write(0x98, 0)
        high = max(matrix.end for matrix in matrices(SPEC, bad).values())
        slot = bad.b // SLOT * SLOT
        for kind_of, at, *_ in memory.bursts[bursts:]:
            assert kind_of == "aw" or not high <= at < slot + SLOT, (way, bad)
        written = matrices(SPEC, bad)["c"].places().reshape(-1)
        expected[written] = memory.data[written]
        assert np.array_equal(memory.data[: JOBS * SLOT], expected), (way, bad)
        await SLOTS.run(host, memory, [_draw(rng, memory, 0)])
    assert ways


@cocotb.test
async def test_soft_resets(dut: Any) -> None:
    """In the midst of jobs; the next one is right."""
    host, memory, rng = await SLOTS.start(dut, "bursts", 2)
    for _ in range(limited(12)):
        count = JOBS if SPEC.follows_ring else 1
        await SLOTS.begin(host, memory, [_draw(rng, memory, slot) for slot in range(count)])
        await ClockCycles(dut.aclk, int(rng.integers(1, 900)))
        await host.write(0, 1 << 31)
        while await host.read(0) & 1 << 31:
            pass
        await SLOTS.run(host, memory, [_draw(rng, memory, 0)])


@cocotb.test(skip="share" not in bench_parameters())
async def test_beats(dut: Any) -> None:
    """A row by a matrix, as it is and packed, with a memory that gives a beat in four cycles."""
    parameters = bench_parameters()
    slow = itertools.cycle((True, False, False, False))
    memory_size = 1 << 17
    host, memory = await system.start(dut, size=memory_size, latency=20, stalls={"r": slow})
    m, k, n = parameters["sizes"]
    rng, blocks = generator(43), plan(SPEC.stores(), m, n, k, 32)
    rows = rng.integers(1, 256, (k, n)) * (rng.random((k, n)) >= parameters["share"])
    size = BlockSize(blocks.k * SPEC.inside.k, blocks.n * SPEC.inside.n)
    image = pack_image(rows.astype(np.uint8), size)
    b = 1 << 12
    job = Job(a=0, b=b, c=1 << 11, m=m, n=n, k=k, lda=k, ldb=n, ldc=4 * n)
    job = replace(job, block_m=blocks.m, block_n=blocks.n, block_k=blocks.k)
    memory.data[b : b + k * n] = rows.astype(np.uint8).reshape(-1)
    memory.data[-len(image) :] = np.frombuffer(image, np.uint8)
    took = []
    for one in (job, with_image(SPEC, job, image, memory_size - len(image))):
        expected, before = memory.data.copy(), memory.read_beats
        assert not coprocessor(SPEC, expected, one)
        cycles = await host.time(one)
        assert np.array_equal(memory.data, expected)
        took.append({"bytes": one.ldb if one.packed else k * n, "cycles": cycles})
        took[-1]["beats"] = memory.read_beats - before
    Path("beats.json").write_text(json.dumps(took))
