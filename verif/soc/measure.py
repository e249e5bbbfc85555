"""Cycles of jobs on the co-processor, as its planner cuts them, with a memory of some latency."""

import json
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from golden.soc.blocking import plan
from golden.soc.coprocessor import CoprocessorSpec, Job, coprocessor
from verif.soc.environment.modes import requantisation
from verif.soc.host import Host
from verif.soc.memory import Memory
from verif.streams import PERIOD_NS, bench_parameters, bench_spec, generator

SPEC: CoprocessorSpec = bench_spec()
SIZE = 1 << 22


async def start(dut: Any, latency: int) -> tuple[Host, Memory]:
    """Reset the co-processor, with random bytes in memory."""
    data = generator(0).integers(0, 256, SIZE, dtype=np.uint8)
    host = Host(dut)
    memory = Memory(dut, data, outstanding=SPEC.outstanding, latency=latency)
    Clock(dut.aclk, PERIOD_NS, unit="ns").start()
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 2)
    dut.aresetn.value = 1
    memory.start()
    await RisingEdge(dut.aclk)
    return host, memory


@cocotb.test
async def measure(dut: Any) -> None:
    """Run the jobs of the parameters, each of M, K, N, and write what they took."""
    parameters = bench_parameters()
    host, memory = await start(dut, parameters["latency_cycles"])
    found = []
    for m, k, n in parameters["jobs"]:
        job = _place(m, n, k)
        expected = memory.data.copy()
        assert not coprocessor(SPEC, expected, job)
        beats = memory.read_beats, memory.write_beats
        cycles = await host.time(job)
        assert np.array_equal(memory.data, expected), f"{m} x {k} x {n}"
        found.append({
            "m": m, "k": k, "n": n, "cycles": cycles,
            "blocks": [job.block_m, job.block_n, job.block_k],
            "read_beats": memory.read_beats - beats[0],
            "write_beats": memory.write_beats - beats[1],
        })  # fmt: skip
        Path("measured.json").write_text(json.dumps(found))


def _place(m: int, n: int, k: int) -> Job:
    """Place a product in memory, every row at a whole beat; int8 in, int8 out."""
    align = SPEC.bytes

    def up(size: int) -> int:
        return -(-size // align) * align

    lda, ldb, ldc = up(k * SPEC.a_bits // 8), up(n * SPEC.b_bits // 8), up(n * SPEC.code_bits // 8)
    blocks = plan(SPEC.stores(), m, n, k, SPEC.code_bits)
    return Job(
        a=0, b=m * lda, c=m * lda + k * ldb, m=m, n=n, k=k, lda=lda, ldb=ldb, ldc=ldc,
        requantisation=requantisation(generator(m, n, k)),
        block_m=blocks.m, block_n=blocks.n, block_k=blocks.k, by_columns=blocks.by_columns,
    )  # fmt: skip
