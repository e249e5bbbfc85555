"""Straps and rails of the supplies: one piece each, across the gaps between cells."""

from itertools import pairwise
from pathlib import Path

from carrysave.asic.routing.grid import gap, grid_of
from carrysave.asic.routing.lef import RoutingLef, read_routing_lef
from carrysave.asic.routing.supplies import straps

LAYERS = ("p", "a", "b", "c", "d")
LAYER = """
LAYER {name} TYPE ROUTING ; DIRECTION {way} ; PITCH 0.5 ; WIDTH 0.14 ; SPACING 0.14 ; AREA 0.1 ;
END {name}
"""
VIA = """
LAYER cut{low} TYPE CUT ; END cut{low}
VIA v{low}{up} DEFAULT LAYER cut{low} ; RECT -0.05 -0.05 0.05 0.05 ;
  LAYER {low} ; RECT -0.1 -0.1 0.1 0.1 ; LAYER {up} ; RECT -0.1 -0.1 0.1 0.1 ; END v{low}{up}
"""
CELL = """
MACRO one CLASS CORE ; SIZE 1 BY 4 ; SITE core ;
  PIN A DIRECTION INPUT ; USE SIGNAL ; PORT LAYER p ; RECT 0.4 1 0.6 2 ; END END A
  PIN gnd USE GROUND ; PORT LAYER a ; RECT 0 -0.25 1 0.25 ; END END gnd
  PIN vdd USE POWER ; PORT LAYER a ; RECT 0 3.75 1 4.25 ; END END vdd
END one
"""


def rails(tmp_path: Path) -> RoutingLef:
    path = tmp_path / "rails.lef"
    text = "".join(
        LAYER.format(name=name, way="VERTICAL" if n % 2 == 0 else "HORIZONTAL")
        for n, name in enumerate(LAYERS)
    )
    text += "".join(VIA.format(low=low, up=up) for low, up in pairwise(LAYERS))
    path.write_text(text + CELL)
    return read_routing_lef([path])


def test_rails_go_from_side_to_side(tmp_path: Path) -> None:
    lef = rails(tmp_path)
    made = straps(lef, grid_of(lef, (20.0, 12.0)), (20.0, 12.0), 4.0, {"one"})
    lines = {
        supply: sorted(
            box
            for strap in made
            if strap.supply == supply
            for layer, box in strap.shapes
            if layer == "a" and box[2] - box[0] > 19
        )
        for supply in ("gnd", "vdd")
    }
    assert lines["gnd"] == [(0.0, -0.25, 20.0, 0.25), (0.0, 7.75, 20.0, 8.25)]
    assert lines["vdd"] == [(0.0, 3.75, 20.0, 4.25), (0.0, 11.75, 20.0, 12.25)]
    for strap in made:  # each via stands on a rail of its own supply
        pads = [box for layer, box in strap.shapes if layer == "a" and box[2] - box[0] < 1]
        assert len(pads) == 2
        assert all(any(gap(pad, rail) == 0 for rail in lines[strap.supply]) for pad in pads)
