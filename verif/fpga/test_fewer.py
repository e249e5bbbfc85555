"""Designs with more multiplier blocks than a part has: what leaves the rest to logic."""

from typing import Any

import pytest

from carrysave.asic.synthesis import synthesise_design
from carrysave.fpga.fewer import fewer_blocks
from hw.catalog import Design
from verif.support.cases import long

ECP5, ICE40 = "LFE5U-25F-6CABGA756", "iCE40UP5K-SG48"


@pytest.mark.parametrize(
    ("name", "parameters", "taken", "part", "says"),
    [
        ("systolic_os", {"m": 8, "n": 8, "target": "ecp5"}, 64, ECP5, "=24 leaves 40 of its 64"),
        ("systolic_os", {"m": 8, "n": 3, "target": "ecp5"}, 24, ECP5, ""),
        ("systolic_os", {"m": 30, "n": 2, "target": "ecp5"}, 60, ECP5, "=0 leaves 60 of its 60"),
        ("systolic_os", {"m": 13, "n": 13, "target": "ecp5"}, 169, None, "=156 leaves 13 of its"),
        ("systolic_os", {"m": 3, "n": 8, "target": "ice40"}, 12, ICE40, "=6 leaves 6 of its 12"),
        ("coprocessor", {"engine": "systolic_os(target=ecp5)"}, 80, ECP5, "=8 leaves 56 of its 64"),
        ("coprocessor", {"engine": "systolic_os(m=1,n=1,target=ecp5)"}, 30, ECP5, ""),
        ("coprocessor", {"engine": "systolic_os(target=generic)"}, 30, ECP5, ""),
        ("systolic_os", {"m": 8, "n": 8, "target": "ultrascale"}, 64, None, ""),
    ],
)
def test_what_is_said_fits(
    name: str, parameters: dict[str, Any], taken: int, part: str | None, says: str
) -> None:
    """A co-processor's requantisers keep their blocks."""
    design = Design(name, parameters)
    target = (design.engine or design).parameters["target"]
    target = "ecp5" if target == "generic" else target
    found = fewer_blocks(design, target, {"dsps": taken, "luts": 0}, part)
    assert found == [line for line in found if f"-p dsps{says} " in f"{line} "]
    assert bool(found) == bool(says)


def test_places_of_gowin_are_halves_of_blocks() -> None:
    design = Design("systolic_os", {"m": 8, "n": 16, "target": "gowin"})
    taken = {"dsps": 128, "places": 64, "luts": 0}
    (line,) = fewer_blocks(design, "gowin", taken, None)
    assert line.startswith("-p dsps=96 leaves 32 of its 128 multipliers to logic")


@pytest.mark.prove
@pytest.mark.parametrize("dsps", [0, 4, *long([6])])
def test_synthesis_counts_no_more_than_that(dsps: int) -> None:
    parameters = {"m": 2, "n": 4, "k_max": 20, "target": "ecp5", "dsps": dsps}
    design = Design("systolic_os", parameters)
    found = synthesise_design(design, "ecp5", place=False, activity="none")
    assert found["dsps"] == dsps
    assert found["parameters"]["dsps"] == dsps
