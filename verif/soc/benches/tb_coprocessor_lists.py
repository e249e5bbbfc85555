"""Bench of products by lists of places: every byte of memory is compared with the twin's."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.axi_memory import Memory
from carrysave.sim.cocotb.streams import SCHEDULES, limited
from carrysave.sim.parameters import bench_spec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, error_of, matrices
from golden.soc.lists import index, list_bytes, top_bytes
from verif.soc.benches.jobs import fill_records
from verif.soc.benches.listed import SLOT, WAYS, index_job, listed_job, spoiled, top_job
from verif.soc.benches.slots import Slots

SPEC: CoprocessorSpec = bench_spec()
JOBS = 6
LIKELY = 0.06
SLOTS = Slots(spec=SPEC, slot=SLOT, jobs=JOBS, likely=LIKELY, seed=50)


def _draw(rng: np.random.Generator, memory: Memory, slot: int) -> Job:
    """Draw a job: by a list, one that makes lists, or a product of all of K."""
    kind = int(rng.integers(4))
    if kind == 0 and SPEC.top_k and rng.random() < 0.5:
        return top_job(SPEC, rng, memory.data, slot)
    if kind == 0 and SPEC.vector is not None:
        return index_job(SPEC, rng, memory.data, slot)
    job = listed_job(SPEC, rng, memory.data, slot, LIKELY) if kind < 3 else SLOTS.job(rng, slot)
    fill_records(memory.data, job)
    return job


def _check_reads(memory: Memory, first: int, jobs: list[Job]) -> None:
    """Check that beats are read of matrices alone, and of descriptors, which are at the end."""
    places = [one for job in jobs for one in matrices(SPEC, job).values()]
    for kind, at, *_ in memory.bursts[first:]:
        inside = any(one.address - SPEC.bytes < at < one.end for one in places)
        assert kind != "ar" or inside or at >= JOBS * SLOT, (at, jobs)


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_any_jobs(dut: Any, kind: str) -> None:
    """Jobs with lists and without follow each other."""
    host, memory, rng = await SLOTS.start(dut, kind, 0)
    for _ in range(limited(8)):
        count = int(rng.integers(1, JOBS + 1)) if SPEC.follows_ring else 1
        await SLOTS.run(host, memory, [_draw(rng, memory, slot) for slot in range(count)])


@cocotb.test(skip=SPEC.vector is None or not SPEC.follows_ring)
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_lists_of_jobs_before(dut: Any, kind: str) -> None:
    """A row's list is made, and read by the next job: C is that of the row with zeros below."""
    host, memory, rng = await SLOTS.start(dut, kind, 1)
    for made in range(limited(12)):
        product = replace(listed_job(SPEC, rng, memory.data, 0, LIKELY), m=1, accumulate=False)
        if product.row_factors is not None or SPEC.kinds[0].a_bits != 8:
            return
        fill_records(memory.data, product)
        codes = matrices(SPEC, product)["a"].load(memory.data)
        signed = (codes ^ 128) - 128
        # None, all, or some.
        least = (int(np.abs(signed).max()) + 1, 0, int(rng.integers(129)))[made % 3]
        makes = Job(
            a=product.a,
            b=0,
            c=product.places or 0,
            m=1,
            n=product.k,
            k=0,
            lda=product.k,
            ldb=0,
            ldc=list_bytes(product.k),
            vector="index",
            least=least,
        )
        dense = memory.data.copy()
        kept = np.where(np.abs(signed) >= least, codes, 0)
        matrices(SPEC, product)["a"].store(dense, kept)
        assert not coprocessor(SPEC, dense, replace(product, places=None))
        bursts = len(memory.bursts)
        await SLOTS.run(host, memory, [makes, product])
        _check_reads(memory, bursts, [makes, product])
        c = matrices(SPEC, product)["c"]
        assert np.array_equal(c.load(memory.data), c.load(dense)), (makes, product)
        words = matrices(SPEC, makes)["c"].load(memory.data)
        assert np.array_equal(words, index(signed, least))


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts"))
async def test_lists_that_are_none(dut: Any, kind: str) -> None:
    """They are told, nothing of the job is written; jobs before are done, the next is right."""
    host, memory, rng = await SLOTS.start(dut, kind, 2)
    for number in range(limited(24)):
        count = int(rng.integers(1, 4)) if SPEC.follows_ring else 1
        jobs = [_draw(rng, memory, slot) for slot in range(count - 1)]
        # Of lists of one place only the count is made wrong: they have no order.
        how = WAYS[number % len(WAYS)] if SPEC.lists > 1 else "count"
        last = spoiled(SPEC, rng, memory.data, count - 1, how)
        fill_records(memory.data, last)
        expected = memory.data[: JOBS * SLOT].copy()
        codes = [coprocessor(SPEC, expected, job) for job in [*jobs, last]]
        assert codes == [Error.NONE] * len(jobs) + [Error.INDEX]
        await SLOTS.begin(host, memory, [*jobs, last])
        assert await host.wait() == Error.INDEX
        if SPEC.follows_ring:
            assert await host.read(0x9C) == count - 1
            await host.write(0x98, 0)
        assert np.array_equal(memory.data[: JOBS * SLOT], expected)
        await SLOTS.run(host, memory, [_draw(rng, memory, 0)])


