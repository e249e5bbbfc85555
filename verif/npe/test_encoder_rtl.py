"""The encoder's Verilog against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {"width": 16, "pipeline": 0},
    {
        "format": "e4m3",
        "width": 48,
        "fraction_width": 18,
        "exponent_width": 5,
        "saturate": False,
        "pipeline": 2,
        "adder": "ripple",
    },
    {"format": "posit16e1", "width": 128, "fraction_width": 56, "pipeline": 3},
    {"format": "fp32", "width": 48, "fraction_width": 18},
    {
        "format": "e2m1",
        "width": 12,
        "fraction_width": 8,
        "rounding": "stochastic",
        "random_width": 4,
    },
    {
        "format": "e5m2",
        "width": 32,
        "exponent_width": 5,
        "rounding": "stochastic",
        "random_width": 11,
        "saturate": False,
        "pipeline": 3,
    },
    {"format": "int8", "width": 16, "rounding": "stochastic", "random_width": 4, "pipeline": 0},
    {"format": "posit8e1", "rounding": "stochastic", "pipeline": 2},
]


@pytest.mark.parametrize("parameters", brief(CASES, 1), ids=case_name)
def test_encoder_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("encoder", parameters), directory=tmp_path)
    assert result.ok, result
