"""Bench of the co-processor: jobs in memory, every byte of which is compared with the twin's."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.axi_memory import CHANNELS, Memory
from carrysave.sim.cocotb.host import Host, descriptor
from carrysave.sim.cocotb.streams import PERIOD_NS, generator, limited, schedule
from carrysave.sim.parameters import bench_spec
from golden.soc.coprocessor import (
    CoprocessorSpec,
    Error,
    Job,
    coprocessor,
    error_of,
    matrices,
)
from verif.soc.benches.jobs import SIZE, any_job, draw, fill_records, requantisation

SPEC: CoprocessorSpec = bench_spec()


async def start(dut: Any, *, size: int = SIZE, **options: Any) -> tuple[Host, Memory]:
    """Reset the co-processor, with random bytes in memory."""
    return await system.start(dut, size=size, **options)


async def run(host: Host, memory: Memory, job: Job) -> int:
    """Run a job, and compare every byte of memory; returns its cycles."""
    fill_records(memory.data, job)
    expected = memory.data.copy()
    error = coprocessor(SPEC, expected, job)
    await host.start(job)
    before = cocotb.simtime.get_sim_time("ns")
    found = await host.wait()
    assert found == error, f"{Error(found)!r}, not {error!r}: {job}"
    wrong = np.flatnonzero(memory.data != expected)
    places = {name: matrix.address for name, matrix in matrices(SPEC, job).items()}
    assert not len(wrong), f"{len(wrong)} bytes from {wrong[0]} on differ: {job} {places}"
    assert memory.busy == 0
    return int(cocotb.simtime.get_sim_time("ns") - before) // PERIOD_NS


@cocotb.test
async def test_small(dut: Any) -> None:
    host, memory = await start(dut)
    rng = generator(1)
    assert await host.read(0x100) == 0x43535631
    for m, n, k in ((1, 1, 1), (4, 4, 4), (5, 7, 9), (3, 17, 2), (13, 3, 40)):
        dut._log.info("%d cycles", await run(host, memory, draw(SPEC, rng, m, n, k)))


@cocotb.test
async def test_random(dut: Any) -> None:
    host, memory = await start(dut)
    rng = generator(2)
    for _ in range(limited(40)):
        await run(host, memory, any_job(SPEC, rng, 0.05))


@cocotb.test
@cocotb.parametrize(kind=("sparse", "bursts", "rare", "long"))
async def test_stalls(dut: Any, kind: str) -> None:
    rng = generator(3)
    stalls = {channel: schedule(kind, generator(4, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await start(dut, latency=20, stalls=stalls)
    for _ in range(limited(8)):
        await run(host, memory, any_job(SPEC, rng, 0.07))


@cocotb.test
async def test_refused(dut: Any) -> None:
    """Whatever is wrong with a job, it is told, and nothing is read or written."""
    host, memory = await start(dut)
    rng = generator(5)
    good = draw(SPEC, rng, 9, 10, 11)
    high = 1 << SPEC.address_width
    wrong: list[dict[str, Any]] = [
        {"m": 0},
        {"n": 0},
        {"k": 0},
        {"m": 1 << 24},
        {"n": 1 << 31},
        {"k": SPEC.inside.modes[0, 0].k_max + 1},
        {"a_format": 15, "b_format": 15},
        *[{"accumulate": True, "bias": 0}] * (not SPEC.row_factors),  # else these are factors
        {"lda": good.lda - good.lda},
        {"ldb": 1},
        {"ldc": 10 * SPEC.sum_bytes - 1},
        {"a": high - 1},
        {"c": (1 << 64) - 64},
        {"b": high - 5},
        {"c": high - 8},
        {"m": (1 << 24) - 1, "lda": (1 << 32) - 1, "a": high - (1 << 32)},
        {"block_m": 1 << 20, "block_n": 1, "block_k": 1},
        {"block_m": 1, "block_n": 1 << 20, "block_k": 8},
        {"block_m": 1, "block_n": 1, "block_k": 1 << 20},
    ]
    if not SPEC.requantise:
        wrong.append({"requantisation": requantisation(rng)})
    if not SPEC.bias:
        wrong.append({"bias": 0})
    seen = set()
    for changes in wrong:
        job = replace(good, **changes)
        error = error_of(SPEC, job)
        assert error, changes
        seen.add(error)
        await run(host, memory, job)
        assert memory.read_beats == memory.write_beats == 0, changes
    assert seen >= {Error.DIMENSION, Error.WRAPS, Error.BLOCKS, Error.MODE}
    # The dimension may be refused before that K is too large for its formats.
    if SPEC.inside.modes[0, 0].k_max + 1 < 1 << SPEC.dimension_width:
        assert Error.K_TOO_LARGE in seen
    await run(host, memory, good)


@cocotb.test
@cocotb.parametrize(way=("r", "w"), response=(2, 3))
async def test_errors_of_memory(dut: Any, way: str, response: int) -> None:
    """An error on any beat ends the job, with its address; the next one is right."""
    rng = generator(6, response)
    stalls = {channel: schedule("bursts", generator(7, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await start(dut, latency=10, stalls=stalls)
    for _ in range(limited(12)):
        job = draw(SPEC, rng, 7, 9, 40, bias=SPEC.bias)
        matrix = matrices(SPEC, job)["c" if way == "w" else str(rng.choice(["a", "b"]))]
        row = int(rng.integers(matrix.rows))
        address = matrix.address + row * matrix.distance + int(rng.integers(matrix.row_bytes))
        address -= address % SPEC.bytes
        memory.faults[way] = {address: response}
        before = memory.data.copy()
        await host.start(job)
        assert await host.wait() == (Error.WRITE if way == "w" else Error.READ)
        assert await host.read(0xA0) >> 8 & 3 == response
        told = await host.read(0xA8) | await host.read(0xAC) << 32
        assert any(
            at == told and at <= address < at + beats * SPEC.bytes for _, at, beats in memory.bursts
        )
        assert memory.busy == 0
        outside = np.ones(len(before), bool)
        outside[matrices(SPEC, job)["c"].places()] = False
        assert np.array_equal(memory.data[outside], before[outside])
        memory.faults[way] = {}
        await run(host, memory, draw(SPEC, rng, 5, 6, 7))


@cocotb.test
async def test_resets(dut: Any) -> None:
    """After a soft reset at any moment the co-processor is idle, and the next job is right."""
    rng = generator(8)
    stalls = {channel: schedule("rare", generator(9, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await start(dut, latency=30, stalls=stalls)
    for _ in range(limited(40)):
        await host.start(draw(SPEC, rng, 9, 12, 70, bias=SPEC.bias))
        await ClockCycles(dut.aclk, int(rng.integers(1, 900)))
        await host.write(0, 1 << 31)
        while await host.read(0) & 1 << 31:
            pass
        assert memory.busy == 0
        assert await host.read(0) & 4
        await run(host, memory, draw(SPEC, rng, 5, 3, 6))


@cocotb.test
async def test_configuration_while_busy(dut: Any) -> None:
    """Writes to a job that runs have no effect, and are told."""
    host, memory = await start(dut, latency=40)
    rng = generator(10)
    job = draw(SPEC, rng, 11, 12, 50)
    expected = memory.data.copy()
    coprocessor(SPEC, expected, job)
    await host.start(job)
    for address in range(0x10, 0x90, 4):
        await host.write(address, 0xFFFFFFFF)
    assert await host.wait() == Error.NONE
    assert np.array_equal(memory.data, expected)
    assert await host.read(0xA0) >> 16 & 1
    await host.write(0xA0, 1 << 16)
    assert not await host.read(0xA0) >> 16 & 1
    assert await host.read(0x10) == job.a


@cocotb.test
async def test_ring(dut: Any) -> None:
    """A list of jobs, each of which reads what the one before wrote, runs on one start."""
    host, memory = await start(dut, latency=7)
    rng = generator(11)
    for count in (1, 2, 5):
        jobs = [draw(SPEC, rng, 6, 5, 9)]
        for _ in range(count - 1):
            last = jobs[-1]
            # The sums of the last job are the codes of this one.
            k = last.n * SPEC.sum_bytes * 8 // SPEC.a_bits
            following = draw(SPEC, rng, 6, 4, k, by_columns=True)
            following = replace(following, a=last.c, lda=last.ldc)
            # Blocks of C leave before all of A is read: C must not be where A is.
            behind = max(matrix.end for matrix in matrices(SPEC, following).values())
            jobs.append(replace(following, c=behind + int(rng.integers(9))))
        ring = SIZE - 4096
        image = b"".join(descriptor(job) for job in jobs)
        memory.data[ring : ring + len(image)] = np.frombuffer(image, np.uint8)
        expected = memory.data.copy()
        assert not any(coprocessor(SPEC, expected, job) for job in jobs)
        await host.start_ring(ring, count)
        assert await host.wait() == Error.NONE
        assert np.array_equal(memory.data, expected)
        assert await host.read(0x9C) == count
    # The second of three is illegal; the third is not run.
    jobs = [
        draw(SPEC, rng, 3, 3, 3),
        replace(draw(SPEC, rng, 3, 3, 3), k=0),
        draw(SPEC, rng, 3, 3, 3),
    ]
    image = b"".join(descriptor(job) for job in jobs)
    memory.data[ring : ring + len(image)] = np.frombuffer(image, np.uint8)
    expected = memory.data.copy()
    coprocessor(SPEC, expected, jobs[0])
    await host.start_ring(ring, 3)
    assert await host.wait() == Error.DIMENSION
    assert np.array_equal(memory.data, expected)
    assert (await host.read(0x9C), await host.read(0xA4)) == (1, 1)
    # A descriptor that cannot be read, and one at no whole beat.
    memory.faults["r"] = {ring + 128: 2}
    await host.start_ring(ring, 2)
    assert await host.wait() == Error.DESCRIPTOR
    assert await host.read(0xA4) == 1
    memory.faults["r"] = {}
    await host.start_ring(ring + 1, 2)
    assert await host.wait() == Error.MISALIGNED
    # Beyond the address space, and from inside of it to beyond it.
    top = 1 << SPEC.address_width
    for address in {top % (1 << 64), top - 128} - {0}:
        await host.start_ring(address, 2)
        assert await host.wait() == Error.WRAPS
    await host.start_ring(0, 0)
    await host.wait()
    await run(host, memory, draw(SPEC, rng, 5, 6, 7))


@cocotb.test
async def test_counters(dut: Any) -> None:
    """Counters are those of the last start."""
    host, memory = await start(dut, latency=9)
    rng = generator(12)
    for _ in range(3):
        job = any_job(SPEC, rng, 0.06)
        beats = memory.read_beats, memory.write_beats
        cycles = await run(host, memory, job)
        names = ("cycles", "compute", "stall_load", "stall_store", "read", "write", "macs")
        values = {name: await host.read(0xB0 + 8 * i) for i, name in enumerate(names)}
        inside = SPEC.inside
        per_beat = inside.m * inside.n * inside.k * inside.modes[job.a_format, job.b_format].codes
        assert values["macs"] == job.m * job.n * job.k
        assert values["read"] == memory.read_beats - beats[0]
        assert values["write"] == memory.write_beats - beats[1]
        assert values["compute"] * per_beat >= values["macs"]
        both = values["compute"] + values["stall_load"]
        assert both <= SPEC.array_clock * values["cycles"] <= SPEC.array_clock * cycles
