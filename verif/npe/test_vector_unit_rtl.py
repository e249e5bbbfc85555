"""The Verilog of vector_unit against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from hw.npe.vector_unit import VectorUnit
from verif.support.cases import case_name, long

SUMMED = "softmax,layer_norm,rms_norm"
DIRECT = "gelu,silu,add,multiply"
CASES: list[dict[str, Any]] = [
    {},
    {"operations": "softmax", "lanes": 1, "length": 9, "width": 4, "scale_width": 0},
    {
        "operations": f"layer_norm,{DIRECT}", "lanes": 3, "length": 15, "width": 10,
        "out_width": 12, "scale_width": 8, "gate_digits": 2,
    },
    {"lanes": 3, "length": 100, "width": 10, "out_width": 12, "signed": True, "scale_width": 8},
    {"operations": "layer_norm,rms_norm", "lanes": 2, "length": 33, "width": 16, "out_width": 16},
    {"operations": "rms_norm", "lanes": 4, "length": 64, "norm_fraction": 0, "out_width": 7},
    {"operations": f"{SUMMED},{DIRECT}", "lanes": 2, "length": 40, "gate_digits": 5},
    {
        "operations": f"softmax,{DIRECT}", "lanes": 3, "length": 21, "width": 16,
        "out_width": 15, "signed": True, "scale_width": 8, "gate_digits": 8,
    },
    {"operations": "gelu", "lanes": 4, "length": 4, "width": 10, "out_width": 7},
    {"operations": "multiply", "lanes": 1, "length": 7, "width": 4, "out_width": 16},
    {"operations": "rms_norm,silu,add", "lanes": 2, "length": 9},
]  # fmt: skip


@pytest.mark.parametrize("parameters", long(CASES, 0, 3, 6, 7, 8, 9, 10), ids=case_name)
def test_vector_unit_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("vector_unit", parameters), directory=tmp_path)
    assert result.ok, result


def test_vector_unit_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a VectorUnitSpec, not 8"):
        VectorUnit(8)  # type: ignore[arg-type]


def test_vector_unit_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"lanes must be 1\.\.64 lanes, not 65"):
        Design("vector_unit", {"lanes": 65})
    with pytest.raises(ValueError, match="adder must be one of sklansky"):
        Design("vector_unit", {"adder": "fast"})
