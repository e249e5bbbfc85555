"""The Verilog of the LUT unit against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from golden.tpe.lut_unit import LutUnitSpec
from hw.catalog import Design
from hw.tpe.lut_unit import LutUnit
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {"m": 2, "n": 3, "lookups": 2, "k_max": 40, "registers": 3},
    {"m": 3, "n": 2, "group": 3, "lookups": 1, "k_max": 10, "registers": 5, "planes": 8},
    {"m": 1, "n": 1, "group": 2, "lookups": 1, "k_max": 1, "registers": 1, "planes": 1},
    {"m": 9, "n": 2, "group": 2, "lookups": 2, "k_max": 30, "activations": "int16"},
    {"m": 2, "n": 5, "group": 5, "lookups": 1, "activations": "int4", "adder": "ripple"},
    {"m": 2, "n": 2, "lookups": 2, "k_max": 1 << 16, "planes": 2, "registers": 1},
    {},
]


@pytest.mark.parametrize("parameters", brief(CASES, 2), ids=case_name)
def test_lut_unit_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("lut_unit", parameters), directory=tmp_path)
    assert result.ok, result


def test_lut_unit_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a LutUnitSpec, not 8"):
        LutUnit(8)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value", "legal"),
    [
        ("registers", 65, r"1\.\.64 registers"),
        ("planes", 9, r"1\.\.8 planes"),
        ("activations", "fp16", "one of int4, int8, int16"),
        ("k_max", 0, r"1\.\.65536 activations"),
    ],
)
def test_lut_unit_rejects_out_of_range(field: str, value: Any, legal: str) -> None:
    with pytest.raises(ValueError, match=f"{field} must be {legal}, not {value!r}"):
        LutUnitSpec(**{field: value})
