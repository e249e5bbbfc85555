"""The lane's Verilog against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from golden.npe.sl8 import Sl8Spec
from hw.catalog import Design
from hw.npe.lane.lane8 import Lane8
from hw.npe.sl8 import Sl8
from hw.pe.registered_element import RegisteredElement
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {},
    {"formats": "int8", "accumulator_width": 18, "accumulation": "resolved"},
    {"formats": "int4,e2m1", "accumulator_width": 12, "pipeline": 1},
    {
        "formats": "int8,int4,e2m1",
        "accumulator_width": 20,
        "accumulation": "resolved",
        "pipeline": 4,
    },
    {"formats": "int8,int4,e2m1,e4m3", "accumulation": "gated", "adder": "ripple"},
    {
        "formats": "int4,e2m1,posit4e1",
        "accumulator_width": 24,
        "accumulation": "gated",
        "pipeline": 2,
    },
    {"formats": "e2m1,posit4e1,e3m2", "accumulator_width": 128, "adder": "ripple", "pipeline": 3},
]


@pytest.mark.parametrize("parameters", brief(CASES, 2), ids=case_name)
def test_sl8_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("sl8", parameters), directory=tmp_path)
    assert result.ok, result


def test_operands_have_no_idle_bits() -> None:
    """What no configured format needs is in no operand: these are registers of an array."""
    widths = {
        "int8": (9, 9),
        "int4": (10, 10),
        "e2m1": (10, 10),
        "posit4e1": (14, 14),
        "e2m3": (7, 7),
        "e3m2": (7, 7),
        "e4m3": (9, 9),
        "posit8e0": (11, 11),
        "int8,int4": (11, 10),
        "int8,int4,e2m1": (11, 10),
        Sl8Spec().formats: (17, 16),
    }
    for formats, expected in widths.items():
        lane = Lane8(Sl8Spec(formats=formats))
        assert (len(lane.i_a), len(lane.i_b)) == expected, formats
        assert len(RegisteredElement(lane).o_a) == expected[0]
    for formats, more in {"int8": 0, "int8,e4m3": 1}.items():
        lane = Lane8(Sl8Spec(formats=formats), accumulation="gated")
        assert len(lane.i_a) == len(Lane8(Sl8Spec(formats=formats)).i_a) + more, formats


@pytest.mark.parametrize(("formats", "operations"), [("int8", 2), ("int4", 4), ("int8,e2m1", 4)])
def test_sl8_operations_per_cycle(formats: str, operations: int) -> None:
    assert Sl8(Sl8Spec(formats=formats)).operations_per_cycle == operations


@pytest.mark.parametrize("kind", [Sl8, Lane8])
def test_sl8_rejects(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"spec must be an? (Sl8|Lane)Spec, not 8"):
        kind(8)
    with pytest.raises(ValueError, match=r"pipeline must be 0\.\.4, not 5"):
        kind(Sl8Spec(), pipeline=5)
    with pytest.raises(TypeError, match=r"pipeline must be 0\.\.4, not True"):
        kind(Sl8Spec(), pipeline=True)
    with pytest.raises(ValueError, match="must be one of carry_save, resolved, gated, not 'x'"):
        kind(Sl8Spec(), accumulation="x")
    for formats, width in {"e4m3": 48, "int8": 16}.items():
        with pytest.raises(ValueError, match="accumulation must be carry_save or resolved for a "):
            kind(Sl8Spec(formats=formats, accumulator_width=width), accumulation="gated")
    with pytest.raises(ValueError, match="adder must be one of sklansky"):
        kind(Sl8Spec(), adder="x")
