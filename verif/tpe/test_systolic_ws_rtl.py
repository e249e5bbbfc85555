"""The Verilog of the weight-stationary array against golden, on Verilator."""

import re
from pathlib import Path
from typing import Any

import pytest

from carrysave.api.device import for_device
from carrysave.cli.options import Choice
from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {},
    {"m": 1, "n": 1, "k": 1, "k_max": 100},
    {"m": 1, "n": 1, "k": 1, "k_max": 20, "pe": "mac", "pipeline": 1},
    {"m": 2, "n": 1, "k": 1, "k_max": 30, "b_width": 3, "b_signed": False},
    {"m": 1, "n": 3, "k": 5, "k_max": 77, "a_width": 4},
    {"m": 5, "n": 2, "k": 3, "k_max": 7, "encoding": "booth", "pe": "mac"},
    {"m": 3, "n": 4, "k": 4, "k_max": 300, "a_width": 16, "b_width": 16},
    {"m": 4, "n": 3, "k": 7, "k_max": 40, "a_signed": False, "pipeline": 1},
    {"m": 9, "n": 2, "k": 2, "k_max": 1000, "a_width": 2, "b_width": 5, "a_signed": False,
     "b_signed": False},
    {"m": 3, "n": 3, "k": 3, "k_max": 3, "encoding": "none", "adder": "ripple"},
    {"m": 6, "n": 5, "k": 6, "k_max": 90, "encoding": "booth", "pe": "mac"},
    {"m": 2, "n": 9, "k": 2, "k_max": 50, "a_width": 3, "b_width": 6, "pipeline": 2},
    {"m": 3, "n": 5, "k": 2, "k_max": 90, "target": "xilinx7"},
    {"target": "xilinx7"},
    {"m": 1, "n": 1, "k": 1, "k_max": 20, "target": "xilinx7"},
    {"m": 6, "n": 2, "k": 3, "k_max": 50, "target": "ultrascale"},
    {"m": 2, "n": 7, "k": 3, "k_max": 60, "a_signed": False, "target": "xilinx7"},
    {"m": 2, "n": 2, "k": 5, "k_max": 60, "b_signed": False, "target": "ultrascale"},
    {"m": 4, "n": 3, "k": 3, "k_max": 3000, "a_width": 16, "b_width": 16, "target": "xilinx7"},
    {"m": 12, "n": 2, "k": 9, "k_max": 90, "packing": "none", "target": "xilinx7"},
    {"m": 3, "n": 5, "k": 2, "k_max": 90, "target": "ecp5"},
    {"m": 2, "n": 3, "k": 3, "k_max": 90, "a_signed": False, "target": "ice40"},
    {"m": 1, "n": 2, "k": 5, "k_max": 60, "b_signed": False, "target": "gowin"},
    {"m": 1, "n": 1, "k": 1, "k_max": 20, "target": "nexus"},
    {"m": 2, "n": 3, "k": 2, "k_max": 70000, "a_width": 16, "b_width": 16, "a_signed": False,
     "b_signed": False, "target": "ultrascale"},
    {"m": 3, "n": 4, "k": 2, "k_max": 90, "target": "ecp5", "dsps": 5},
    {"m": 2, "n": 3, "k": 3, "k_max": 90, "target": "xilinx7", "dsps": 6},
    {"m": 4, "n": 2, "k": 2, "k_max": 90, "b_width": 4, "target": "ice40", "dsps": 0},
    {"m": 3, "n": 2, "k": 3, "k_max": 900, "a_width": 4, "upper": "counter"},
    # Large: the clock enable is a register.
    {"m": 3, "n": 17, "k": 9, "k_max": 1 << 24, "a_width": 2, "b_width": 16},
]  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "parameters",
    brief(CASES, 9, 26),
    ids=case_name,
)
def test_systolic_ws_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("systolic_ws", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        (
            {"a_width": 16, "a_signed": False, "target": "ice40"},
            "a_width and b_width must fit a multiplier block of 16 x 16 signed bits, not 16 and 8",
        ),
        ({"target": "ecp5", "dsps": 3}, "dsps must be 0 or 8..65536, for 8 in a column, not 3"),
        ({"dsps": 3}, "dsps must be 65536 with target=generic, not 3"),
        ({"packing": "pair", "target": "xilinx7"}, "packing must be 'auto' or 'none' with"),
        ({"packing": "none"}, "packing must be 'auto' with target=generic"),
        ({"pe": "mac", "target": "xilinx7"}, "pe must be 'opt1' with target=xilinx7"),
    ],
)
def test_what_blocks_cannot_do_is_refused(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        Design("systolic_ws", parameters).component()


@pytest.mark.parametrize(
    ("more", "found", "said"),
    [
        ([], "ice40", ""),
        (["a_width=16", "a_signed=0"], "generic", "built of generic logic: a_width"),
    ],
)
def test_synthesis_for_a_device_takes_its_blocks_if_they_can(
    more: list[str], found: str, said: str
) -> None:
    told: list[str] = []
    chosen, _ = Choice(parameter=more).choose("systolic_ws")
    assert for_device("ice40", chosen, told.append).parameters["target"] == found
    assert said in "".join(told)
    assert bool(told) == bool(said)
