"""The memory's latency in the model of cycles: a fact of the target, checked by simulation."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.run.alone import product_job
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.products import product_cycles
from carrysave.compiler.timing.timed_blocks import with_blocks
from carrysave.driver.batch import Work
from carrysave.sim.products import run_works
from golden.soc.blocking import LATENCY, cost, plan
from golden.soc.ring_cycles import read_cycles
from hw.catalog import Design

ENGINE: dict[str, Any] = {"engine": "systolic_os(m=4,n=4)", "data_width": 64, "outstanding": 4}
ON_BUS = Design("coprocessor", ENGINE)
FAR = Design("coprocessor_uart", ENGINE | {"memory_bytes": 32768, "divisor": 4})
NEAR = Design("coprocessor_uart", ENGINE | {"memory_bytes": 16384, "divisor": 4})
SIZES = [(8, 9, 8), (64, 9, 16), (32, 32, 32), (16, 144, 32)]
"""M, K, N."""
WITHIN = 0.05
"""Of what is simulated."""


@pytest.mark.parametrize(("design", "latency"), [(ON_BUS, LATENCY), (FAR, 8), (NEAR, 6)])
def test_latency_is_that_of_the_memory(design: Design, latency: int) -> None:
    target = Target(design)
    assert target.memory.latency == latency
    assert target.spec.stores().latency == latency
    assert target.mode.stores(target.info.stores).latency == latency


def test_short_rows_take_less_in_block_ram() -> None:
    """Where a row is a beat, the model's cycles are those of the latency."""
    near, far = (
        product_cycles(one, (64, 9, 8), scales=1) - one.start
        for one in (Target(FAR), Target(ON_BUS))
    )
    assert near < 0.5 * far
    stores = Target(FAR).spec.stores()
    beats = plan(stores, 128, 128, 128, 8)
    long = cost(stores, beats, 128, 128, 128, 8).cycles
    assert long > 0.99 * cost(replace(stores, latency=LATENCY), beats, 128, 128, 128, 8).cycles


@pytest.mark.prove
@pytest.mark.parametrize(("design", "latency"), [(ON_BUS, LATENCY), (FAR, 8), (NEAR, 6)])
def test_cycles_are_those_of_simulation(design: Design, latency: int, tmp_path: Path) -> None:
    """Of products in blocks that the driver chooses, from their start to their end."""
    rng = np.random.default_rng(1)
    works = [
        Work(a=rng.integers(-128, 128, (m, k)), b=rng.integers(-128, 128, (k, n)))
        for m, k, n in SIZES
    ]
    _, counters = run_works(design, works, directory=tmp_path)
    target = Target(design)
    known = replace(target.spec.stores(), latency=LATENCY)
    bits = 8 * target.spec.sum_bytes
    for work, (m, k, n), found in zip(works, SIZES, counters, strict=True):
        job = with_blocks(product_job(work, target), plan(known, m, n, k, bits), target)
        # It is started by registers, and not read.
        expected = cycles_of(job, target) - read_cycles(target.spec, target.memory)
        assert expected == pytest.approx(found["cycles"], rel=WITHIN), (m, k, n)
