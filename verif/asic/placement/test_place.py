"""Placed netlists: legal, the same function, through the design's bench, better for the repair."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave import cache
from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.options import Verilog
from carrysave.asic.placement.floorplan import sites_of
from carrysave.asic.placement.technology import Technology, technology
from carrysave.sim import runner
from hw.catalog import Design
from verif.asic.placement.equivalence import Difference, prove
from verif.support.cases import long

LIBRARY = cells.osu018()
SMALL = {"a_width": 4, "b_width": 4}
DESIGNS = [
    ("opt1", SMALL | {"accumulator_width": 12}),
    *long([
        ("systolic_os", SMALL | {"m": 2, "n": 2, "k_max": 20, "pe": "opt1"}),
        ("adder_tree", SMALL | {"n": 2, "k": 4, "k_max": 20}),
        ("mac", SMALL),
    ]),
]


def placed(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a design's result, placed."""
    pytest.importorskip("coloquinte")
    return synthesis.synthesise_design(Design(name, parameters), LIBRARY, place=True)


@pytest.mark.prove
@pytest.mark.parametrize(("name", "parameters"), DESIGNS)
def test_placed_netlist_is_the_mapped_one(
    name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    """By proof, by the bench; and one cell that is another is found."""
    result = placed(name, parameters)
    mapped, own = Path(result["netlist"]), Path(result["placed"]["netlist"])
    prove(mapped, own, result["module"], LIBRARY)
    models = cache.write(tmp_path / "cells.v", cells.cell_models(LIBRARY))
    design = Design(name, parameters)
    found = runner.verify(design, netlist=[own, models], directory=tmp_path)
    assert found.ok, found
    text = own.read_text()
    for pattern, other in ((r"\bNAND2X1\b", "NOR2X1"), (r"\bDFFPOSX1\b", "DFFNEGX1")):
        broken = tmp_path / "broken.v"
        broken.write_text(re.sub(pattern, other, text, count=1))
        with pytest.raises(Difference, match=r"must have the same|another netlist"):
            prove(mapped, broken, result["module"], LIBRARY)


@pytest.mark.parametrize(("name", "parameters"), DESIGNS)
def test_cells_lie_in_rows_beside_each_other(name: str, parameters: dict[str, Any]) -> None:
    found = placed(name, parameters)["placed"]
    places = json.loads(Path(found["places"]).read_text())["cells"]
    height = found["technology"]["row_height"]
    wide, high = found["die_um"]
    site = found["technology"]["site_width"]
    rows: dict[int, list[tuple[float, float]]] = {}
    for kind, _, x, y, slack in places.values():
        width = sites_of(found["cell_areas"][kind] / height, site) * site
        left = (x - width / 2) / site
        assert left == pytest.approx(round(left), abs=0.01)
        row = (y - height / 2) / height
        assert row == pytest.approx(round(row), abs=0.01)
        assert slack > -1e-3
        rows.setdefault(round(row), []).append((x - width / 2, x + width / 2))
    assert set(rows) <= set(range(round(high / height)))
    assert found["tap_cells"] == 0  # cells of this library tie their wells
    for row in rows.values():
        edges = np.array(sorted(row))
        assert edges.min() > -0.01
        assert edges.max() < wide + 0.01
        assert (edges[1:, 0] >= edges[:-1, 1] - 0.01).all()
    area = sum(found["cell_areas"][kind] for kind, *_ in places.values())
    assert found["area_um2"] == pytest.approx(area)
    buffers = [name for name in places if name.startswith("clock_buffer_")]
    assert len(buffers) == found["clock_buffers"] > 0
    assert found["clock"]["hold_violations"] == 0
    assert 0 < found["clock"]["skew_ns"] < 0.15
    assert found["utilisation"] == pytest.approx(found["area_um2"] / (wide * high))


@pytest.mark.prove
def test_wires_count_in_time_and_energy() -> None:
    pytest.importorskip("coloquinte")
    design = Design("opt1", SMALL | {"accumulator_width": 12})
    found = []
    for capacitance in (0.001, 0.2, 0.4):
        result = synthesis.synthesise_design(
            design, LIBRARY, place=True, wire_cap=capacitance, wire_res=0.001
        )
        found.append(result["placed"])
    periods, energies = ([own[key] for own in found] for key in ("period_ns", "pj_per_mac"))
    assert periods == sorted(periods)
    assert energies == sorted(energies)
    assert energies[2] > 1.1 * energies[0]


def little(body: str, folder: Path) -> dict[str, Any]:
    """Place a module of one bit."""
    pytest.importorskip("coloquinte")
    source = cache.write(
        folder / "t.v", f"module t(input clk, input a, output reg y);\n{body}\nendmodule\n"
    )
    return synthesis.synthesise(Verilog([source], "t"), LIBRARY, place=True, activity="none")


@pytest.mark.prove
def test_little_logic_is_placed(tmp_path: Path) -> None:
    """No gate between registers, and no register."""
    for body in ("reg r; always @(posedge clk) begin r <= a; y <= r; end", "always @* y = ~a;"):
        assert little(body, tmp_path)["placed"]["period_ns"] > 0
    with pytest.raises(ValueError, match="t must have cells to place, not only wires"):
        little("always @* y = a;", tmp_path)


def test_technology_is_known_or_given() -> None:
    assert technology(LIBRARY).row_height == 10
    assert technology(LIBRARY, capacitance=0.3).capacitance == 0.3
    assert technology(LIBRARY, capacitance=0.3).source.startswith("as given, the rest: ")
    other = cells.Library(b"", "mine", "", 1e-9, 1e-12, {}, {})
    with pytest.raises(ValueError, match="wires of mine must be given: wire_cap, wire_res"):
        technology(other, capacitance=0.3)
    assert technology(other, 0.3, 0.2, 5.0) == Technology(0.3, 0.2, 5.0, "as given")
