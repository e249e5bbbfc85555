"""Rings of jobs that are unlike each other: that each reads what those before wrote; cycles."""

import json
from dataclasses import replace
from itertools import pairwise
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
from golden.soc.ring_cycles import ring_cycles
from verif.soc.benches.jobs import any_job, fill_records
from verif.soc.uvm.modes import requantisation
from verif.soc.uvm.orders import moved

SPEC: CoprocessorSpec = bench_spec()
SIZE = 1 << 18


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_whatever_they_read_and_write(dut: Any, kind: str) -> None:
    """Any products, whose matrices are in part those of others: the order in memory is kept."""
    rng = generator(30)
    stalls = {channel: schedule(kind, generator(31, i)) for i, channel in enumerate(CHANNELS)}
    host, memory = await system.start(dut, size=SIZE, latency=int(rng.integers(12)), stalls=stalls)
    met = 0
    for _ in range(limited(6)):
        jobs = list[Job]()
        while len(jobs) < 8:
            job = any_job(SPEC, rng, 0.2)
            # Records that another job writes over may be none.
            if job.records is None:
                jobs.append(moved(job, int(rng.integers(2048))))
        read = [matrices(SPEC, job) for job in jobs]
        met += sum(
            two["a"].address < one["c"].end and one["c"].address < two["a"].end
            for one, two in pairwise(read)
        )
        await run(host, memory, jobs)
    assert met


@cocotb.test(skip="rings" not in bench_parameters())
async def test_cycles(dut: Any) -> None:
    """Rings take the cycles that golden says, but for 3 %; they are written to ``rings.json``."""
    parameters = bench_parameters()
    latency = parameters["latency_cycles"]
    host, memory = await system.start(dut, size=SIZE, latency=latency)
    found = []
    for ring in parameters["rings"]:
        jobs = list(placed(ring["sizes"], ring["chained"]))
        for job in jobs:
            fill_records(memory.data, job)
        found.append(await run(host, memory, jobs))
        expected = ring_cycles(SPEC, jobs, latency)
        Path("rings.json").write_text(json.dumps(found))
        assert abs(expected - found[-1]) <= 0.03 * found[-1], f"{ring}: {found[-1]}, not {expected}"


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


def placed(sizes: list[tuple[int, int, int]], chained: bool) -> list[Job]:
    """Place products of M, K, N one after the other; `chained` ones read A where the last wrote C.

    Every row begins with a beat; codes are of 8 bits, and each product has a requantiser of its
    own, one in two by records, some a bias.
    """
    align, free, jobs = SPEC.bytes, 0, list[Job]()

    def take(rows: int, length: int) -> tuple[int, int]:
        nonlocal free
        at, distance = free, -(-length // align) * align
        free += rows * distance
        return at, distance

    for number, (m, k, n) in enumerate(sizes):
        if chained and jobs:
            assert (jobs[-1].m, jobs[-1].n) == (m, k)
            a, lda = jobs[-1].c, jobs[-1].ldc
        else:
            a, lda = take(m, k)
        (b, ldb), (c, ldc) = take(k, n), take(m, n)
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
            requantisation=requantisation(generator(m, n, k, number)),
            block_m=blocks.m,
            block_n=blocks.n,
            block_k=blocks.k,
            by_columns=blocks.by_columns,
        )
        if number % 2:
            job = replace(job, records=take(1, n * SPEC.RECORD_BYTES)[0])
        if number % 3 == 2:
            job = replace(job, bias=take(1, n * SPEC.sum_bytes)[0])
        jobs.append(job)
    assert free < SIZE - 128 * len(jobs), "the ring does not fit into the memory"
    return jobs
