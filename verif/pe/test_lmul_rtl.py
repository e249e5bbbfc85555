"""The Verilog of L-Mul against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from golden.pe.lmul import LmulSpec
from hw.catalog import Design
from hw.pe.lmul import Lmul
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {},
    {"format": "e4m3", "mode": "exact"},
    {"format": "e5m2", "mode": "exact", "saturate": True},
    {"format": "fp16", "mode": "constant", "offset": -58, "adder": "ripple"},
    {"format": "e4m3", "mode": "exact", "exact": "multiply"},
    {"format": "e4m3", "saturate": True},
    {"format": "e5m2", "mode": "mitchell"},
    {"format": "e4m3fnuz", "mode": "exact"},
    {"format": "e5m2fnuz", "mode": "constant", "offset": 3, "saturate": True},
    {"format": "e3m4", "mode": "lmul"},
    {"format": "e2m1", "mode": "exact"},
    {"format": "e3m2", "mode": "mitchell", "adder": "operator"},
    {"format": "e2m3", "mode": "exact", "adder": "kogge_stone"},
    {"format": "bf16", "mode": "constant", "offset": 127, "saturate": True},
    {"format": "tf32", "mode": "lmul"},
    {"format": "e2m1ieee", "mode": "exact"},
    {"format": "e5m2", "mode": "exact", "exact": "multiply"},
    {"format": "e2m3", "mode": "exact", "exact": "multiply", "adder": "ripple"},
]


@pytest.mark.sample(1)
@pytest.mark.parametrize("parameters", brief(CASES, 0, 3), ids=case_name)
def test_lmul_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("lmul", parameters), directory=tmp_path)
    assert result.ok, result


def test_lmul_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be an LmulSpec, not 8"):
        Lmul(8)  # type: ignore[arg-type]


def test_lmul_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match="adder must be one of sklansky"):
        Lmul(LmulSpec(), adder="none")
    with pytest.raises(ValueError, match="exact must be carry in mode lmul, not 'multiply'"):
        Lmul(LmulSpec(), exact="multiply")
    with pytest.raises(ValueError, match="mode must be one of mitchell, lmul, constant for bf16"):
        Design("lmul", {"mode": "exact"})
