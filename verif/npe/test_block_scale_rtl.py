"""The Verilog of the unit that scales sums of blocks against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import brief, case_name

NVFP4 = {"scale": "e4m3", "sum_width": 13, "fraction_width": 2}
CASES: list[dict[str, Any]] = [
    {},
    NVFP4 | {"depth": 256},
    {"scale": "e5m3", "sum_width": 21, "fraction_width": 0},
]
MORE: list[dict[str, Any]] = [
    {"sum_width": 21, "fraction_width": 12, "pipeline": 0, "adder": "ripple"},
    {"sum_width": 63, "fraction_width": 64, "pipeline": 3},
    NVFP4 | {"depth": 2, "pipeline": 0, "encoding": "booth"},
    {"scale": "e5m3", "sum_width": 63, "fraction_width": 64, "pipeline": 3, "encoding": "booth"},
]


@pytest.mark.parametrize("parameters", brief(CASES, 1), ids=case_name)
def test_block_scale_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("block_scale", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.prove
@pytest.mark.parametrize("parameters", MORE, ids=case_name)
def test_block_scale_rtl_in_more_widths(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("block_scale", parameters), directory=tmp_path)
    assert result.ok, result
