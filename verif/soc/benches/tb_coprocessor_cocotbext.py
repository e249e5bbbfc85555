"""Bench of the co-processor with cocotbext-axi as memory and as host: equal to the twin's memory.

Its memory takes data before addresses, too, and serves reads and writes independently of each
other, so that they pass each other in any order; one ID's own transfers stay in order.
"""

from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb.streams import generator
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor
from verif.soc.benches.cocotbext_ends import OtherHost, OtherMemory, start_clock
from verif.soc.benches.jobs import SIZE, any_job, draw, fill_records

SPEC: CoprocessorSpec = bench_spec()
KINDS = ("flowing", "bursts", "rare", "long")


async def start(dut: Any, kind: str) -> tuple[OtherHost, OtherMemory]:
    """Reset the co-processor, with random bytes in memory."""
    data = generator(0).integers(0, 256, SIZE, dtype=np.uint8)
    host, memory = OtherHost(dut, kind), OtherMemory(dut, data, kind)
    await start_clock(dut)
    return host, memory


async def run(host: OtherHost, memory: OtherMemory, job: Job) -> None:
    """Run a job, and compare every byte of memory."""
    fill_records(memory.data, job)
    expected = memory.data.copy()
    error = coprocessor(SPEC, expected, job)
    await host.start(job)
    found = await host.wait()
    assert found == error, f"{Error(found)!r}, not {error!r}: {job}"
    wrong = np.flatnonzero(memory.data != expected)
    assert not len(wrong), f"{len(wrong)} bytes from {wrong[0]} on differ: {job}"
    assert not memory.busy


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def test_jobs(dut: Any, kind: str) -> None:
    host, memory = await start(dut, kind)
    rng = generator(31, *kind.encode())
    await run(host, memory, draw(SPEC, rng, 5, 7, 9))
    for _ in range(bench_parameters().get("jobs", 12)):
        await run(host, memory, any_job(SPEC, rng, 0.07))


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def test_registers(dut: Any, kind: str) -> None:
    """Writes and reads at the same time; part of a register; one that is not there."""
    host, _ = await start(dut, kind)
    job = draw(SPEC, generator(32), 5, 6, 7)
    words = np.frombuffer(bytes(range(1, 17)), "<u4")
    writes = cocotb.start_soon(host.master.write(0x10, words.tobytes()))
    identity = await host.master.read(0x100, 4)
    assert int.from_bytes(identity.data, "little") == 0x43535631
    assert (await writes).resp == 0
    before = (await host.master.read(0x10, 16)).data
    assert await host.write(0x14, 0xAABBCCDD, 0b0110) == 0
    after = (await host.master.read(0x10, 16)).data
    wanted = bytearray(before)
    wanted[5:7] = b"\xcc\xbb"
    assert bytes(after) == bytes(wanted) != bytes(before)
    top = (1 << len(dut.s_axi_araddr)) - 4
    assert (await host.access(top))[0] == 2
    assert await host.write(top, 1) == 2
    await host.start(job)
    assert await host.wait() == Error.NONE