@cocotb.test
async def test_refused(dut: Any) -> None:
    """Jobs with lists that the build cannot have, by the codes of golden."""
    host, memory, rng = await SLOTS.start(dut, "flowing", 3)
    product = listed_job(SPEC, rng, memory.data, 0, LIKELY)
    product = replace(product, requantisation=None, records=None, table=False, c_bytes=0)
    product = replace(product, ldc=SPEC.sum_bytes * product.n)
    high, k = 1 << SPEC.address_width, SPEC.lists + 1
    wrong = [
        (Error.K_TOO_LARGE, replace(product, k=k, lda=1 << 15)),
        (Error.WRAPS, replace(product, places=high - list_bytes(product.k) + 1)),
        (Error.DIMENSION, replace(product, k=0)),
    ]
    if SPEC.vector is not None:
        makes = index_job(SPEC, rng, memory.data, 1)
        far = high - list_bytes(makes.n) + 1
        wrong += [
            (Error.LONG_ROW, replace(makes, n=k, lda=1 << 15, ldc=1 << 15)),
            (Error.LEADING_DIMENSION, replace(makes, ldc=list_bytes(makes.n) - 1)),
            (Error.WRAPS, replace(makes, c=far, m=1)),
            (Error.DIMENSION, replace(makes, n=0)),
        ]
        wrong += [(Error.MODE, replace(makes, c_bytes=1))] * SPEC.sizes
    if SPEC.top_k:
        wrong += _wrong_tops(top_job(SPEC, rng, memory.data, 1), high)
    before = memory.data.copy()
    for error, job in wrong:
        assert error_of(SPEC, job) == error, (error, job)
        await host.start(job)
        assert await host.wait() == error, (job, error)
    assert np.array_equal(memory.data, before)


def _wrong_tops(job: Job, high: int) -> list[tuple[Error, Job]]:
    """List searches of greatest codes that cannot be."""
    size, most = top_bytes(job.k, job.a_format + 1), SPEC.top_k + 1
    far: dict[str, Any] = {"lda": 1 << 15, "ldc": 1 << 15}
    wrong = [
        (Error.DIMENSION, replace(job, k=0)),
        (Error.DIMENSION, replace(job, k=1 << SPEC.dimension_width)),
        (Error.K_TOO_LARGE, replace(job, n=most + 1, k=most, **far)),
        (Error.LONG_ROW, replace(job, n=SPEC.lists + 1, k=1, **far)),
        (Error.LEADING_DIMENSION, replace(job, ldc=size - 1)),
        (Error.WRAPS, replace(job, c=high - size + 1, m=1)),
        *[(Error.MODE, replace(job, c_bytes=1))] * SPEC.sizes,
    ]
    if SPEC.top_k > 1:
        wrong.append((Error.K_TOO_LARGE, replace(job, n=1, k=2, **far)))
    return wrong


@cocotb.test
async def test_soft_resets(dut: Any) -> None:
    """In the midst of jobs; the next one is right."""
    host, memory, rng = await SLOTS.start(dut, "bursts", 4)
    for _ in range(limited(12)):
        count = JOBS if SPEC.follows_ring else 1
        await SLOTS.begin(host, memory, [_draw(rng, memory, slot) for slot in range(count)])
        await ClockCycles(dut.aclk, int(rng.integers(1, 900)))
        await host.write(0, 1 << 31)
        while await host.read(0) & 1 << 31:
            pass
        await SLOTS.run(host, memory, [_draw(rng, memory, 0)])
