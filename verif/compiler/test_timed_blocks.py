"""Blocks by the times of rows: about as good as the best of all, and the same for one shape."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.ring_cost import cycles_of, in_rings
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.words import JOBS
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned
from carrysave.compiler.timing.rows_cost import stores_of
from carrysave.compiler.timing.timed_blocks import with_blocks
from carrysave.driver.job import Job
from carrysave.driver.window import Window
from golden.soc.blocking import Blocks, candidates
from golden.soc.memory_timing import BLOCK_RAM, MEMORIES
from hw.catalog import Design

DESIGN = Design.parse(
    "coprocessor", {"engine": "systolic_os(m=8,n=8)", "windows": "true", "data_width": "64"}
)
MAP = Window(
    height=16, width=16, across=16, channels=3, pixel=3, kernel=(3, 3), strides=(1, 1),
    dilations=(1, 1), first=(1, 1), fill=0,
)  # fmt: skip


def product(m: int, k: int, n: int) -> Job:
    return Job(a=0, b=1 << 20, c=1 << 21, m=m, k=k, n=n, lda=-(-k // 8) * 8, ldb=n, ldc=4 * n)


PRODUCTS = {
    "short rows": replace(product(256, 8, 8), bias=1 << 22),
    "wide": product(48, 32, 96),
    "deep": product(1, 200, 56),
    "even": product(64, 64, 64),
    "windows": replace(product(256, 27, 16), lda=48, window=MAP, bias=1 << 22),
    "wide on sdram": product(48, 32, 96),
    "windows on sdram": replace(product(256, 27, 16), lda=48, window=MAP, bias=1 << 22),
}
MEMORIES_OF = {"wide": BLOCK_RAM, **dict.fromkeys(list(PRODUCTS)[-2:], MEMORIES["sdram32"])}


@pytest.mark.parametrize("name", PRODUCTS)
def test_blocks_take_about_as_long_as_the_best(name: str) -> None:
    """Of many that the stores hold, each timed."""
    target = Target(DESIGN, timing=MEMORIES_OF.get(name))
    job = PRODUCTS[name]
    stores, words = stores_of(job, target)
    every = [Blocks.of(row) for row in candidates(stores, job.m, job.n, words)[::7]]
    if job.window is not None:
        every = [one for one in every if one.k * stores.tile_k >= job.window.channels]
    took = [cycles_of(with_blocks(job, one, target), target) for one in every]
    assert cycles_of(planned(job, target), target) <= 1.05 * min(took)
    assert max(took) > 1.1 * min(took)


def test_blocks_are_of_the_shape() -> None:
    """Wherever its matrices are; what biases wait for is seen."""
    target = Target(DESIGN)
    one = planned(PRODUCTS["short rows"], target)
    other = planned(replace(PRODUCTS["short rows"], a=1 << 24, c=1 << 23), target)
    assert replace(other, a=one.a, c=one.c) == one
    # With a tile a block, two biases are under way at once.
    small = replace(one, block_m=1, block_n=1, block_k=8)
    assert cycles_of(small, target) > 1.3 * cycles_of(one, target)
    assert np.prod([one.block_m, one.block_n]) > 1


def test_a_start_of_many_jobs_is_rings_of_a_few() -> None:
    """More jobs than are ready in memory are written eight at a time."""
    target = Target(DESIGN)
    group = JobGroup(job=planned(PRODUCTS["windows"], target), count=300, a=4096, c=4096)

    def took(count: int) -> int:
        groups = (replace(group, count=count),)
        one = Start(node="n", operator="Conv", groups=groups, cycles=0, macs=0, counters=0)
        (step,) = in_rings([one], target)
        assert isinstance(step, Start)
        return step.cycles

    assert took(300) == 300 // JOBS * took(JOBS) + took(300 % JOBS)
    assert took(JOBS) < JOBS * cycles_of(group.job, target)
