"""Bench of products that shift sums of blocks: every byte of memory is the twin's."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb.streams import generator, limited
from golden.soc.coprocessor import Error, Job, matrices
from golden.soc.shares import first_exponent
from verif.soc.benches import jobs
from verif.soc.benches.tb_coprocessor_scratch import SPEC, start

assert SPEC.vector is not None
UNIT, DEEP = SPEC.vector, SPEC.vector.block // SPEC.inside.k
OUTER = 100
"""Octaves beyond which there is no sum; some are beyond what a shift takes notice of, too."""


def shifted(rng: np.random.Generator, memory: np.ndarray) -> Job:
    """Draw a product with octaves of rows of A, and write these; of any size, with any blocks."""
    while True:
        m, n, k = int(rng.geometric(0.06)), int(rng.geometric(0.1)), int(rng.geometric(0.03))
        most = SPEC.default_blocks()
        up, across = (int(rng.integers(1, each + 1)) for each in most[:2])
        up, across = (1, 1) if rng.random() < 0.3 else (up, across)
        if SPEC.fits(up, across, DEEP):
            break
    more = jobs.any_options(SPEC, rng) | {"block_m": up, "block_n": across, "block_k": DEEP}
    job = jobs.draw(SPEC, rng, m, n, k, octaves=UNIT.blocks(k), **more)
    places = matrices(SPEC, job)["a_scales"]
    values = rng.integers(0, 24, (m, places.columns)) + rng.choice([0, 0, 0, 40, OUTER])
    values[rng.random(values.shape) < 0.1] = rng.choice([0, 62, 63, 64, 127, 128, 255])
    places.store(memory, values)
    return job


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts", "long"))
async def test_any_products(dut: Any, kind: str) -> None:
    """With octaves and without, one after the other and in rings."""
    both, rng = await start(dut, 51, kind, 20), generator(52)
    for number in range(limited(60)):
        job = shifted(rng, both.memory.data)
        assert await both.run(job) is Error.NONE
        if number % 3 == 0:
            await both.run(jobs.any_job(SPEC, rng, 0.07))
        if number % 3 == 1 and SPEC.follows_ring and not (job.accumulate or job.table):
            # They share what they read, and write one upon the other.
            await both.run(job, replace(job, ldsa=0), replace(job, by_columns=not job.by_columns))


@cocotb.test(skip=not SPEC.follows_ring)
async def test_alike(dut: Any) -> None:
    """Jobs that differ in addresses alone, each begun before the last one ends."""
    both, rng = await start(dut, 53, latency=30), generator(54)
    for _ in range(limited(12)):
        job = replace(shifted(rng, both.memory.data), accumulate=False, row_factors=None)
        await both.run(*jobs.alike(SPEC, job))


@cocotb.test
async def test_rows_of_exps(dut: Any) -> None:
    """Scores to shares and octaves, of any spread, then their sums times values."""
    both, rng = await start(dut, 55), generator(56)
    memory, size = both.memory.data, UNIT.width // 8 + (UNIT.width % 8 > 0)
    for _ in range(limited(20)):
        m, k = int(rng.integers(1, 9)), int(rng.integers(1, UNIT.length + 1))
        columns = first_exponent(UNIT, k) + UNIT.blocks(k)
        a, c = 8192, 16384
        spread = 2.0 ** rng.uniform(0, UNIT.width - 1, (m, 1))
        drift = np.cumsum(rng.normal(0, 1, (m, k)), axis=1) * rng.choice([0, 1])
        high = UNIT.in_format.high
        x = np.clip(rng.normal(0, spread, (m, k)) + drift * spread / 8, -high - 1, high)
        rows = Job(
            a=a,
            b=0,
            c=c,
            m=m,
            n=k,
            k=0,
            lda=k * size,
            ldb=0,
            ldc=columns,
            vector="exps",
            a_format=size - 1,
            c_bytes=int(SPEC.sizes),
        )
        matrices(SPEC, rows)["a"].store(memory, np.rint(x).astype(np.int64))
        assert await both.run(rows) is Error.NONE
        shares = matrices(SPEC, rows)["c"].load(memory)
        below = shares[:, first_exponent(UNIT, k) :]
        assert below.min() >= 0
        sums = (shares[:, :k] << 40 >> np.repeat(below, UNIT.block, axis=1)[:, :k]).sum(axis=1)
        assert (sums < 2 << UNIT.share_width + 40).all()
        assert (sums >= (1 << UNIT.share_width - 1) - 1 << 40).all()
        product = Job(
            a=c,
            b=0,
            c=32768,
            m=m,
            n=5,
            k=k,
            lda=columns,
            ldb=5,
            ldc=5 * SPEC.sum_bytes,
            a_scales=c + first_exponent(UNIT, k),
            ldsa=columns,
            block_m=1,
            block_n=1,
            block_k=DEEP,
        )
        assert await both.run(product) is Error.NONE


@cocotb.test
async def test_refused(dut: Any) -> None:
    """Blocks that are none of exps, or not given; octaves that are one upon the other, or wrap."""
    both, rng = await start(dut, 57), generator(58)
    while True:
        job = replace(shifted(rng, both.memory.data), by_columns=False)
        if job.k > UNIT.block and job.m > 1:
            break
    high = 1 << SPEC.address_width
    bad: list[tuple[Error, dict[str, Any]]] = [
        (Error.BLOCKS, {"block_k": DEEP + 1}),
        (Error.BLOCKS, {"block_k": DEEP // 2}),
        (Error.BLOCKS, {"block_m": 0, "block_n": 0, "block_k": 0}),
        (Error.BLOCKS, {"block_m": 0}),
        (Error.LEADING_DIMENSION, {"ldsa": UNIT.blocks(job.k) - 1}),
        (Error.WRAPS, {"a_scales": high - (job.m - 1) * job.ldsa - UNIT.blocks(job.k) + 1}),
    ]
    for error, fields in bad:
        assert await both.run(replace(job, **fields)) is error, fields
        assert await both.run(job) is Error.NONE
