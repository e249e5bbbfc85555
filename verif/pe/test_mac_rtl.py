"""The PEs' Verilog against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import brief, case_name

SMALL = {"a_width": 5, "b_width": 4, "accumulator_width": 13}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("mac", {}),
    ("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 4, "adder": "operator"}),
    (
        "mac",
        {"a_width": 5, "b_width": 3, "a_signed": False, "accumulator_width": 9, "adder": "ripple"},
    ),
    (
        "mac",
        {"a_width": 8, "b_width": 6, "a_signed": False, "b_signed": False, "accumulator_width": 17},
    ),
    ("mac", SMALL | {"encoding": "operator", "pipeline": 1, "adder": "kogge_stone"}),
    ("mac", SMALL | {"target": "ecp5"}),
    ("mac", SMALL | {"target": "xilinx7"}),
    ("mac", SMALL | {"k": 3, "target": "ecp5", "dsps": 0}),
    ("opt1", {"a_width": 2, "b_width": 2, "accumulator_width": 4}),
    ("opt1", {"a_width": 4, "b_width": 7, "b_signed": False, "accumulator_width": 24}),
    ("opt1", {"a_width": 16, "b_width": 16, "accumulator_width": 63}),
    ("opt1", SMALL | {"encoding": "none"}),
    ("opt1", SMALL | {"pipeline": 1, "b_signed": False}),
    ("opt1", SMALL | {"encoding": "ent", "upper": "counter"}),
    ("opt2", SMALL | {"k": 2, "encoding": "ent", "upper": "counter", "pipeline": 1}),
    # A sum of 16 ones is one more than the accumulator holds.
    ("opt2", {"a_width": 2, "b_width": 2, "accumulator_width": 5}),
    ("opt1", {}),
    ("mac", SMALL),
    ("mac", {"a_width": 4, "b_width": 7, "b_signed": False, "accumulator_width": 24}),
    ("mac", {"a_width": 16, "b_width": 2, "accumulator_width": 18}),
    ("mac", {"a_width": 16, "b_width": 16, "accumulator_width": 63}),
    ("mac", SMALL | {"encoding": "none"}),
    ("mac", SMALL | {"pipeline": 1, "b_signed": False}),
    ("opt1", {"a_width": 5, "b_width": 3, "a_signed": False, "accumulator_width": 9}),
    (
        "opt1",
        {"a_width": 8, "b_width": 6, "a_signed": False, "b_signed": False, "accumulator_width": 17},
    ),
    ("opt1", {"a_width": 16, "b_width": 2, "accumulator_width": 18}),
    ("opt1", SMALL | {"encoding": "operator", "pipeline": 1}),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("design", "parameters"),
    brief(CASES, 4, 5, 10, 13),
    ids=[f"{name}-{case_name(how)}" for name, how in CASES],
)
def test_mac_rtl_matches_golden(design: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design(design, parameters), directory=tmp_path)
    assert result.ok, result
