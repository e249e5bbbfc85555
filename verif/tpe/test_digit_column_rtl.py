"""The Verilog of digit-serial columns against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim import runner
from golden.pe.opt3 import ENCODINGS
from hw.catalog import Design
from hw.emit.verilog import Emission
from hw.tpe.digit_column import DigitColumn
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {},
    {"m": 1, "n": 1, "k_max": 20},
    {"m": 3, "n": 5, "k": 4, "pe": "opt4e"},
    {"m": 2, "n": 3, "k": 3, "encoding": "booth", "a_width": 5, "a_signed": False, "k_max": 50},
    {"m": 2, "n": 2, "pe": "opt3", "b_signed": False, "encoding": "ent", "k_max": 300},
    {"m": 5, "n": 2, "k": 2, "pe": "opt4e", "encoding": "ent_direct", "a_width": 3, "b_width": 5},
    {"m": 2, "n": 2, "k": 8, "constant_time": True, "pe": "opt4e", "a_width": 4, "k_max": 100},
    {"m": 4, "n": 3, "constant_time": True, "k_max": 64},
    {"n": 1, "k": 32, "a_width": 3, "k_max": 40},
    {"n": 2, "k": 6, "pe": "opt4e", "a_width": 16, "b_width": 16, "k_max": 1 << 24},
    {"n": 4, "a_width": 2, "b_width": 2, "a_signed": False, "b_signed": False, "k_max": 1},
    {"m": 2, "n": 2, "k": 4, "pe": "opt3", "a_width": 9, "b_width": 3, "k_max": 7},
    {"m": 2, "n": 2, "k": 3, "a_width": 5, "encoding": "booth", "a_recoded": True, "k_max": 50},
    {"n": 2, "k": 5, "pe": "opt4e", "a_width": 4, "a_signed": False, "a_recoded": True, "k_max": 9},
    # Large: registers say what a cycle does, and beats of B are taken two ahead.
    {"m": 9, "n": 16, "a_width": 4, "b_width": 16, "k_max": 1 << 24},
    {"m": 4, "n": 36, "k": 3, "pe": "opt4e", "a_width": 4, "b_width": 16, "k_max": 1 << 24},
    {"m": 1, "n": 144, "a_width": 2, "b_width": 16, "k_max": 1 << 24, "constant_time": True},
]


@pytest.mark.sample(1)
@pytest.mark.parametrize("parameters", brief(CASES, 5, 12), ids=case_name)
def test_digit_column_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = runner.verify(Design("digit_column", parameters), directory=tmp_path)
    assert result.ok, result


def hardware(**parameters: Any) -> str:
    """Return the Verilog of a small column without its header and its name."""
    design = Design("digit_column", {"n": 1, "k_max": 9, **parameters})
    return Emission(design).verilog.partition("\n\n")[2].replace(design.module, "column")


def test_recoded_column_has_no_recoder() -> None:
    """Its hardware is the same whatever the encoding; that of others is not."""
    assert len({hardware(a_recoded=True, encoding=encoding) for encoding in ENCODINGS}) == 1
    assert len({hardware(encoding=encoding) for encoding in ENCODINGS}) == len(ENCODINGS)


def test_digit_column_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a DigitColumnSpec, not 8"):
        DigitColumn(8)  # type: ignore[arg-type]


def test_digit_column_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match="pe must be one of opt3, opt4c, opt4e, not 'mac'"):
        Design("digit_column", {"pe": "mac"})
    with pytest.raises(ValueError, match=r"k must be 1\.\.32 codes, not 64"):
        Design("digit_column", {"k": 64})
    with pytest.raises(TypeError, match="a_recoded must be true or false, not 1"):
        Design("digit_column", {"a_recoded": 1})
