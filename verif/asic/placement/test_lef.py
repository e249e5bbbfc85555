"""Wires and rows from LEF."""

from pathlib import Path

import pytest

from carrysave.asic.liberty import cells
from carrysave.asic.placement.lef import Lef, read_lef
from carrysave.asic.placement.technology import technology
from hw.emit.user_files import FileError
from verif.support.command import Run
from verif.support.schemas import check

TECHNOLOGY = """
VERSION 5.7 ; # a comment ; LAYER no TYPE ROUTING ;
PROPERTYDEFINITIONS LAYER LEF58_TYPE STRING ; END PROPERTYDEFINITIONS
UNITS CAPACITANCE PICOFARADS 1 ; END UNITS
LAYER pins TYPE ROUTING ; WIDTH 0.17 ; RESISTANCE RPERSQ 12.8 ; END pins
LAYER cut TYPE CUT ; WIDTH 0.17 ; END cut
LAYER m1
  TYPE ROUTING ; DIRECTION HORIZONTAL ; PITCH 0.34 ;
  WIDTH 0.2 ;
  SPACINGTABLE PARALLELRUNLENGTH 0 WIDTH 0 0.14 WIDTH 3 0.28 ;
  CAPACITANCE CPERSQDIST 25E-6 ; EDGECAPACITANCE 40E-6 ;
  RESISTANCE RPERSQ 0.1 ;
END m1
LAYER m2 TYPE ROUTING ; WIDTH 0.4 ; CAPACITANCE CPERSQDIST 25E-6 ; RESISTANCE RPERSQ 0.2 ; END m2
LAYER m3 TYPE ROUTING ; WIDTH 0.4 ; RESISTANCE RPERSQ 0.8 ; END m3
LAYER m4 TYPE ROUTING ; WIDTH 4 ; RESISTANCE RPERSQ 80 ; END m4
VIA up DEFAULT LAYER cut ; RECT 0 0 1 1 ; LAYER m1 ; RECT 0 0 1 1 ; END up
SITE io CLASS PAD ; SIZE 1 BY 200 ; END io
SITE unit SYMMETRY Y ; CLASS CORE ; SIZE 0.46 BY 2.72 ; END unit
"""
CELLS = """
SITE unit CLASS CORE ; SIZE 0.46 BY 2.72 ; END unit
MACRO and2
  CLASS CORE ; SIZE 2.3 BY 2.72 ; SITE unit ;
  PIN A PORT LAYER m1 ; RECT 0 0 1 1 ; END END A
END and2
"""


def written(tmp_path: Path, *texts: str) -> list[Path]:
    paths = [tmp_path / f"{number}.lef" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_wires_are_the_mean_of_the_layers_between_cells(tmp_path: Path) -> None:
    """m1 to m3, of which m3 has no capacitance: (5 + 80) and 10 aF/um; 0.5, 0.5 and 2 ohm/um."""
    found = read_lef(written(tmp_path, TECHNOLOGY, CELLS))
    assert found.capacitance == pytest.approx((0.085 + 0.010) / 2)
    assert found.resistance == pytest.approx((0.5 + 0.5 + 2) / 3)
    assert found.row_height == 2.72
    assert read_lef(written(tmp_path, CELLS)) == Lef(None, None, 2.72, 0.46)


def test_sites_of_two_rows_stand_beside_those_of_one(tmp_path: Path) -> None:
    double = "SITE double CLASS CORE ; SIZE 0.92 BY 5.44 ; END double"
    assert read_lef(written(tmp_path, double + CELLS)) == Lef(None, None, 2.72, 0.46)


def test_what_is_given_comes_first(tmp_path: Path) -> None:
    lef = read_lef(written(tmp_path, CELLS))
    other = cells.Library(b"", "mine", "", 1e-9, 1e-12, {}, {})
    found = technology(other, 0.3, 0.2, lef=lef)
    assert (found.capacitance, found.resistance, found.row_height) == (0.3, 0.2, 2.72)
    assert found.site_width == 0.46
    assert found.source.startswith("LEF")
    assert technology(other, 0.3, 0.2, 5.0, lef).row_height == 5
    with pytest.raises(ValueError, match="or lef with all of them"):
        technology(other, lef=lef)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("VERSION 5.7 ;", "no routing layer and no site of core cells in it"),
        ("LAYER m1 TYPE ROUTING ; WIDTH wide ; END m1", "WIDTH of layer m1 must be a number"),
        ("LAYER m1 TYPE ROUTING ; WIDTH -1 ; END m1", r"must be 1e-12\.\.1e\+09, not -1"),
        ("LAYER m1 TYPE ROUTING ; WIDTH 1e-93 ; END m1", "WIDTH of layer m1 must be 1e-12"),
        ("LAYER m1 TYPE ROUTING ; WIDTH 1 ;", "LAYER m1 has no END"),
        ("SITE a CLASS CORE ; END a", "SIZE of site a must be a number"),
        (
            CELLS + "SITE b CLASS CORE ; SIZE 1 BY 3 ; END b",
            "must have one height or multiples, not 2.72, 3",
        ),
    ],
)
def test_what_is_no_lef(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(FileError, match=says):
        read_lef(written(tmp_path, text))


def test_synth_takes_it(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("coloquinte")
    (path,) = written(tmp_path, CELLS.replace("2.72", "5"))
    line = ("synth", "mac", "-p", "a_width=2", "-p", "b_width=2", "-p", "accumulator_width=6",
            "--target", "osu018", "--activity", "none", "--lef", str(path))  # fmt: skip
    placed = check("synthesis", run(*line, "--place", "--json").out)["placed"]
    assert placed["technology"]["row_height"] == 5
    assert "whole sites of 0.46 um" in placed["rows_and_sites"]
    assert placed["technology"]["source"].startswith("LEF (without capacitance between neighbours)")
    found = run(*line)
    assert (found.code, "--lef needs --place" in found.err) == (2, True)
    path.write_text("SITE")
    found = run(*line, "--place")
    assert (found.code, found.err.count("\n")) == (2, 1)
