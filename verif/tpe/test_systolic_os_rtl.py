"""The systolic array's Verilog against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.simulate import verify
from hw.catalog import Design
from verif.cases import case_name

CASES: list[dict[str, Any]] = [
    {},
    {"m": 1, "n": 1, "depth": 100},
    {"m": 1, "n": 5, "depth": 7, "a_width": 4},
    {"m": 6, "n": 1, "depth": 64, "b_width": 3, "b_signed": False},
    {"m": 3, "n": 2, "depth": 1, "a_signed": False},
    {"m": 2, "n": 4, "depth": 300, "a_width": 16, "b_width": 16},
    {"m": 9, "n": 2, "depth": 40, "a_width": 2, "b_width": 5, "a_signed": False, "b_signed": False},
    {"m": 17, "n": 3, "depth": 1000, "a_width": 3, "b_width": 2},
    {"m": 3, "n": 3, "depth": 50, "pe": "mac"},
    {"m": 10, "n": 2, "depth": 50, "a_width": 3, "pe": "mac", "pipeline": 1},
    {"m": 4, "n": 3, "depth": 50, "pipeline": 1, "encoding": "none", "adder": "ripple"},
]


@pytest.mark.parametrize("parameters", CASES, ids=case_name)
def test_systolic_os_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("systolic_os", parameters), directory=tmp_path)
    assert result.ok, result
