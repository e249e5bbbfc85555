"""The Verilog of shiftmax and shift_gelu against golden, results and cycles, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from hw.npe.shift_gelu import ShiftGelu
from hw.npe.shiftmax import Shiftmax
from verif.support.cases import case_name, long

CASES: list[tuple[str, dict[str, Any]]] = [
    ("shiftmax", {}),
    ("shiftmax", {"inverse_scale": 100, "length": 31, "quotient_bits": 3, "out_width": 12}),
    ("shiftmax", {"inverse_scale": 4095, "width": 5, "length": 40, "quotient_bits": 8,
                  "octaves": 19, "out_width": 16, "adder": "operator"}),
    ("shiftmax", {"width": 2, "length": 1, "inverse_scale": 1, "octaves": 1, "out_width": 2}),
    ("shift_gelu", {"quotient_bits": 4}),
    ("shift_gelu", {"quotient_bits": 4, "width": 4, "length": 9, "inverse_scale": 3}),
    ("shift_gelu", {"inverse_scale": 10, "length": 20, "octaves": 20, "quotient_bits": 8}),
    ("shift_gelu", {"inverse_scale": 3, "width": 4, "length": 9, "octaves": 29, "out_width": 16,
                    "adder": "ripple"}),
    ("shift_gelu", {"width": 2, "length": 1, "inverse_scale": 1, "octaves": 1, "out_width": 2}),
]  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("design", "parameters"),
    long(CASES, 0, 1, 2, 4, 5, 6, 7),
    ids=[f"{name}-{case_name(how)}" for name, how in CASES],
)
def test_shift_rtl_matches_golden(design: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design(design, parameters), directory=tmp_path)
    assert result.ok, result


def test_shift_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a ShiftmaxSpec, not 8"):
        Shiftmax(8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="spec must be a ShiftGeluSpec, not 8"):
        ShiftGelu(8)  # type: ignore[arg-type]


def test_shift_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"quotient_bits must be 1\.\.8 bits, not 9"):
        Design("shiftmax", {"quotient_bits": 9})
    with pytest.raises(ValueError, match="adder must be one of sklansky"):
        Design("shift_gelu", {"adder": "fast"})
