"""Products whose groups of K are scaled take the cycles that golden says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.target.target import Target
from golden.soc.memory_timing import TO_ADDRESS, MemoryTiming
from golden.soc.ring_cycles import RingJob, ring_ends
from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from verif.soc.benches.group_rings import placed
from verif.soc.test_coprocessor_groups_rtl import LUT
from verif.soc.test_coprocessor_rtl import SMALL, run_bench
from verif.support.cases import case_name

CASES: list[dict[str, Any]] = [
    {"engine": "systolic_os(m=1,n=16,b_width=4)", "data_width": 64, "group_scales": "fp16"},
    SMALL | {"engine": LUT, "group_scales": "fp16", "sums": 512, "requantisers": 4},
    SMALL | {"engine": "systolic_os(m=4,n=4)", "group_scales": "bf16"},
]
RINGS = [
    *(
        [one]
        for one in (
            (1, 96, 64, 32),
            (1, 96, 256, 32),
            (1, 32, 64, 32),
            (1, 576, 192, 32),
            (1, 64, 192, 8),
            (4, 96, 48, 32),
            (9, 64, 40, 16),
            (1, 256, 16, 32),
        )
    ),
    [(1, 96, 64, 32)] * 3,
]
"""M, K, N, and codes of a group."""


@pytest.mark.prove
@pytest.mark.parametrize("latency", [5, 20])
@pytest.mark.parametrize("parameters", CASES, ids=case_name)
def test_rings_take_what_golden_says(
    parameters: dict[str, Any], latency: int, tmp_path: Path
) -> None:
    design = Design("coprocessor", parameters)
    spec, build = design.spec, Target(design).ring_build
    assert isinstance(spec, CoprocessorSpec)
    bench = "verif.soc.benches.tb_group_cycles"
    run_bench(design, bench, tmp_path, rings=RINGS, latency_cycles=latency)
    simulated = json.loads((tmp_path / "groups.json").read_text())
    memory = MemoryTiming(latency=latency + TO_ADDRESS)
    rings = ([RingJob(job) for job in placed(spec, ring)] for ring in RINGS)
    known = [ring_ends(spec, ring, memory, build)[-1] for ring in rings]
    np.testing.assert_allclose(known, simulated, rtol=0.02)
