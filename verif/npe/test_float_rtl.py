"""The floating-point units' Verilog against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {},
    {"a_format": "fp16", "b_format": "fp16", "pipeline": 3},
    {"a_format": "e3m2", "b_format": "e2m1", "sum_format": "e3m2ieee", "pipeline": 0},
]
MORE: list[dict[str, Any]] = [
    {"a_format": "e5m2", "b_format": "e5m2", "pipeline": 0, "adder": "ripple"},
    {"a_format": "e4m3", "b_format": "e5m2", "pipeline": 1, "encoding": "booth"},
    {"a_format": "tf32", "b_format": "e4m3fnuz", "sum_format": "bf16"},
]


@pytest.mark.parametrize("parameters", brief(CASES, 2), ids=case_name)
def test_float_mac_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("float_mac", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.prove
@pytest.mark.parametrize("parameters", MORE, ids=case_name)
def test_float_mac_rtl_in_more_formats(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("float_mac", parameters), directory=tmp_path)
    assert result.ok, result
