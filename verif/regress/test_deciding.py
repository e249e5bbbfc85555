"""What is legal, as a mutant is decided: an input that is illegal is none by which it is a fault.

Each mutant is a stand-in's, which gives a result where it is at fault.
"""

from pathlib import Path
from typing import Any

import pytest

from carrysave.regress.deciding.equivalence import decide
from carrysave.regress.mutants import Mutants
from hw.catalog import Design
from verif.support.cases import long
from verif.support.mutants import stand_in

REQUANTISER = {"n": 2, "width": 4, "multiplier_width": 2, "out_width": 3, "per_column": True}
CONFIG = "i_config_valid & "
LOW, HIGH = "$signed(i_config_low)", "$signed(i_config_high)"
ZEROS = {
    "scale": "int8",
    "sum_width": 4,
    "depth": 2,
    "zeros": "odd",
    "zero_width": 3,
    "activation_width": 4,
}
TINY = {"a_width": 2, "b_width": 2, "accumulator_width": 6}
ENGINE = {"m": 1, "n": 1, "k": 2, "a_width": 2, "b_width": 2, "k_max": 5}
ONE = ENGINE | {"k_max": 1}

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("requantiser", REQUANTISER, f"{CONFIG}({LOW} > {HIGH})", "unreachable"),
    *long([("requantiser", REQUANTISER, f"{CONFIG}({LOW} >= {HIGH})", "alive")]),
    # The second zero point is beyond the greatest code, which a ReLU does not allow.
    (
        "requantiser",
        REQUANTISER,
        f"{CONFIG}($signed(i_config_zero_point[5:3]) > {HIGH}) & i_config_relu",
        "unreachable",
    ),
    ("requantiser", REQUANTISER, f"{CONFIG}($signed(i_config_zero_point[5:3]) > {HIGH})", "alive"),
    ("group_scale", ZEROS, "i_valid & i_sum[0] & ~i_zero[0]", "unreachable"),
    *long([("group_scale", ZEROS, "i_valid & i_sum[0]", "alive")]),
    ("sl8", {"formats": "int4,e2m3,e3m2"}, "i_valid & (i_b_format == 3)", "unreachable"),
    *long([("sl8", {"formats": "int4,e2m3,e3m2"}, "i_valid & (i_b_format == 2)", "alive")]),
    # The last of three beats has one code of K: the other one of A is 0, that of B may be.
    ("cube", ENGINE, "beats > 2", "unreachable"),
    ("cube", ENGINE, "beats == 2 & i_a_valid & (i_a_data[3:2] != 0)", "unreachable"),
    ("cube", ENGINE, "beats == 1 & i_a_valid & (i_a_data[3:2] != 0)", "alive"),
    *long([("cube", ENGINE, "beats == 2 & i_b_valid & (i_b_data[3:2] != 0)", "undecided")]),
    *long([("cube", ONE, "i_a_valid & (i_a_data[3:2] != 0)", "unreachable")]),
    *long([("cube", ONE, "i_b_valid & (i_b_data[3:2] != 0)", "undecided")]),
    *long([("cube", ONE, "i_b_valid & (i_b_data[1:0] != 0)", "alive")]),
]


@pytest.mark.parametrize(("name", "parameters", "fault", "outcome"), CASES)
def test_illegal_inputs_make_no_fault(
    name: str, parameters: dict[str, Any], fault: str, outcome: str, tmp_path: Path
) -> None:
    design = Design(name, parameters)
    stand_in(design, fault, tmp_path)
    found = decide(design, tmp_path, 1, 5)
    assert found.outcome == outcome, found.why


@pytest.mark.parametrize(
    ("valid", "total", "carry", "outcome"),
    [
        # A sum and its carry may be others, if together they are the same modulo 2^6.
        ("1", "i_a + wrong", "i_b - wrong", "equivalent"),
        ("1", "i_a + wrong", "i_b", "alive"),
        # What is not valid is nothing.
        ("i_a[0]", "i_a - (i_a == 2 && wrong)", "i_b", "equivalent"),
        ("i_a[0]", "i_a - (i_a == 1 && wrong)", "i_b", "alive"),
    ],
)
def test_outputs_differ_as_the_contract_says(
    valid: str, total: str, carry: str, outcome: str, tmp_path: Path
) -> None:
    design = Design("opt1", TINY)
    stand_in(design, "1", tmp_path, outputs={"o_valid": valid, "o_sum": total, "o_carry": carry})
    found = decide(design, tmp_path, 1, 5)
    assert found.outcome == outcome, found.why


def test_blocks_of_a_device_are_their_models(tmp_path: Path) -> None:
    """Number 0 changes nothing; what the first mutant changes comes out of the block."""
    design = Design("mac", {"target": "ecp5", "a_width": 2, "b_width": 2, "accumulator_width": 6})
    mutants = Mutants.of(design, 1, 1)
    assert " MULT18X18D " in mutants.verilog
    (tmp_path / "mutants.v").write_text(mutants.verilog)
    found = [decide(design, tmp_path, number, 5).outcome for number in (0, 1)]
    assert found == ["equivalent", "alive"]
