"""The PEs' Verilog against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import case_name

SMALL = {"a_width": 5, "b_width": 4, "accumulator_width": 13}
CASES: list[dict[str, Any]] = [
    {},
    {"a_width": 2, "b_width": 2, "accumulator_width": 4},
    {"a_width": 5, "b_width": 3, "a_signed": False, "accumulator_width": 9},
    {"a_width": 4, "b_width": 7, "b_signed": False, "accumulator_width": 24},
    {"a_width": 8, "b_width": 6, "a_signed": False, "b_signed": False, "accumulator_width": 17},
    {"a_width": 16, "b_width": 2, "accumulator_width": 18},
    {"a_width": 16, "b_width": 16, "accumulator_width": 63},
    SMALL | {"encoding": "none"},
    SMALL | {"encoding": "operator", "pipeline": 1},
    SMALL | {"pipeline": 1, "b_signed": False},
]


@pytest.mark.parametrize("parameters", CASES, ids=case_name)
@pytest.mark.parametrize("design", ["mac", "opt1"])
def test_mac_rtl_matches_golden(design: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design(design, parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.parametrize("adder", ["ripple", "kogge_stone", "operator"])
def test_mac_rtl_adders(adder: str, tmp_path: Path) -> None:
    result = verify(Design("mac", SMALL | {"adder": adder}), directory=tmp_path)
    assert result.ok, result
