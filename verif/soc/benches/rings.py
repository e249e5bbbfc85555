"""Rings of jobs that are unlike each other: that each reads what those before wrote; cycles."""

import json
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.axi_memory import CHANNELS, Memory
from carrysave.sim.cocotb.host import Host, descriptors
from carrysave.sim.cocotb.streams import SCHEDULES, generator, limited, schedule
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.blocking import plan
from golden.soc.coprocessor import CoprocessorSpec, Job, coprocessor, matrices
from golden.soc.depthwise import DEPTHWISE
from golden.soc.memory_timing import TO_ADDRESS, MemoryTiming
from golden.soc.ring_cycles import ring_cycles
from verif.soc.benches.depthwise import any_depthwise
from verif.soc.benches.jobs import any_job, fill_records
from verif.soc.benches.room import Room
from verif.soc.benches.tb_coprocessor_vector import draw, fill, sizes
from verif.soc.uvm.modes import requantisation
from verif.soc.uvm.orders import moved

SPEC: CoprocessorSpec = bench_spec()
SIZE = 1 << 18


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_whatever_they_read_and_write(dut: Any, kind: str) -> None:
    """Any products that read what those before write, or do not: the order in memory is kept."""
    rng = generator(30, list(SCHEDULES).index(kind))
    stalls = {channel: schedule(kind, generator(31, i)) for i, channel in enumerate(CHANNELS)}
    # Without a latency, jobs as small as these end before the next one is known.
    host, memory = await system.start(dut, size=SIZE, latency=int(rng.integers(60)), stalls=stalls)
    # Pairs of jobs of which one reads what the other writes, by what it is; what neither does.
    met = dict.fromkeys(("a", "b", "bias", "nothing"), 0)
    for _ in range(limited(6)):
        jobs = list[Job]()
        while len(jobs) < 12:
            job = any_job(SPEC, rng, 0.2)
            # Records that another job writes over may be none.
            if job.records is None:
                jobs.append(_reading(moved(job, len(jobs) << 14), jobs[-2:], rng))
        read = [matrices(SPEC, job) for job in jobs]
        for one, two in pairwise(read):
            meets = {
                name: name in two
                and two[name].address < one["c"].end
                and one["c"].address < two[name].end
                for name in ("a", "b", "bias")
            }
            meets["nothing"] = not any(meets.values())
            for name, meet in meets.items():
                met[name] += meet
        await run(host, memory, jobs)
    assert all(count for name, count in met.items() if name != "bias" or SPEC.bias), met


