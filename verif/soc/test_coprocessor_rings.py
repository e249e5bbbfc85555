"""Rings of jobs of all kinds in Verilog: the order in memory is kept, and cycles are few."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import CASES, SMALL, brief, run_bench
from verif.support.cases import case_name, long


@pytest.mark.parametrize(
    "parameters",
    [*CASES[:1], *long([SMALL | {"engine": "systolic_os(m=3,n=4)", "lean": True}])],
    ids=case_name,
)
def test_coprocessor_rtl_rings(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = "verif.soc.benches.rings"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **brief(request, transactions=2))
