"""The requantiser's Verilog against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from hw.npe.requantiser import Requantiser
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {"n": 2},
    {"n": 3, "width": 8, "multiplier_width": 5, "out_width": 4, "rounding": "double",
     "per_column": True, "bias": True, "pipeline": 4},
    {"n": 1, "width": 16, "multiplier_width": 16, "out_signed": False, "rounding": "even",
     "pipeline": 0, "encoding": "none"},
    {"n": 2, "rounding": "double", "encoding": "ent", "pipeline": 4, "per_column": True},
    {"n": 1, "width": 63, "out_width": 16, "rounding": "even", "bias": True, "pipeline": 3,
     "encoding": "operator", "adder": "operator"},
    # Products of pieces, the way from them, and a register within the shifter.
    {"n": 2, "pipeline": 6, "encoding": "operator", "adder": "operator", "per_column": True,
     "rounding": "double"},
    {"n": 1, "width": 20, "multiplier_width": 12, "pipeline": 6, "rounding": "even", "bias": True},
    {"n": 1, "width": 20, "multiplier_width": 12, "pipeline": 5, "rounding": "even"},
    {"n": 2, "pipeline": 5, "encoding": "operator", "adder": "operator", "per_column": True,
     "rounding": "double"},
    {"n": 1, "width": 24, "pipeline": 6, "rounding": "single"},
    {"n": 2, "width": 4, "multiplier_width": 2, "out_width": 2, "pipeline": 1, "bias": True},
]  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("parameters", brief(CASES, 4, 10), ids=case_name)
def test_requantiser_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("requantiser", parameters), directory=tmp_path)
    assert result.ok, result


def test_requantiser_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a RequantiserSpec, not 8"):
        Requantiser(8)  # type: ignore[arg-type]


def test_requantiser_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"pipeline must be 0\.\.6, not 7"):
        Design("requantiser", {"pipeline": 7})
    with pytest.raises(ValueError, match=r"out_width must be 2\.\.16 bits, not 17"):
        Design("requantiser", {"out_width": 17})
