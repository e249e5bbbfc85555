"""Products of shares in Verilator against golden."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name, long

UNIT = "vector_unit(operations=exps,divide,lanes=4,length={},signed=True,{}block=16)"
CASES: list[dict[str, Any]] = [
    SMALL
    | {
        "engine": "systolic_os(m=4,n=4)",
        "shares": True,
        "code_bytes": 2,
        "row_factors": True,
        "table": True,
        "vector": UNIT.format(200, "width=15,scale_width=8,"),
    }
]
LEAN: dict[str, Any] = {
    "lean": True,
    "sum_copies": 2,
    "code_bytes": 1,
    "row_factors": False,
    "vector": UNIT.format(100, ""),
}
LONG: list[dict[str, Any]] = [
    # Sums of 40 bits, shares of 8, two codes along K at once, registers of few bits.
    SMALL
    | {
        "engine": "cube(m=3,n=5,k=2,a_signed=false,k_max=16777216)",
        "shares": True,
        "narrow": True,
        "a_bytes": 1024,
        "data_width": 128,
        "b_bytes": 1024,
        "vector": UNIT.format(64, "").replace("signed=True,", ""),
    },
    CASES[0] | LEAN,
    CASES[0] | LEAN | {"table": True, "row_factors": True},
]


@pytest.mark.parametrize("parameters", [*CASES, *long(LONG)], ids=case_name)
def test_coprocessor_shares_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = brief(request, transactions=6)
    bench = "verif.soc.benches.tb_coprocessor_shares"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **options)
