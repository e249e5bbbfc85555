"""Antennas: metal that charges gates is counted by hand, seen in a die, mended by the router."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.placement.technology import technology
from carrysave.asic.routing import flow, router
from carrysave.asic.routing.antenna import check_antennas
from carrysave.asic.routing.lef import RoutingLef, read_routing_lef
from carrysave.asic.routing.problem import problem_of
from hw.catalog import Design
from hw.emit.user_files import FileError
from verif.support.made_lef import made_lef

LIBRARY = cells.osu018()
RATIO = 20.0
"""Of side walls to a gate: 20 um of wire, which a die of 0.1 mm has on some nets."""

TWO = """
LAYER low TYPE ROUTING ; DIRECTION HORIZONTAL ; PITCH 1 ; WIDTH 0.2 ; SPACING 0.2 ;
  THICKNESS 0.5 ; ANTENNADIFFSIDEAREARATIO PWL ( ( 0 10 ) ( 1 30 ) ) ;
END low
LAYER cut TYPE CUT ; END cut
LAYER high TYPE ROUTING ; DIRECTION VERTICAL ; PITCH 1 ; WIDTH 0.2 ; SPACING 0.2 ;
  THICKNESS 0.5 ; ANTENNADIFFSIDEAREARATIO PWL ( ( 0 10 ) ( 1 30 ) ) ;
END high
VIA up DEFAULT LAYER low ; RECT -0.1 -0.1 0.1 0.1 ; LAYER cut ; RECT -0.1 -0.1 0.1 0.1 ;
  LAYER high ; RECT -0.1 -0.1 0.1 0.1 ; END up
MACRO gate CLASS CORE ; SIZE 1 BY 1 ; SITE core ;
  PIN A DIRECTION INPUT ; USE SIGNAL ; ANTENNAGATEAREA 1 ;
    PORT LAYER low ; RECT 0 0 0.2 0.2 ; END END A END gate
MACRO drive CLASS CORE ; SIZE 1 BY 1 ; SITE core ;
  PIN Y DIRECTION OUTPUT ; USE SIGNAL ; ANTENNADIFFAREA 0.5 ;
    PORT LAYER low ; RECT 0 0 0.2 0.2 ; END END Y END drive
"""


def two(tmp_path: Path) -> RoutingLef:
    path = tmp_path / "two.lef"
    path.write_text(TWO)
    return read_routing_lef([path])


def die(*wires: str) -> str:
    """Return DEF of a gate at 0, a driver at 40 um, and wires of their net."""
    routed = "\n".join(f"{'NEW' if n else '+ ROUTED'} {wire}" for n, wire in enumerate(wires))
    return (
        "DESIGN d ;\nUNITS DISTANCE MICRONS 1000 ;\nCOMPONENTS 2 ;\n"
        "- g gate + PLACED ( 0 0 ) N ;\n- d drive + PLACED ( 40000 0 ) N ;\nEND COMPONENTS\n"
        f"NETS 1 ;\n- n ( d Y ) ( g A )\n{routed}\n;\nEND NETS\n"
    )


def low(end: int) -> str:
    return f"low ( 100 100 ) ( {end} 100 )"


def test_side_walls_against_the_gate_by_hand(tmp_path: Path) -> None:
    """A wire of x um has walls of 2 (x + 0.2 + 0.2) 0.5 um2: 10 a gate are 9.6 um."""
    lef = two(tmp_path)
    up, far = "low ( {} 100 ) up", "high ( {} 100 ) ( {} 9000 )"
    assert not check_antennas(die(low(9600 + 100)), lef)
    (broken,) = check_antennas(die(low(9700 + 100)), lef)
    assert (broken.rule, broken.net, broken.layer) == ("antenna", "n", "low")
    # Above, each layer counts for itself: what lies on the upper one is not added to the lower.
    upper = die(low(9700), up.format(9700), far.format(9700, 9700))
    assert not check_antennas(upper, lef)
    longer = upper.replace("( 9700 9000 )", "( 9700 9900 )")
    assert [one.layer for one in check_antennas(longer, lef)] == ["high"]


def test_diffusion_allows_more(tmp_path: Path) -> None:
    """0.5 um2 lie halfway between 10 and 30: 20 a gate, which 40 um of wire break."""
    lef = two(tmp_path)
    assert [one.layer for one in check_antennas(die(low(40100)), lef)] == ["low"]
    near = die(low(15000)).replace("( 40000 0 )", "( 14900 0 )")
    assert not check_antennas(near, lef)
    assert check_antennas(near.replace("( 14900 0 )", "( 15900 0 )"), lef)  # does not touch
    assert lef.layers[0].antennas[0].limit(0.5) == 20
    assert lef.layers[0].antennas[0].limit(7) == 30


@pytest.mark.parametrize("points", ["( ( 1 10 ) ( 0 30 ) )", "( ( 0 10 ) ( 1 ) )", "( )"])
def test_ratios_that_are_none_are_refused(tmp_path: Path, points: str) -> None:
    path = tmp_path / "bad.lef"
    path.write_text(TWO.replace("( ( 0 10 ) ( 1 30 ) )", points))
    with pytest.raises(FileError, match=r"bad\.lef: is not understood"):
        read_routing_lef([path])


def with_antennas(ratio: float) -> str:
    """Return the made technology with gates of 1 um2, and a ratio of side walls on each layer."""
    text = made_lef(LIBRARY)
    rule = f" ; THICKNESS 0.5 ; ANTENNADIFFSIDEAREARATIO PWL ( ( 0 {ratio} ) ( 1 1000 ) ) ;\nEND m"
    text = re.sub(r" ;\nEND m", rule, text)
    for cell in LIBRARY.cells.values():
        start = text.index(f"MACRO {cell.name}\n")
        for pins, area in ((cell.inputs, "GATE"), (cell.outputs, "DIFF")):
            for pin in pins:
                at = text.index("USE SIGNAL ;", text.index(f"PIN {pin.name} ", start))
                text = text[:at] + f"ANTENNA{area}AREA 1 ; " + text[at:]
    return text


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    pytest.importorskip("coloquinte")
    path = tmp_path_factory.mktemp("antenna") / "antennas.lef"
    path.write_text(with_antennas(RATIO))
    small = {"a_width": 2, "b_width": 2, "accumulator_width": 5}
    result = synthesis.synthesise_design(
        Design("mac", small), LIBRARY, route=True, lef=[path], activity="none", utilisation=0.5
    )
    return result, path


def test_the_router_mends_antennas(placed: tuple[dict[str, Any], Path]) -> None:
    """Most of them; what is left is counted, and the result is no complete one."""
    result, path = placed
    lef, tech = read_routing_lef([path]), technology(LIBRARY)
    netlist = Netlist.read(Path(result["placed"]["netlist"]), result["module"], LIBRARY, named=True)
    places = json.loads(Path(result["placed"]["places"]).read_text())
    problem = problem_of(netlist, places, lef, "")
    harm = partial(flow._harm, problem, tech)
    bare, mended = harm(router.route(problem)), harm(router.route(problem, harm=harm))
    assert len(bare) > 4
    assert len(mended) <= len(bare) // 2
    violations = result["routed"]["violations"]
    assert violations == dict.fromkeys(violations, 0) | {"antenna": len(mended)}
    assert result["routed"]["complete"] == (not mended)
