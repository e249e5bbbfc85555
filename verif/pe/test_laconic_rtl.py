"""Laconic's Verilog against golden, sums and cycles, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import brief, case_name

SMALL = {"k": 3, "a_width": 5, "b_width": 4, "accumulator_width": 13}
CASES: list[dict[str, Any]] = [
    {},
    {"k": 1},
    {"k": 2, "a_width": 2, "b_width": 2, "accumulator_width": 4},
    {"k": 5, "a_width": 5, "b_width": 3, "a_signed": False, "accumulator_width": 9},
    {"k": 4, "a_width": 4, "b_width": 7, "b_signed": False, "accumulator_width": 24},
    {"k": 2, "a_signed": False, "b_signed": False, "accumulator_width": 17},
    {"k": 2, "a_width": 16, "b_width": 16, "accumulator_width": 63},
    *(SMALL | {"pipeline": pipeline} for pipeline in (0, 1, 3)),
]


@pytest.mark.parametrize("parameters", brief(CASES, 2), ids=case_name)
def test_laconic_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("laconic", parameters), directory=tmp_path)
    assert result.ok, result
