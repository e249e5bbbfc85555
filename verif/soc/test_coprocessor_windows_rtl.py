"""Windows of a map in the co-processor: in Verilator against golden."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_depthwise_rtl import CASES as DEPTHWISE
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name, long

LONG: list[dict[str, Any]] = [
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "windows": True,
        "table": True,
        "address_width": 32,
        "b_bytes": 1024,
        "scratch": 8192,
    },
    # Beats of K of several codes, no queues, a job in registers, a narrow bus.
    {
        "engine": "cube(m=2,n=3,k=3)",
        "data_width": 32,
        "sums": 60,
        "a_bytes": 512,
        "b_bytes": 1024,
        "windows": True,
        "lean": True,
        "narrow": True,
        "ring": False,
        "address_width": 24,
        "burst": 8,
        "outstanding": 2,
    },
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "windows": True,
        "table": True,
        "data_width": 128,
        "lean": True,
    },
    SMALL
    | {
        "engine": "systolic_ws(m=3,n=4,k=5)",
        "windows": True,
        "data_width": 64,
        "b_bytes": 2048,
        "code_bytes": 2,
        "scratch": 4096,
        "vector": "vector_unit(operations=softmax,add,scale,lanes=4,length=64,"
        "quotient_bits=4,width=16,out_width=16,signed=True)",
    },
    # Words of the store that are no whole beats.
    {
        "engine": "cube(m=2,n=2,k=6)",
        "windows": True,
        "data_width": 32,
        "sums": 64,
        "a_bytes": 1024,
        "b_bytes": 1024,
        "address_width": 20,
        "scratch": 4096,
    },
]


@pytest.mark.parametrize("parameters", [*DEPTHWISE, *long(LONG)], ids=case_name)
def test_coprocessor_windows_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run_bench(
        Design("coprocessor", parameters),
        "verif.soc.benches.tb_coprocessor_windows",
        tmp_path,
        **brief(request, transactions=2),
    )
