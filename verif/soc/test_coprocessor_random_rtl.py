"""Codes rounded by random bits, in Verilator against golden."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name, long

# Columns that leave at a time have one block of bits, or several, or share one: 4, 8 or 2 numbers.
CASES: list[dict[str, Any]] = [
    SMALL
    | {"engine": "npe(m=2,n=4,formats=e4m3,e2m1,result=e4m3)"}
    | {"random_width": 8, "amax": True}
]
LONG: list[dict[str, Any]] = [
    CASES[0] | {"requantisers": 2},
    # Codes of half a byte; many columns; no copy of a job.
    SMALL
    | {
        "engine": "npe(m=2,n=16,formats=e2m1,result=e2m1)",
        "random_width": 4,
        "data_width": 128,
        "lean": True,
    },
    # Columns that leave are no power of two; registers of few bits; addresses of few.
    {
        "engine": "npe(m=3,n=6,formats=int8,e4m3,result=int8)",
        "random_width": 5,
        "data_width": 32,
        "address_width": 32,
        "requantisers": 3,
        "sums": 120,
        "a_bytes": 128,
        "b_bytes": 256,
        "narrow": True,
        "amax": True,
        "dimension_width": 12,
        "bias": False,
        "accumulate": False,
    },
    # No list of jobs, and blocks are the device's; a posit.
    SMALL
    | {
        "engine": "npe(m=2,n=3,formats=int8,posit4e1,result=posit8e1)",
        "random_width": 16,
        "ring": False,
        "blocks": False,
        "requantisers": 1,
    },
]


@pytest.mark.prove
@pytest.mark.parametrize("parameters", [*CASES, *long(LONG)], ids=case_name)
def test_coprocessor_random_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = brief(request, transactions=6)
    bench = "verif.soc.benches.tb_coprocessor_random"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **options)
