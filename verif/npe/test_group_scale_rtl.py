"""The Verilog of the unit that scales sums of groups against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from hw.npe.group_scale import GroupScale
from verif.support.cases import case_name, long

CASES: list[dict[str, Any]] = [
    {"scale": "bf16", "zeros": "odd", "aligned": True, "sum_width": 10, "activation_width": 8,
     "fraction_width": 11},
    {"scale": "int8", "zeros": "integer", "sum_width": 12, "activation_width": 9, "depth": 8},
    {},
    {"scale": "fp32", "sum_width": 48, "pipeline": 4, "encoding": "booth", "aligned": True,
     "fraction_width": 64},
    {"scale": "e8m0", "zeros": "integer", "pipeline": 0, "adder": "ripple", "encoding": "ent"},
    {"scale": "e8m0", "aligned": True, "sum_width": 4, "pipeline": 1},
    {"scale": "int8", "zeros": "odd", "aligned": True, "fraction_width": 6,
     "pipeline": 4, "encoding": "ent"},
    {"scale": "int8", "sum_width": 5, "depth": 1, "pipeline": 0, "encoding": "operator"},
    {"scale": "fp16", "zeros": "odd", "zero_width": 16, "activation_width": 32, "pipeline": 2,
     "encoding": "ent"},
]  # fmt: skip


@pytest.mark.parametrize("parameters", long(CASES, *range(1, len(CASES))), ids=case_name)
def test_group_scale_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("group_scale", parameters), directory=tmp_path)
    assert result.ok, result


def test_group_scale_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a GroupScaleSpec, not 8"):
        GroupScale(8)  # type: ignore[arg-type]


def test_group_scale_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"pipeline must be 0\.\.4, not 5"):
        Design("group_scale", {"pipeline": 5})
    with pytest.raises(ValueError, match="scale must be one of fp16, bf16, fp32, e8m0, int8"):
        Design("group_scale", {"scale": "e4m3"})
