"""Depthwise jobs of the co-processor in Verilator against golden."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name, long

CASES: list[dict[str, Any]] = [
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "windows": True,
        "address_width": 32,
        "b_bytes": 1024,
        "scratch": 8192,
        "taps": 3,
        "tap_rows": 3,
        "table": True,
        "requantisers": 4,
        "vector": "vector_unit(operations=scale,lanes=4,length=256)",
    },
]
LONG: list[dict[str, Any]] = [
    # More multipliers, fewer lanes than columns, words of several beats, other jobs on rows.
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "windows": True,
        "address_width": 32,
        "b_bytes": 1024,
        "scratch": 8192,
        "data_width": 128,
        "taps": 5,
        "tap_rows": 2,
        "requantisers": 2,
        "code_bytes": 2,
        "transpose": True,
        "gather": True,
        "vector": "vector_unit(operations=softmax,add,scale,lanes=2,length=64,quotient_bits=4)",
    },
    # A narrow bus, no queues, a job in registers, one requantisation for all columns.
    {
        "engine": "cube(m=2,n=8,k=3)",
        "data_width": 32,
        "sums": 64,
        "a_bytes": 512,
        "b_bytes": 1024,
        "windows": True,
        "lean": True,
        "narrow": True,
        "ring": False,
        "per_column": False,
        "address_width": 24,
        "burst": 8,
        "outstanding": 2,
        "scratch": 4096,
        "taps": 4,
        "requantisers": 8,
        "vector": "vector_unit(operations=scale,lanes=8,length=200)",
    },
    # One lane; no biases.
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "windows": True,
        "address_width": 20,
        "b_bytes": 1024,
        "scratch": 4096,
        "bias": False,
        "taps": 7,
        "tap_rows": 5,
        "requantisers": 1,
        "vector": "vector_unit(operations=scale,lanes=1,length=64)",
    },
]


@pytest.mark.parametrize("parameters", [*CASES, *long(LONG)], ids=case_name)
def test_coprocessor_depthwise_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run_bench(
        Design("coprocessor", parameters),
        "verif.soc.benches.tb_coprocessor_depthwise",
        tmp_path,
        **brief(request, transactions=3),
    )