@cocotb.test(skip=SPEC.vector is None)
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_products_and_vector_jobs(dut: Any, kind: str) -> None:
    """They follow each other in any order, and read what those before write, or do not."""
    rng = generator(33, list(SCHEDULES).index(kind))
    stalls = {channel: schedule(kind, generator(34, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=int(rng.integers(60)), stalls=stalls)
    # What follows what, and whether it reads of it.
    met = dict.fromkeys(product(("product", "rows"), ("product", "rows"), (False, True)), 0)

    def every() -> bool:
        return all(count for (one, two, _), count in met.items() if one != two)

    for number in range(20):
        if number >= limited(8) and every():
            break
        jobs = list[Job]()
        while len(jobs) < 12:
            job = moved(_any(rng), len(jobs) << 14)
            jobs.append(_reading(job, jobs[-2:], rng))
        for job in jobs:
            if job.vector not in (None, DEPTHWISE):
                fill(memory, rng, job)
        # Operands of others may be where records are: these must be legal.
        for job in jobs:
            fill_records(memory.data, job)
        for one, two in pairwise(jobs):
            c = matrices(SPEC, one)["c"]
            others = [place for name, place in matrices(SPEC, two).items() if name != "c"]
            meets = any(place.address < c.end and c.address < place.end for place in others)
            before, after = ("product" if job.vector is None else "rows" for job in (one, two))
            met[before, after, meets] += 1
        await run(host, memory, jobs)
    assert every(), met


def _any(rng: np.random.Generator) -> Job:
    """Draw a small product, or a vector job whose operands may be any codes."""
    while True:
        names = [name for name in SPEC.vector_jobs if name not in ("gather", DEPTHWISE)]
        names += [DEPTHWISE] if SPEC.depthwise else []
        name = str(rng.choice(names))
        if rng.integers(2):
            job = any_job(SPEC, rng, 0.2)
        elif name == DEPTHWISE:
            job = any_depthwise(SPEC, rng)
        else:
            job = draw(rng, *sizes(rng), name)
        if max(place.end for place in matrices(SPEC, job).values()) <= 1 << 14:
            return job


@cocotb.test(skip="rings" not in bench_parameters())
async def test_cycles(dut: Any) -> None:
    """Rings take the cycles that golden says, but for 2 %; they are written to ``rings.json``."""
    parameters = bench_parameters()
    latency = parameters["latency_cycles"]
    host, memory = await system.start(dut, size=SIZE, latency=latency)
    found = []
    for ring in parameters["rings"]:
        jobs = list(placed(ring["sizes"], ring["reads"]))
        for job in jobs:
            fill_records(memory.data, job)
        found.append(await run(host, memory, jobs))
        expected = ring_cycles(SPEC, jobs, MemoryTiming(latency=latency + TO_ADDRESS))
        Path("rings.json").write_text(json.dumps(found))
        assert abs(expected - found[-1]) <= 0.02 * found[-1], f"{ring}: {found[-1]}, not {expected}"


async def run(host: Host, memory: Memory, jobs: list[Job]) -> int:
    """Run a ring, compare all of memory, and return the cycles."""
    image = np.frombuffer(descriptors(jobs, SPEC.sum_bytes), np.uint8)
    at = SIZE - len(image)
    memory.data[at:] = image
    expected = memory.data.copy()
    assert not any(coprocessor(SPEC, expected, job) for job in jobs)
    cycles = await host.time_ring(at, len(jobs))
    assert np.array_equal(memory.data, expected), f"{jobs}"
    return cycles


def _reading(job: Job, before: list[Job], rng: np.random.Generator) -> Job:
    """Have some of what a job reads begin where one before it writes, or a little later."""
    for name in ("a", "b", "bias"):
        if before and getattr(job, name) is not None and rng.integers(2) == 0:
            at = before[int(rng.integers(len(before)))].c + int(rng.integers(8))
            place: dict[str, Any] = {name: at}
            job = replace(job, **place)
    return job


def placed(sizes: list[tuple[int, int, int]], reads: str = "") -> list[Job]:
    """Place products of M, K, N one after the other.

    Every row begins with a beat; codes of A and C are of 8 bits, and each product has a requantiser
    of its own, one in two by records, some a bias. A, B or the biases, as `reads` says, are where
    the product before has written its C.
    """
    room, jobs, mode = Room(SPEC.bytes), list[Job](), SPEC.kinds[0]

    for number, (m, k, n) in enumerate(sizes):
        (a, lda), (c, ldc) = room.take(m, k), room.take(m, n)
        (b, ldb) = room.take(-(-k // mode.b_deep), -(-n * mode.b_bits // 8))
        table = room.take(1, SPEC.inside.expander.table_bytes)[0]
        blocks = plan(SPEC.stores(), m, n, k, SPEC.code_bits)
        job = Job(
            a=a,
            b=b,
            c=c,
            m=m,
            n=n,
            k=k,
            lda=lda,
            ldb=ldb,
            ldc=ldc,
            b_scales=table,
            requantisation=requantisation(generator(m, n, k, number)),
            block_m=blocks.m,
            block_n=blocks.n,
            block_k=blocks.k,
            by_columns=blocks.by_columns,
        )
        if number % 2:
            job = replace(job, records=room.take(1, n * SPEC.RECORD_BYTES)[0])
        if number % 3 == 2:
            job = replace(job, bias=room.take(1, n * SPEC.sum_bytes)[0])
        if reads and jobs:
            place: dict[str, Any] = {reads: jobs[-1].c}
            if reads != "bias":
                shape = {"a": (m, k), "b": (k, n)}[reads]
                assert shape == (jobs[-1].m, jobs[-1].n)
                place[f"ld{reads}"] = jobs[-1].ldc
            job = replace(job, **place)
        jobs.append(job)
    assert room.free < SIZE - 128 * len(jobs), "the ring does not fit into the memory"
    return jobs
