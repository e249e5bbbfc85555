"""Bench of the co-processor between streams with cocotbext-axi at all its ends."""

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.streams import generator
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.coprocessor_stream import coprocessor_stream, rows
from golden.soc.job import Job
from verif.soc.benches.cocotbext_ends import OtherHost, OtherStreams, start_clock
from verif.soc.benches.jobs import SIZE, any_job, draw, fill_records

SPEC = bench_spec()
A_NAMES = ("a", "a_scales")


async def run(host: OtherHost, streams: OtherStreams, job: Job) -> None:
    """Run a job, and compare the one frame that leaves."""
    memory = generator(40, job.m, job.n, job.k).integers(0, 256, SIZE, "uint8")
    fill_records(memory, job)
    expected = memory.copy()
    assert not coprocessor_stream(SPEC, expected, job)
    octets, kept = b"", []
    for part in rows(SPEC, job):
        where = slice(part.address, part.address + part.bytes)
        if part.name != "c":
            streams.send("a" if part.name in A_NAMES else "b", memory[where].tobytes())
            continue
        octets += expected[where].tobytes()
        kept += [1] * part.bytes + [0] * (-part.bytes % SPEC.bytes)
    await host.start(job)
    assert await host.wait() == 0, job
    ((found, keep),) = streams.take()
    assert keep == kept, job
    assert bytes(byte for byte, is_kept in zip(found, keep, strict=True) if is_kept) == octets, job
    await ClockCycles(host.dut.aclk, 2)
    assert not streams.busy, "something was not read"


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts", "rare", "long"))
async def test_jobs(dut: Any, kind: str) -> None:
    host, streams = OtherHost(dut, kind), OtherStreams(dut, kind)
    await start_clock(dut)
    rng = generator(41, *kind.encode())
    await run(host, streams, draw(SPEC, rng, 5, 7, 9))
    for _ in range(bench_parameters().get("jobs", 12)):
        await run(host, streams, any_job(SPEC, rng, 0.07))
