"""The Verilog of the lane of 16-bit words against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from golden.npe.sl8 import Sl8Spec
from golden.npe.sl16 import Sl16Spec
from hw.catalog import Design
from hw.npe.lane.lane8 import Lane8
from hw.npe.lane.lane16 import Lane16
from hw.npe.sl16 import Sl16
from verif.support.cases import brief, case_name

ALL = ",".join(Sl16Spec.FORMATS)

CASES: list[dict[str, Any]] = [
    {"formats": ALL, "accumulator_width": 128},
    {
        "formats": "int4,e4m3,int16,posit16e1",
        "accumulator_width": 118,
        "passes": 1,
        "accumulation": "resolved",
        "adder": "ripple",
        "pipeline": 4,
    },
    {"formats": "int16", "accumulator_width": 36, "passes": 1, "pipeline": 1},
    {"formats": "posit16e1", "accumulator_width": 128, "pipeline": 3},
    {
        "formats": "e2m1,posit4e1,int16",
        "accumulator_width": 44,
        "accumulation": "resolved",
        "pipeline": 2,
    },
    {"formats": "int8,int4,e2m1", "accumulator_width": 20},
]


@pytest.mark.parametrize("parameters", brief(CASES, 4), ids=case_name)
def test_sl16_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("sl16", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.parametrize(
    ("formats", "passes", "operations"),
    [("int4,int16", 2, 8), ("int8", 2, 4), ("int16", 2, 1), ("int16", 1, 2)],
)
def test_sl16_operations_per_cycle(formats: str, passes: int, operations: int) -> None:
    assert Sl16(Sl16Spec(formats=formats, passes=passes)).operations_per_cycle == operations


def test_operands_of_16_bits_have_no_idle_bits() -> None:
    widths = {("int16", 1): (17, 17), ("int16", 2): (18, 18), ("int8,int4", 1): (21, 20)}
    for (formats, passes), expected in widths.items():
        lane = Lane16(Sl16Spec(formats=formats, passes=passes))
        assert (len(lane.i_a), len(lane.i_b)) == expected, (formats, passes)


def test_sl16_rejects() -> None:
    with pytest.raises(TypeError, match="spec must be an Sl16Spec, not 8"):
        Sl16(8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="spec must be an Sl16Spec, not Sl8Spec"):
        Sl16(Sl8Spec())
    with pytest.raises(ValueError, match="spec must be of words of 16 bits, not 8"):
        Lane16(Sl8Spec())
    with pytest.raises(ValueError, match="spec must be of words of 8 bits, not 16"):
        Lane8(Sl16Spec())
