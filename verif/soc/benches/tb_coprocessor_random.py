"""Bench of codes that are rounded by random bits: every byte of memory is the twin's."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from carrysave.driver.registers import FIELDS
from carrysave.sim.cocotb.streams import generator, limited
from golden.soc.coprocessor import Error, Job, coprocessor, matrices
from golden.soc.product_numbers import amax
from verif.soc.benches import jobs
from verif.soc.benches.tb_coprocessor_scratch import SPEC, start

SEEDS = (0, 1, 0x7FFFFFFF, 0x55555555, 1 << 30)


def encoded(rng: np.random.Generator, likely: float = 0.08) -> Job:
    """Draw a product that makes codes, of any size, in blocks of any size, in either order."""
    m, n, k = (int(rng.geometric(likely)) for _ in range(3))
    more = jobs.any_options(SPEC, rng) | {"encode": True, "accumulate": False}
    more["row_factors"] = False
    seed = rng.choice(SEEDS) if rng.random() < 0.2 else rng.integers(1 << 31)
    if rng.random() < 0.8 and SPEC.blocks:
        mode = SPEC.inside.modes[more["a_format"], more["b_format"]]
        most = SPEC.default_blocks(mode)
        while True:
            up, across, depth = (int(rng.integers(1, each + 1)) for each in most)
            if SPEC.fits(up, across, depth, mode):
                break
        more |= {"block_m": up, "block_n": across, "block_k": depth}
    return jobs.draw(SPEC, rng, m, n, k, **more | {"seed": int(seed)})


def blocks_of(job: Job) -> int:
    """Return the blocks of C of a job that has some of its own."""
    down, right = job.block_m * SPEC.inside.m or job.m, job.block_n * SPEC.inside.n or job.n
    return -(-job.m // down) * -(-job.n // right)


def moved(memory: np.ndarray, job: Job) -> bool:
    """Return whether another seed gives other codes."""
    one, other = memory.copy(), memory.copy()
    coprocessor(SPEC, one, job)
    coprocessor(SPEC, other, replace(job, seed=job.seed ^ 1 << 17))
    return not np.array_equal(one, other)


async def run(both: Any, job: Job) -> None:
    """Run a product; compare memory, and the greatest of its numbers."""
    due = amax(SPEC, both.memory.data, job) if SPEC.amax else 0
    assert await both.run(job) is Error.NONE
    if SPEC.amax:
        low, high = [await both.host.read(FIELDS[f"amax_{half}"][0]) for half in ("lo", "hi")]
        assert low | high << 32 == due, job


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts", "rare", "long"))
async def test_any_products(dut: Any, kind: str) -> None:
    """Of codes and of sums, one after the other and in rings, each with a seed of its own."""
    both, rng = await start(dut, 71, kind, 20), generator(72)
    differ, several = 0, 0
    for number in range(limited(60)):
        job = encoded(rng)
        several += blocks_of(job) > 1
        differ += moved(both.memory.data, job)
        await run(both, job)
        if number % 3 == 0:
            await run(both, jobs.any_job(SPEC, rng, 0.07))
        if number % 3 == 1 and SPEC.follows_ring:
            sums = replace(job, encode=False, ldc=job.n * SPEC.sum_bytes, c=jobs.SIZE // 2)
            other = replace(job, seed=job.seed ^ 1, by_columns=SPEC.blocks and not job.by_columns)
            await both.run(job, sums, other, replace(job, seed=0))
    assert differ
    assert several or not SPEC.blocks


@cocotb.test(skip=not SPEC.follows_ring)
async def test_alike(dut: Any) -> None:
    """Jobs that differ in addresses alone, each begun before the last one ends."""
    both, rng = await start(dut, 73, latency=30), generator(74)
    for _ in range(limited(12)):
        job = encoded(rng)
        await both.run(*jobs.alike(SPEC, job))


@cocotb.test
async def test_place_alone(dut: Any) -> None:
    """Blocks, and their order, change no code; nor does what ran before."""
    both, rng = await start(dut, 75, "bursts", 5), generator(76)
    for _ in range(limited(6)):
        job = encoded(rng, 0.04)
        await run(both, job)
        size = SPEC.inside.m, SPEC.inside.n
        blocks: dict[str, Any] = {"block_m": 1, "block_n": 1, "block_k": 1} if SPEC.blocks else {}
        for turned in (False, SPEC.blocks):
            before = both.memory.data.copy()
            await both.run(replace(job, by_columns=turned, **blocks))
            if job.c >= max(one.end for name, one in matrices(SPEC, job).items() if name != "c"):
                assert np.array_equal(before, both.memory.data), size
