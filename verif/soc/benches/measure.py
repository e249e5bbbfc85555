"""Cycles of jobs on the co-processor, as its planner cuts them, with a memory of some latency.

Or in the blocks that are given. Then of jobs of one size on one start: the mean of each.
"""

import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from carrysave.driver.registers import FIELDS
from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.host import descriptors
from carrysave.sim.cocotb.streams import deadline, generator
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.blocking import Blocks, plan
from golden.soc.coprocessor import CoprocessorSpec, Job, coprocessor
from verif.soc.uvm.modes import requantisation

SPEC: CoprocessorSpec = bench_spec()
SIZE = 1 << 22
_MACS = FIELDS["counters_macs_lo"][0]


@cocotb.test
async def measure(dut: Any) -> None:
    """Run the jobs of the parameters, each of M, K, N, and write what they took."""
    parameters = bench_parameters()
    host, memory = await system.start(dut, size=SIZE, latency=parameters["latency_cycles"])
    found = []
    for m, k, n in parameters["jobs"]:
        job = _place(m, n, k)
        expected = memory.data.copy()
        assert not coprocessor(SPEC, expected, job)
        beats = memory.read_beats, memory.write_beats
        cycles = await _ended(host.time(job), m * n * k)
        assert np.array_equal(memory.data, expected), f"{m} x {k} x {n}"
        if SPEC.counters:
            assert await host.read(_MACS) == m * k * n & 0xFFFFFFFF
        found.append({
            "m": m,
            "k": k,
            "n": n,
            "count": 1,
            "cycles": cycles,
            "blocks": [job.block_m, job.block_n, job.block_k],
            "read_beats": memory.read_beats - beats[0],
            "write_beats": memory.write_beats - beats[1],
        })
        Path("measured.json").write_text(json.dumps(found))
    for m, k, n, count in parameters.get("rings", ()):
        jobs = [_place(m, n, k, at=number << 12) for number in range(count)]
        image = np.frombuffer(descriptors(jobs, SPEC.sum_bytes), np.uint8)
        ring = SIZE - len(image)
        memory.data[ring:] = image
        expected = memory.data.copy()
        assert not any(coprocessor(SPEC, expected, job) for job in jobs)
        beats = memory.read_beats, memory.write_beats
        cycles = await _ended(host.time_ring(ring, count), count * m * n * k)
        assert np.array_equal(memory.data, expected), f"{count} of {m} x {k} x {n}"
        found.append({
            "m": m,
            "k": k,
            "n": n,
            "count": count,
            "cycles": round(cycles / count),
            "blocks": [jobs[0].block_m, jobs[0].block_n, jobs[0].block_k],
            "read_beats": (memory.read_beats - beats[0]) // count,
            "write_beats": (memory.write_beats - beats[1]) // count,
        })
        Path("measured.json").write_text(json.dumps(found))


async def _ended(job: Coroutine[Any, Any, int], products: int) -> int:
    """Return the cycles of what takes so many products; fail if it does not end."""
    inside = SPEC.inside
    most = 100_000 + 20 * products // (inside.m * inside.n * inside.k)
    task = cocotb.start_soon(job)
    await deadline(task, most, "a job")
    return task.result()


def _place(m: int, n: int, k: int, at: int = 0) -> Job:
    """Place a product in memory, every row at a whole beat; int8 in, int8 out."""
    align = SPEC.bytes

    def up(size: int) -> int:
        return -(-size // align) * align

    lda, ldb, ldc = up(k * SPEC.a_bits // 8), up(n * SPEC.b_bits // 8), up(n * SPEC.code_bits // 8)
    given = bench_parameters().get("blocks")
    blocks = Blocks(*given) if given else plan(SPEC.stores(), m, n, k, SPEC.code_bits)
    return Job(
        a=at,
        b=at + m * lda,
        c=at + m * lda + k * ldb,
        m=m,
        n=n,
        k=k,
        lda=lda,
        ldb=ldb,
        ldc=ldc,
        requantisation=requantisation(generator(m, n, k)),
        block_m=blocks.m,
        block_n=blocks.n,
        block_k=blocks.k,
        by_columns=blocks.by_columns,
    )
