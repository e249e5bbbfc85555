"""Bench of vector jobs in the co-processor: every byte of memory is compared with the twin's."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from carrysave.driver.registers import FIELDS, OPERATIONS
from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.axi_memory import CHANNELS, Memory
from carrysave.sim.cocotb.host import Host, descriptors
from carrysave.sim.cocotb.streams import SCHEDULES, generator, limited, schedule
from carrysave.sim.parameters import bench_spec
from golden.npe.requantiser import Requantisation
from golden.npe.vector import PAIRS, SCALED, SECOND
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, matrices
from golden.soc.maps import MAPS
from golden.soc.maps import cycles as map_cycles
from hw.soc.registers.rdl import vector_numbers
from verif.soc.benches import jobs, row_jobs
from verif.soc.benches.row_jobs import (
    bytes_of,
    factors_of,
    fill_one,
    wrong_gathers,
    wrong_parts,
)
from verif.soc.benches.tb_coprocessor_formats import run
from verif.support.vectors import scaling

SPEC: CoprocessorSpec = bench_spec()
UNIT: Any = SPEC.vector
BUILT = SPEC.vector_jobs
BUILT_PARTS = [name for name in BUILT if name in row_jobs.PARTS]
NUMBERS = {vector_numbers()[name] for name in BUILT}
TWO = (*PAIRS, *MAPS)
SIZE = 1 << 17
# Another bench takes jobs from here, also of builds without a unit.
_LANES, _MOST = (1, 1) if UNIT is None else (UNIT.lanes, UNIT.length)
LENGTHS = sorted({1, 2, _LANES, _LANES + 1, 3 * _LANES - 1, _MOST})


def draw(
    rng: np.random.Generator, m: int, n: int, operation: str | None = None, **more: Any
) -> Job:
    """Place a vector job somewhere in memory, rows at any byte and at any distance."""
    operation = operation or str(rng.choice(BUILT))
    wide = 0 if operation in ("transpose", *MAPS) else int(rng.integers(SPEC.vector_in_bytes))
    if operation != "transpose":
        n = min(n, UNIT.most(operation))
    size = bytes_of(SPEC, rng, operation)
    if operation == "gather":
        # Codes as they are: as many bytes as those of A.
        wide = int(rng.integers(min(SPEC.vector_in_bytes, SPEC.vector_out_bytes)))
        size = wide + 1 if wide + 1 < SPEC.vector_out_bytes else int(rng.choice([0, wide + 1]))
    job = Job(
        a=0,
        b=int(rng.integers(1 << 40)),
        c=0,
        m=m,
        n=n,
        k=int(rng.integers(1, 50) if operation == "gather" else rng.integers(1 << 32)),
        lda=0,
        ldb=int(rng.integers(1 << 31)),
        ldc=0,
        a_format=wide,
        vector=operation,
        requantisation=how_of(rng, operation) if operation in (*SCALED, *row_jobs.PARTS) else None,
        c_bytes=size,
        **(factors_of(SPEC, rng) if operation in MAPS else {}),
    )
    place = int(rng.integers(64))
    for name, matrix in matrices(SPEC, job).items():
        distance = matrix.row_bytes + int(rng.integers(9))
        if name == "b" and not rng.integers(3):
            distance = 0
        job = replace(job, **row_jobs.place(name, place, distance))
        place += (matrix.rows - 1) * distance + matrix.row_bytes + int(rng.integers(40))
    assert place <= SIZE - 4096, "the matrices do not fit into the memory"
    return replace(job, **more)


def fill(memory: Memory, rng: np.random.Generator, job: Job) -> None:
    """Write rows of some spread, so that not all codes are at a limit."""
    for name, matrix in matrices(SPEC, job).items():
        if job.vector == "gather" and name == "b":
            matrix.store(memory.data, rng.integers(job.k, size=(matrix.rows, 1)))
        elif name != "c":
            fill_one(memory.data, rng, matrix, UNIT.width)


def how_of(rng: np.random.Generator, operation: str) -> Requantisation:
    """Draw how codes of an operation are made, of rows of any spread."""
    if operation in row_jobs.PARTS:
        return row_jobs.part_scaling(SPEC, rng, operation)
    bits = 2 * (UNIT.width - 1) if operation == "multiply" else UNIT.width
    return scaling(rng, UNIT.scaling, 1 << int(rng.integers(bits // 2, bits + 1)))


def sizes(rng: np.random.Generator) -> tuple[int, int]:
    """Draw rows, and codes in a row, few of each at most times."""
    longest = min(UNIT.length, 6 * UNIT.lanes + 1)
    return int(rng.integers(1, 6)), int(rng.integers(1, longest + 1))


@cocotb.test
async def test_lengths(dut: Any) -> None:
    """Rows of one code and of the most, of every operation, one row and several."""
    host, memory = await system.start(dut, size=SIZE)
    rng = generator(1)
    for operation in BUILT:
        for n in LENGTHS:
            for m in (1, 3):
                job = draw(rng, m, n, operation)
                fill(memory, rng, job)
                await run(host, memory, job)


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_stalls(dut: Any, kind: str) -> None:
    """Memory stalls on all channels, beside a latency."""
    rng = generator(2)
    stalls = {channel: schedule(kind, generator(3, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=20, stalls=stalls)
    for _ in range(limited(10)):
        job = draw(rng, *sizes(rng))
        fill(memory, rng, job)
        await run(host, memory, job)


@cocotb.test(skip=not SPEC.transpose)
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_transposition(dut: Any, kind: str) -> None:
    """Parts of blocks, whole ones, and many, beyond the longest row of the unit, too."""
    rng, side = generator(15), UNIT.lanes
    stalls = {channel: schedule(kind, generator(16, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=20, stalls=stalls)
    shapes = [
        (9 * side - 1, 8 * side + 3),
        (1, 1),
        (2 * side, UNIT.length + 1),
        (4 * side, 4 * side),
        (4 * side + 1, 4 * side + 1),
        (side, side),
        (side + 1, 2 * side - 1),
        (3 * side, 1),
        (1, 3 * side),
    ]
    for m, n in shapes[: limited(len(shapes))]:
        job = draw(rng, m, n, "transpose")
        fill(memory, rng, job)
        await run(host, memory, job)


@cocotb.test(skip=not SPEC.gather)
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_gather(dut: Any, kind: str) -> None:
    """Tables of one row and of many, rows once, again and again, and far apart."""
    rng = generator(17)
    stalls = {channel: schedule(kind, generator(18, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=20, stalls=stalls)
    most = min(1 << SPEC.dimension_width, 3000) - 1
    for m, n, k in (
        (1, 1, 1),
        (3, UNIT.length, 1),
        (30, 3, most),
        (9, min(UNIT.length, 20), 40),
        (40, 1, 2),
        (2, 2, most),
    )[: limited(6)]:
        job = draw(rng, m, n, "gather", k=k)
        job = replace(job, lda=2 * n + int(rng.integers(9)), a=0)
        job = replace(job, b=job.k * job.lda, ldb=4 + int(rng.integers(3)))
        job = replace(job, c=job.b + m * job.ldb)
        fill(memory, rng, job)
        place = matrices(SPEC, job)["b"]
        indices = place.load(memory.data)
        indices[-1] = k - 1
        place.store(memory.data, indices)
        await run(host, memory, job)


@cocotb.test(skip=not SPEC.gather)
@cocotb.parametrize(kind=("flowing", "bursts"))
async def test_index_beyond_the_table(dut: Any, kind: str) -> None:
    """It is told, no row after it is written, none beyond the table is read, jobs before are done.

    The next job is right.
    """
    rng = generator(19)
    stalls = {channel: schedule(kind, generator(20, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=20, stalls=stalls)
    for _ in range(limited(8)):
        first = draw(rng, 9, int(rng.integers(1, UNIT.length + 1)), "gather")
        found = matrices(SPEC, first)
        step = max(matrix.rows * matrix.distance for matrix in found.values()) + 5
        count = 3 if SPEC.follows_ring else 1
        ring = [
            replace(first, a=0, ldb=4, c=(1 + at) * step, b=7 * step + 64 * at)
            for at in range(count)
        ]
        for job in ring:
            fill(memory, rng, job)
        bad, place = int(rng.integers(9)), matrices(SPEC, ring[-1])["b"]
        indices = place.load(memory.data)
        indices[bad] = rng.choice([first.k, first.k + 1, 1 << SPEC.dimension_width, (1 << 32) - 1])
        place.store(memory.data, indices)
        expected = memory.data.copy()
        errors = [coprocessor(SPEC, expected, job) for job in ring]
        assert errors == [Error.NONE] * (count - 1) + [Error.INDEX]
        bursts = len(memory.bursts)
        if SPEC.follows_ring:
            image = np.frombuffer(descriptors(ring, SPEC.sum_bytes), np.uint8)
            start = SIZE - 4096
            memory.data[start : start + len(image)] = expected[start : start + len(image)] = image
            await host.start_ring(start, count)
        else:
            start = SIZE
            await host.start(ring[0])
        assert await host.wait() == Error.INDEX
        assert memory.busy == 0
        if SPEC.follows_ring:
            assert await host.read(0x9C) == count - 1
            await host.write(0x98, 0)
        low, high = start, matrices(SPEC, first)["a"].end - first.a
        for way, at, _ in memory.bursts[bursts:]:
            assert way == "aw" or at < high or at >= 7 * step // SPEC.bytes * SPEC.bytes, at
        written = matrices(SPEC, ring[-1])["c"].places()[:bad].reshape(-1)
        expected[written] = memory.data[written]
        assert np.array_equal(memory.data[:low], expected[:low])
        job = draw(rng, *sizes(rng))
        fill(memory, rng, job)
        await run(host, memory, job)


@cocotb.test
async def test_in_place(dut: Any) -> None:
    """Rows of C where those of A are, or those of B, or of both."""
    host, memory = await system.start(dut, size=SIZE, latency=3)
    rng = generator(4)
    for operation in (*UNIT.built, *BUILT_PARTS):
        for over in ("a", "b", "ab") if operation in TWO else ("a",):
            job = draw(rng, 9, sizes(rng)[1], operation)
            apart: dict[str, Any] = {f"ld{one}": max(job.lda, job.ldc) for one in f"{over}c"}
            place = dict.fromkeys(f"{over}c", getattr(job, over[-1]))
            job = replace(job, **apart, **place)
            fill(memory, rng, job)
            await run(host, memory, job)


@cocotb.test
async def test_refused(dut: Any) -> None:
    """Whatever is wrong with a vector job, it is told, and nothing is read or written."""
    host, memory = await system.start(dut, size=SIZE)
    rng = generator(5)
    first, high = next(one for one in BUILT if one not in UNIT.SHARES), 1 << SPEC.address_width
    good = draw(rng, 5, min(UNIT.length, 7), first, a_format=0, c_bytes=0, ldc=40)
    longer = {"n": UNIT.length + 1, "lda": 1 << 17, "ldc": 1 << 17}
    wrong: list[tuple[Error, dict[str, Any]]] = [
        (Error.DIMENSION, {"m": 0}), (Error.DIMENSION, {"n": 0}),
        (Error.DIMENSION, {"m": 1 << SPEC.dimension_width}), (Error.DIMENSION, {"n": 1 << 31}),
        (Error.MODE, {"a_format": SPEC.vector_in_bytes}), (Error.MODE, {"a_format": 15}),
        (Error.MODE, {"b_format": 1}), (Error.MODE, {"bias": 0}),
        (Error.MODE, {"accumulate": True}), (Error.MODE, {"by_columns": True}),
        (Error.MODE, {"requantisation": None if good.requantisation else how_of(rng, "add")}),
        (Error.MODE, {"block_m": 1}), (Error.MODE, {"block_n": 1}), (Error.MODE, {"block_k": 1}),
        (Error.LONG_ROW, longer), (Error.LONG_ROW, longer | {"n": (1 << SPEC.dimension_width) - 1}),
        (Error.LEADING_DIMENSION, {"lda": good.n - 1}),
        (Error.LEADING_DIMENSION, {"ldc": good.n * SPEC.vector_out_bytes - 1}),
        (Error.WRAPS, {"a": high - good.n + 1, "m": 1}), (Error.WRAPS, {"c": high - 1}),
        (Error.WRAPS, {"a": high - 4 * good.lda - good.n + 1}),
        (Error.WRAPS, {"m": (1 << SPEC.dimension_width) - 1, "lda": (1 << 32) - 1,
                       "a": high - (1 << SPEC.dimension_width)}),
    ]  # fmt: skip
    wrong += [(Error.MODE, {"vector": name}) for name in OPERATIONS if name not in BUILT]
    if SPEC.sizes:
        norms = [name for name in BUILT if name in UNIT.NORMS]
        wide = SPEC.vector_out_bytes > 1
        sized: list[dict[str, Any]] = [{"c_bytes": 3}]
        sized += [{"vector": name, "requantisation": None, "c_bytes": 1} for name in norms * wide]
        sized += [{"c_bytes": 2}] * (not wide)
        if SPEC.transpose:
            turned = draw(rng, 5, 7, "transpose")
            sized += [{**vars(turned), "a_format": 1}] * wide
            sized += [{**vars(turned), "c_bytes": 2}]
            wrong += [
                (Error.LEADING_DIMENSION, {**vars(turned), "ldc": 4}),
                (Error.LEADING_DIMENSION, {**vars(turned), "lda": 6}),
                (Error.WRAPS, {**vars(turned), "c": high - 6 * turned.ldc - 4}),
            ]
        wrong += [(Error.MODE, {"ldc": 4 * good.n} | one) for one in sized]
    if SPEC.gather:
        table = vars(draw(rng, 5, 7, "gather")) | {"ldb": 4}
        wrong += [(error, table | changes) for error, changes in wrong_gathers(SPEC, table)]
    for operation in [name for name in BUILT if name in SCALED]:
        how = how_of(rng, operation)
        other: dict[str, Any] = {"vector": operation, "requantisation": how, "ldb": 0, "b": 0}
        most = UNIT.most(operation)
        large = replace(how, multiplier=np.array([1 << UNIT.reciprocal_width]))
        wrong += [
            (Error.MODE, {"vector": operation.replace("divide", "add"), "requantisation": None}),
            (Error.MODE, other | {"requantisation": replace(how, relu=True, low=-128)}),
            (Error.MODE, other | {"requantisation": large}),
            (Error.LONG_ROW, longer | other | {"n": most + 1}),
        ]
        if operation == "scale":
            wrong += [
                (Error.WRAPS, other | {"b": high - 1, "ldb": 1}),
                (Error.WRAPS, other | {"b": high - 4 * good.lda, "ldb": good.lda}),
            ]
        if operation in PAIRS:
            wrong += [
                (Error.LEADING_DIMENSION, other | {"ldb": good.n - 1}),
                (Error.LEADING_DIMENSION, other | {"ldb": 1}),
                (Error.WRAPS, other | {"b": high - good.n + 1}),
                (Error.WRAPS, other | {"b": high - 4 * good.lda - good.n + 1, "ldb": good.lda}),
            ]
    for operation in BUILT_PARTS:
        other = vars(draw(rng, 5, good.n, operation)) | {"ldb": 0}
        wrong += [(error, other | one) for error, one in wrong_parts(SPEC, good.n, other, longer)]
    if "softmax" in BUILT:
        softmax = {"vector": "softmax", "ldc": good.n * SPEC.vector_out_bytes}
        wrong.append((Error.LEADING_DIMENSION, softmax))
    for error, changes in wrong:
        job = replace(good, **changes)
        assert coprocessor(SPEC, memory.data, job) == error, changes
        await run(host, memory, job)
        assert memory.read_beats == memory.write_beats == 0, changes
    for number in {*range(17, 32 if max(NUMBERS) > 15 else 17)} - NUMBERS:
        await host.start(replace(good, m=0))
        assert await host.wait() == Error.DIMENSION
        await host.write(FIELDS["job_m"][0], good.m)
        address, low, _ = FIELDS["job_mode_vector"]
        await host.write(address, number % 16 << low | 1 << FIELDS["job_mode_listed"][1])
        await host.write(0, 1)
        assert await host.wait() == Error.MODE, number
    assert memory.read_beats == memory.write_beats == 0
    fill(memory, rng, good)
    await run(host, memory, good)


@cocotb.test
@cocotb.parametrize(way=("r", "w"), response=(2, 3))
async def test_errors_of_memory(dut: Any, way: str, response: int) -> None:
    """An error on any beat ends the job, with its address; the next one is right.

    Reads of either operand fail, of sums and products more often than of other operations.
    """
    rng = generator(6, response)
    stalls = {channel: schedule("bursts", generator(7, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=10, stalls=stalls)
    pairs = [operation for operation in BUILT if operation in SECOND]
    for number in range(limited(8)):
        job = draw(rng, *sizes(rng), pairs[number % len(pairs)] if pairs and number % 2 else None)
        fill(memory, rng, job)
        found = matrices(SPEC, job)
        # Not all rows of a table are read.
        of_b = number % 4 == 1 or job.vector == "gather"
        read = "b" if "b" in found and of_b else "a"
        places = found[read if way == "r" else "c"].places()
        address = int(rng.choice(places.reshape(-1))) // SPEC.bytes * SPEC.bytes
        memory.faults[way] = {address: response}
        before = memory.data.copy()
        await host.start(job)
        assert await host.wait() == (Error.READ if way == "r" else Error.WRITE)
        assert await host.read(0xA0) >> 8 & 3 == response
        told = await host.read(0xA8) | await host.read(0xAC) << 32
        assert any(
            at == told and at <= address < at + beats * SPEC.bytes for _, at, beats in memory.bursts
        )
        assert memory.busy == 0
        outside = np.ones(len(before), bool)
        outside[found["c"].places()] = False
        assert np.array_equal(memory.data[outside], before[outside])
        memory.faults[way] = {}
        job = draw(rng, *sizes(rng))
        fill(memory, rng, job)
        await run(host, memory, job)


@cocotb.test
async def test_resets(dut: Any) -> None:
    """After a soft reset at any moment the co-processor is idle, and the next job is right."""
    rng = generator(8)
    stalls = {channel: schedule("rare", generator(9, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=30, stalls=stalls)
    for number in range(limited(20)):
        job = draw(rng, 9, min(UNIT.length, 4 * UNIT.lanes + 1))
        fill(memory, rng, job)
        await host.start(job)
        await ClockCycles(dut.aclk, int(rng.integers(1, 900)))
        await host.write(0, 1 << 31)
        while await host.read(0) & 1 << 31:
            pass
        assert memory.busy == 0
        assert await host.read(0) & 4
        # A product, now and then, has to find nothing of the rows.
        job = draw(rng, 2, 3) if number % 2 else jobs.draw(SPEC, rng, 5, 3, 6)
        if number % 2:
            fill(memory, rng, job)
        await run(host, memory, job)


@cocotb.test(skip=not SPEC.taps)
async def test_cycles_of_maps(dut: Any) -> None:
    """Rows of maps take the cycles that golden states, but for the start of a job."""
    host, memory = await system.start(dut, size=SIZE)
    rng = generator(21)
    for operation in MAPS:
        for n in (1, UNIT.length):
            for b in (0, UNIT.length):
                took, stated = [], []
                for m in (4, 24):
                    job = draw(rng, m, n, operation, lda=n, ldb=b, ldc=n, a=0, b=8192, c=16384)
                    job = row_jobs.plain(job)
                    fill(memory, rng, job)
                    took.append(await run(host, memory, job))
                    stated.append(map_cycles(m, n, UNIT.lanes, one_row=not b))
                found, right = took[1] - took[0], stated[1] - stated[0]
                assert abs(found - right) <= max(0.03 * right, 12), (operation, n, b)


async def run_ring(host: Host, memory: Memory, ring: list[Job]) -> None:
    """Run jobs on one start, those marked that may overlap, and compare every byte."""
    image = np.frombuffer(descriptors(ring, SPEC.sum_bytes), np.uint8)
    start = SIZE - 4096
    memory.data[start : start + len(image)] = image
    expected = memory.data.copy()
    assert not any(coprocessor(SPEC, expected, job) for job in ring)
    await host.start_ring(start, len(ring))
    assert await host.wait() == Error.NONE
    wrong = np.flatnonzero(memory.data != expected)
    assert not len(wrong), f"{len(wrong)} bytes from {wrong[0]} on differ: {ring}"
    assert await host.read(0x9C) == len(ring)


@cocotb.test(skip=not SPEC.follows_ring)
@cocotb.parametrize(kind=("flowing", "bursts"))
async def test_ring_of_rows(dut: Any, kind: str) -> None:
    """Jobs that differ only in their addresses, some of which read what others write."""
    rng = generator(10)
    stalls = {channel: schedule(kind, generator(11, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=9, stalls=stalls)
    for operation in BUILT:
        table = {"k": 6, "c_bytes": int(SPEC.vector_out_bytes > 1)} if operation == "gather" else {}
        first = draw(rng, *sizes(rng), operation, a_format=0, **table)
        first = replace(first, ldc=max(first.ldc, first.lda))
        found = matrices(SPEC, first)
        step = max(matrix.rows * matrix.distance for matrix in found.values()) + 5
        far = 14 * step
        moved = [
            replace(first, a=2 * at * step, c=(2 * at + 1) * step, b=far + at * step)
            for at in range(6)
        ]
        if operation == "gather":
            for job in moved:
                fill(memory, rng, job)
        await run_ring(host, memory, moved)
        # Each reads what the one before wrote.
        await run_ring(
            host, memory, [replace(first, a=at * step, c=(at + 1) * step, b=far) for at in range(5)]
        )
        if operation in TWO:
            await run_ring(
                host,
                memory,
                [replace(first, b=at * step, c=(at + 1) * step, a=far) for at in range(5)],
            )


@cocotb.test(skip=not SPEC.follows_ring)
@cocotb.parametrize(kind=("flowing", "rare"))
async def test_ring_with_products(dut: Any, kind: str) -> None:
    """Products and vector jobs in turn, each of which reads what the one before wrote."""
    rng = generator(12)
    stalls = {channel: schedule(kind, generator(13, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=9, stalls=stalls)
    codes = SPEC.requantise and SPEC.inside.result is None
    how = {"requantisation": jobs.requantisation(rng)} if codes else {}
    bits = SPEC.code_bits if codes else 8 * SPEC.sum_bytes
    for _ in range(limited(4)):
        m, n = int(rng.integers(1, 7)), int(rng.integers(1, min(UNIT.length, 20) + 1))
        ring, place = list[Job](), 0
        for number, operation in enumerate([None, *UNIT.built, None]):
            job = (
                jobs.draw(SPEC, rng, m, n, n, **how)
                if operation is None
                else draw(rng, m, n, operation, a_format=0)
            )
            if number:
                # Its first codes, of however many bits, are those of this one.
                job = replace(job, a=ring[-1].c, lda=ring[-1].ldc)
                if operation in PAIRS:
                    job = replace(job, ldb=job.lda)
            b_strides = operation is None or operation in SECOND
            apart = 8 + max(m, n) * max(job.ldc, job.ldb if b_strides else 0)
            place += apart + int(rng.integers(8))
            job = replace(job, c=place, b=place + apart)
            place += apart
            ring.append(job)
        assert all(
            matrices(SPEC, one)["c"].row_bytes >= matrices(SPEC, two)["a"].row_bytes or bits < 8
            for one, two in pairwise(ring)
        )
        assert place + apart < SIZE - 4096
        await run_ring(host, memory, ring)


@cocotb.test(skip=not SPEC.counters)
async def test_counters(dut: Any) -> None:
    """Beats are counted; a vector job has no products, and stalls for none."""
    host, memory = await system.start(dut, size=SIZE, latency=9)
    rng = generator(14)
    for _ in range(3):
        job = draw(rng, *sizes(rng))
        fill(memory, rng, job)
        beats = memory.read_beats, memory.write_beats
        cycles = await run(host, memory, job)
        names = ("cycles", "compute", "stall_load", "stall_store", "read", "write", "macs")
        values = {name: await host.read(0xB0 + 8 * i) for i, name in enumerate(names)}
        assert values["read"] == memory.read_beats - beats[0] > 0
        assert values["write"] == memory.write_beats - beats[1] > 0
        assert values["macs"] == values["compute"] == values["stall_store"] == 0
        assert 0 < values["cycles"] <= cycles
