"""Bench of the co-processor: jobs in memory, every byte of which is compared with the twin's."""

from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from golden.npe.requantiser import Requantisation
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, matrices
from verif.soc.host import Host
from verif.soc.memory import CHANNELS, Memory
from verif.streams import PERIOD_NS, bench_spec, generator, schedule

SPEC: CoprocessorSpec = bench_spec()
SIZE = 1 << 16


async def start(dut: Any, **options: Any) -> tuple[Host, Memory]:
    """Reset the co-processor, with random bytes in memory."""
    data = generator(0).integers(0, 256, SIZE, dtype=np.uint8)
    host = Host(dut)
    memory = Memory(dut, data, outstanding=SPEC.outstanding, **options)
    Clock(dut.aclk, PERIOD_NS, unit="ns").start()
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 2)
    dut.aresetn.value = 1
    memory.start()
    await RisingEdge(dut.aclk)
    return host, memory


def draw(rng: np.random.Generator, m: int, n: int, k: int, **more: Any) -> Job:
    """Place a product somewhere in memory, rows at any byte and at any distance."""
    codes = more.get("requantisation") is not None
    bits = {
        "a": SPEC.a_bits,
        "b": SPEC.b_bits,
        "c": 8 * (SPEC.code_bytes if codes else SPEC.sum_bytes),
    }
    shapes = {"a": (m, k), "b": (k, n), "c": (m, n)}
    found: dict[str, Any] = {}
    free = int(rng.integers(0, 64))
    for name, (rows, columns) in shapes.items():
        length = -(-columns * bits[name] // 8)
        distance = length + int(rng.integers(0, 9))
        found |= {name: free, f"ld{name}": distance}
        free += (rows - 1) * distance + length + int(rng.integers(0, 40))
    if more.pop("bias", False):
        more["bias"] = free
        free += n * SPEC.sum_bytes
    assert free <= SIZE, "the matrices do not fit into the memory"
    return Job(m=m, n=n, k=k, **found, **more)


def requantisation(rng: np.random.Generator) -> Requantisation:
    """Draw what makes codes of sums, few of which are at a limit."""
    return Requantisation(
        multiplier=rng.integers(1 << 30, 1 << 31, 1),
        shift=np.array([int(rng.integers(36, 46))]),
        zero_point=rng.integers(-20, 20, 1),
        low=-100,
        high=110,
        relu=bool(rng.integers(2)),
    )


async def run(host: Host, memory: Memory, job: Job) -> int:
    """Run a job, and compare every byte of memory; returns its cycles."""
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
        dut._log.info("%d cycles", await run(host, memory, draw(rng, m, n, k)))


@cocotb.test
async def test_random(dut: Any) -> None:
    host, memory = await start(dut)
    rng = generator(2)
    for _ in range(20):
        m, n, k = (int(rng.geometric(0.05)) for _ in range(3))
        more: dict[str, Any] = {"bias": bool(rng.integers(2)), "by_columns": bool(rng.integers(2))}
        if rng.integers(2):
            more["requantisation"] = requantisation(rng)
        await run(host, memory, draw(rng, m, n, k, **more))


@cocotb.test
@cocotb.parametrize(kind=("sparse", "bursts", "rare", "long"))
async def test_stalls(dut: Any, kind: str) -> None:
    rng = generator(3)
    stalls = {
        channel: schedule(kind, generator(4, number)) for number, channel in enumerate(CHANNELS)
    }
    host, memory = await start(dut, latency=20, stalls=stalls)
    for _ in range(5):
        m, n, k = (int(rng.geometric(0.06)) for _ in range(3))
        await run(host, memory, draw(rng, m, n, k, bias=True, requantisation=requantisation(rng)))
