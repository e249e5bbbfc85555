"""The Verilog of the digit-serial elements against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import brief, case_name

SMALL = {"a_width": 5, "b_width": 4, "accumulator_width": 13}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("opt3", {}),
    ("opt4c", {}),
    ("opt4e", {}),
    ("opt4c", {"a_width": 2, "b_width": 2, "accumulator_width": 4}),
    ("opt4e", {"a_width": 2, "b_width": 2, "accumulator_width": 4, "k": 2}),
    ("opt4c", {"a_width": 5, "b_width": 3, "a_signed": False, "accumulator_width": 9}),
    ("opt4e", {"a_width": 4, "b_width": 7, "b_signed": False, "accumulator_width": 24, "k": 1}),
    ("opt3", {"a_width": 8, "b_width": 6, "a_signed": False, "b_signed": False, "k": 3}),
    ("opt4c", {"a_width": 16, "b_width": 16, "accumulator_width": 63}),
    ("opt4e", {"a_width": 16, "b_width": 2, "accumulator_width": 18, "k": 9}),
    ("opt3", SMALL | {"k": 4, "encoding": "booth"}),
    ("opt4c", SMALL | {"k": 8, "encoding": "ent", "constant_time": True}),
    ("opt4e", SMALL | {"k": 8, "encoding": "ent_direct", "constant_time": True}),
    ("opt3", SMALL | {"k": 2, "encoding": "ent", "a_recoded": True}),
    ("opt4e", {"a_width": 5, "a_signed": False, "b_width": 4, "k": 5, "a_recoded": True}),
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("design", "parameters"),
    brief(CASES, 3, 5, 13),
    ids=[f"{name}-{case_name(how)}" for name, how in CASES],
)
def test_digit_rtl_matches_golden(design: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design(design, parameters), directory=tmp_path)
    assert result.ok, result
