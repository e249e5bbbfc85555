"""Bench of products whose groups have scales: every byte of memory is the twin's."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb.streams import generator, limited
from golden.formats.names import minifloat
from golden.soc.coprocessor import Error, Job, matrices
from golden.soc.group_scales import groups_of
from verif.soc.benches import jobs
from verif.soc.benches.tb_coprocessor_scratch import SPEC, start

NUMBER = minifloat(SPEC.group_scales)
SPECIAL = np.array([0, 1, 1 << 15, 0x7C00, 0xFC00, 0x7E01, 0x3C00, 0x7BFF, 0x7F80, 0xFF80])
"""Zeros, the least number, infinities, NaN, 1 and the greatest number, of either format."""


def blocks_of(rng: np.random.Generator, rows: int) -> tuple[int, int, int]:
    """Draw a block that fits; some are one tile, some have several rows."""
    most = SPEC.default_blocks()
    while True:
        up = int(rng.integers(1, min(most[0], -(-rows // SPEC.inside.m)) + 1))
        across = 1 if rng.random() < 0.3 else int(rng.integers(1, most[1] + 1))
        deep = 1 << int(rng.integers(0, most[2].bit_length()))
        if SPEC.fits(up, across, deep):
            return up, across, deep


def grouped(rng: np.random.Generator, memory: np.ndarray, *, likely: float = 0.2) -> Job:
    """Draw a product with groups, and write its scales and powers; of any size."""
    m, n, k = int(rng.geometric(0.1)), int(rng.geometric(0.06)), int(rng.geometric(0.02))
    blocks = dict(zip(("block_m", "block_n", "block_k"), blocks_of(rng, m), strict=True))
    if rng.random() < 0.3:
        # One group alone: blocks share those of A, or of B.
        k = min(k, blocks["block_k"] * SPEC.inside.k)
    groups = -(-k // (blocks["block_k"] * SPEC.inside.k))
    columns = bool(rng.integers(2))
    job = jobs.draw(SPEC, rng, m, n, k, groups=groups, by_columns=columns, **blocks)
    places = matrices(SPEC, job)
    scales = NUMBER.encode(rng.normal(0, 2.0 ** rng.integers(-9, 9), (groups, n)))
    powers = rng.integers(-9, 9, (groups, m))
    if rng.random() < likely:
        scales = np.where(rng.random(scales.shape) < 0.1, rng.choice(SPECIAL, scales.shape), scales)
        extremes = rng.choice([-128, -127, -100, 100, 127], powers.shape)
        powers = np.where(rng.random(powers.shape) < 0.1, extremes, powers)
    places["b_scales"].store(memory, scales)
    places["a_scales"].store(memory, powers & 255)
    return job


def rows_of(job: Job) -> list[Job]:
    """Return a job of the vector unit, if there is one, on what a product reads."""
    if SPEC.vector is None:
        return []
    size, operation = SPEC.vector.length // 2, SPEC.vector_jobs[0]
    sizes: dict[str, Any] = {"m": 3, "n": size, "k": 0, "lda": size, "ldb": 0, "ldc": 2 * size}
    return [Job(a=job.b, b=0, c=jobs.SIZE - 6 * size, **sizes, vector=operation)]


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts", "long"))
async def test_any_products(dut: Any, kind: str) -> None:
    """With groups and without, one after the other and in rings."""
    both, rng = await start(dut, 61, kind, 20), generator(62)
    several = 0
    for number in range(limited(60)):
        job = grouped(rng, both.memory.data)
        several += groups_of(SPEC, job) > 1
        assert await both.run(job) is Error.NONE
        if number % 3 == 0:
            await both.run(jobs.any_job(SPEC, rng, 0.07))
        if number % 3 == 1 and SPEC.follows_ring:
            turned = replace(job, by_columns=not job.by_columns)
            await both.run(job, *rows_of(job), replace(job, ldsb=0), turned, *rows_of(job))
    assert several


@cocotb.test(skip=not SPEC.follows_ring)
async def test_alike(dut: Any) -> None:
    """Jobs that differ in addresses alone, each begun before the last one ends."""
    both, rng = await start(dut, 63, latency=30), generator(64)
    for _ in range(limited(12)):
        job = grouped(rng, both.memory.data, likely=1.0)
        await both.run(*jobs.alike(SPEC, job))


@cocotb.test
async def test_long_rows(dut: Any) -> None:
    """One row of A, many columns, many groups: as a matrix of a language model."""
    both, rng = await start(dut, 65), generator(66)
    deep = 1 << SPEC.default_blocks()[2].bit_length() - 1
    across = SPEC.default_blocks()[1]
    while not SPEC.fits(1, across, deep):
        across -= 1
    for _ in range(limited(4)):
        groups, n = 5, across * SPEC.inside.n * 2 - 1
        size = groups * deep * SPEC.inside.k - 1
        blocks = {"block_m": 1, "block_n": across, "block_k": deep}
        job = jobs.draw(SPEC, rng, 1, n, size, groups=groups, **blocks)
        places, memory = matrices(SPEC, job), both.memory.data
        places["b_scales"].store(memory, NUMBER.encode(rng.normal(0, 0.01, (groups, n))))
        places["a_scales"].store(memory, rng.integers(-9, 9, (groups, 1)) & 255)
        assert await both.run(job) is Error.NONE


@cocotb.test
async def test_small_blocks(dut: Any) -> None:
    """Blocks of few numbers, one a group, which pile up in the store while memory takes nothing."""
    both, rng = await start(dut, 69, "long", 1), generator(70)
    for m in (1, 2, SPEC.inside.m) * limited(2):
        n, size = 5 * SPEC.inside.n + 1, 7 * SPEC.inside.k
        blocks = {"block_m": 1, "block_n": 1, "block_k": 1}
        job = jobs.draw(SPEC, rng, m, n, size, groups=7, **blocks)
        places, memory = matrices(SPEC, job), both.memory.data
        places["b_scales"].store(memory, NUMBER.encode(rng.normal(0, 1, (7, n))))
        places["a_scales"].store(memory, rng.integers(-3, 3, (7, m)) & 255)
        assert await both.run(job) is Error.NONE


@cocotb.test
async def test_refused(dut: Any) -> None:
    """Blocks that are not given, or no group; sums that go elsewhere; matrices that wrap."""
    both, rng = await start(dut, 67), generator(68)
    while True:
        job = replace(grouped(rng, both.memory.data), by_columns=False)
        groups = groups_of(SPEC, job)
        if groups > 2 and job.m > 1:
            break
    high = 1 << SPEC.address_width
    bad: list[tuple[Error, dict[str, Any]]] = [
        (Error.MODE, {"block_k": 3}),
        (Error.MODE, {"block_m": 0, "block_n": 0, "block_k": 0}),
        (Error.MODE, {"block_m": 0}),
        (Error.BLOCKS, {"block_k": 1 << 12}),
        (Error.LEADING_DIMENSION, {"ldsa": job.m - 1}),
        (Error.LEADING_DIMENSION, {"ldsb": 2 * job.n - 1}),
        (Error.WRAPS, {"a_scales": high - (groups - 1) * job.ldsa - job.m + 1}),
        (Error.WRAPS, {"b_scales": high - (groups - 1) * job.ldsb - 2 * job.n + 1}),
    ]
    bad += [(Error.MODE, {"accumulate": True})] * SPEC.accumulates
    bad += [(Error.MODE, {"bias": 0})] * SPEC.bias
    if SPEC.requantise:
        bad.append((Error.MODE, {"requantisation": jobs.requantisation(rng)}))
    for error, fields in bad:
        assert await both.run(replace(job, **fields)) is error, fields
        assert await both.run(job) is Error.NONE
