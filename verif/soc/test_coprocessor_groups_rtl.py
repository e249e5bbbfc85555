"""Products whose groups have scales in Verilator against golden."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name, long

CASES: list[dict[str, Any]] = [SMALL | {"engine": "systolic_os(m=4,n=4)", "group_scales": "fp16"}]
LUT = "lut_core(m=1,n=16,b_width=4,group=2,lookups=4,folded=False,parallel=True)"
UNIT = {"vector": "vector_unit(lanes=4,length=64)", "code_bytes": 2}
LONG: list[dict[str, Any]] = [
    SMALL | {"engine": LUT, "group_scales": "fp16", "sums": 512, "requantisers": 4} | UNIT,
    SMALL | {"engine": "ternary_core(m=1,n=16,k=4)", "group_scales": "bf16", "lean": True},
    # A beat of 32 bits, rows of several tiles, registers of few bits.
    {
        "engine": "cube(m=3,n=5,k=2)",
        "group_scales": "fp16",
        "data_width": 32,
        "sums": 120,
        "a_bytes": 128,
        "b_bytes": 256,
        "narrow": True,
        "requantise": False,
        "bias": False,
    },
    CASES[0] | {"array_clock": 2, "sum_copies": 2, "data_width": 128},
    CASES[0] | {"lean": True, "requantisers": 1, "code_bytes": 2, "table": True},
]


@pytest.mark.parametrize("parameters", [*CASES, *long(LONG)], ids=case_name)
def test_coprocessor_groups_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = brief(request, transactions=6)
    bench = "verif.soc.benches.tb_coprocessor_groups"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **options)
