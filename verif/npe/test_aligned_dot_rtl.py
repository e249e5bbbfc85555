"""The Verilog of aligned dot products against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import case_name

CASES: list[dict[str, Any]] = [
    {
        "a_format": "e2m3",
        "b_format": "e4m3",
        "group": 2,
        "fraction_width": 8,
        "sum_mantissa_bits": 7,
    },
]
MORE: list[dict[str, Any]] = [
    {"group": 4},
    {"a_format": "bf16", "b_format": "bf16", "group": 3, "fraction_width": 24, "pipeline": 0},
    {"group": 8, "fraction_width": 13, "sum_mantissa_bits": 13, "pipeline": 3},
    {"a_format": "fp16", "b_format": "e5m2", "group": 2, "fraction_width": 6, "adder": "ripple"},
    {"group": 1, "fraction_width": 48, "sum_mantissa_bits": 1, "pipeline": 1},
]


@pytest.mark.parametrize("parameters", CASES, ids=case_name)
def test_aligned_dot_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("aligned_dot", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.prove
@pytest.mark.parametrize("parameters", MORE, ids=case_name)
def test_aligned_dot_rtl_in_more_widths(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("aligned_dot", parameters), directory=tmp_path)
    assert result.ok, result
