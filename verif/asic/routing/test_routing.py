"""Routed netlists: all pins joined, nothing touched, by a check that finds what is wrong."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import sta, synthesis
from carrysave.asic.elaborate import elaborate
from carrysave.asic.liberty import cells
from carrysave.asic.mapping import Flow
from carrysave.asic.placement.flow import Placed
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.placement.technology import technology
from carrysave.asic.power.clock_tree import Wires
from carrysave.asic.routing import flow, router
from carrysave.asic.routing.check import check
from carrysave.asic.routing.grid import grid_of
from carrysave.asic.routing.lef import read_routing_lef
from carrysave.asic.routing.problem import problem_of
from carrysave.errors import ArgumentError
from hw.catalog import Design
from verif.asic.placement.equivalence import prove
from verif.support.command import Run
from verif.support.made_lef import made_lef
from verif.support.schemas import check as check_schema

LIBRARY = cells.osu018()
SMALL = {"a_width": 2, "b_width": 2, "accumulator_width": 5}


@pytest.fixture
def lef(tmp_path: Path) -> Path:
    path = tmp_path / "made.lef"
    path.write_text(made_lef(LIBRARY))
    return path


@cache
def small(lef: str) -> dict[str, Any]:
    """Return a small element, routed, with the text of its DEF."""
    pytest.importorskip("coloquinte")
    path = Path(lef)
    result = synthesis.synthesise_design(
        Design("mac", SMALL), LIBRARY, route=True, lef=[path], activity="none", utilisation=0.5
    )
    return {**result, "text": Path(result["routed"]["files"]["def"]).read_text()}


@pytest.fixture
def result(lef: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    shared = tmp_path_factory.getbasetemp() / "shared.lef"
    if not shared.exists():
        shared.write_text(lef.read_text())
    return small(str(shared))


def rules(text: str, lef: Path) -> Counter[str]:
    return Counter(one.rule for one in check(text, read_routing_lef([lef])))


def test_all_nets_are_routed_and_legal(result: dict[str, Any], lef: Path) -> None:
    routed = result["routed"]
    assert routed["complete"]
    assert routed["unrouted"] == []
    assert not rules(result["text"], lef)
    assert routed["nets"] == len(re.findall(r"^\*D_NET", spef_of(result), re.M)) > 50
    assert routed["clock"]["hold_violations"] == 0
    # 1.037 of the shortest trees; 1.08 without the sweeps that make ways shorter.
    assert 0.9 < routed["wire_um"] / result["placed"]["wire_um"] < 1.06
    assert result["placed"]["period_ns"] * 0.95 < routed["period_ns"]
    assert routed["period_ns"] < result["placed"]["period_ns"] * 1.2


def spef_of(result: dict[str, Any]) -> str:
    return Path(result["routed"]["files"]["spef"]).read_text()


def test_spef_has_each_wire_and_via(result: dict[str, Any]) -> None:
    """Capacitance of all wires, and a resistance less than nodes: nets are trees."""
    text, farads = spef_of(result), result["placed"]["technology"]["capacitance"]
    total = sum(float(one) for one in re.findall(r"^\*D_NET \S+ (\S+)$", text, re.M))
    # Metal for the area of a layer is in the wires of SPEF, and in the length, too.
    assert total == pytest.approx(result["routed"]["wire_um"] * farads, rel=0.01)
    for net in re.split(r"^\*D_NET ", text, flags=re.M)[1:]:
        edges = re.findall(r"^\d+ (\S+) (\S+) \d", net.partition("*RES")[2], re.M)
        ends = {end for edge in edges for end in edge}
        assert len(edges) == len(ends) - 1


def wire_of(text: str) -> re.Match[str]:
    """Return the first straight wire of a DEF, on the lowest layer but one, of some length."""
    for match in re.finditer(r"NEW (m2) \( (\d+) (\d+) \) \( (\d+) (\d+) \)\n", text):
        if abs(int(match[5]) - int(match[3])) > 4000:
            return match
    raise AssertionError


def test_a_wire_that_is_missing_is_an_open(result: dict[str, Any], lef: Path) -> None:
    text = result["text"]
    wire = wire_of(text)
    assert rules(text.replace(wire[0], ""), lef)["open"] == 1
    via = re.search(r"NEW m2 \( \d+ \d+ \) vm2m3\n", text)
    assert via is not None
    assert rules(text.replace(via[0], ""), lef)["open"] == 1


def test_a_wire_across_others_is_a_short(result: dict[str, Any], lef: Path) -> None:
    text = result["text"]
    wire = wire_of(text)
    longer = f"NEW m2 ( {wire[2]} 400 ) ( {wire[2]} 60000 )\n"
    assert rules(text.replace(wire[0], wire[0] + longer), lef)["short"] > 0
    rail = f"NEW m1 ( 400 400 ) ( {wire[2]} 400 )\n"
    assert rules(text.replace(wire[0], wire[0] + rail), lef)["short"] > 0


def test_a_wire_off_its_track_is_seen(result: dict[str, Any], lef: Path) -> None:
    text = result["text"]
    wire = wire_of(text)
    moved = wire[0].replace(f"( {wire[2]} ", f"( {int(wire[2]) + 50} ")
    moved = moved.replace(f"( {wire[4]} ", f"( {int(wire[2]) + 50} ")
    assert rules(text.replace(wire[0], moved), lef)["track"] == 1
    across = f"NEW m2 ( {wire[2]} {wire[3]} ) ( {int(wire[2]) + 800} {wire[3]} )\n"
    assert rules(text.replace(wire[0], wire[0] + across), lef)["track"] == 1


def test_metal_that_is_too_near_is_seen(result: dict[str, Any], lef: Path) -> None:
    """A patch of nobody's size between two tracks: nearer to both than 0.3 um."""
    text = result["text"]
    wire = wire_of(text)
    names = re.findall(r"^- (\S+) ", text[text.index("\nNETS") :], re.M)
    before = text[: wire.start()]
    mine = re.findall(r"^- (\S+) ", before[before.index("\nNETS") :], re.M)[-1]
    other = next(name for name in names if name != mine)
    x, y = int(wire[2]) + 350, (int(wire[3]) + int(wire[5])) // 2
    patch = f"NEW m2 ( {x} {y} ) RECT ( -50 -1000 50 1000 )\n"
    start = text.index("+ ROUTED", text.index(f"\n- {other} ", text.index("\nNETS")))
    at = text.index("\n", start) + 1
    broken = text[:at] + patch + text[at:]
    assert rules(broken, lef)["spacing"] > 0


def test_metal_that_is_too_small_is_seen(result: dict[str, Any], lef: Path) -> None:
    text = result["text"]
    layer = "NEW m3 ( 400 400 ) RECT ( -150 -150 150 150 )\n"
    wire = wire_of(text)
    assert rules(text.replace(wire[0], wire[0] + layer), lef)["area"] == 1


def test_router_makes_short_wires_longer(lef: Path) -> None:
    """0.3 um2 on wires of 0.3 um is 1 um: two nodes that are 0.8 um apart."""
    grid = grid_of(read_routing_lef([lef]), (80.0, 80.0))
    assert [one.least for one in grid.layers] == [1, 2, 2, 2]
    assert [one.layer.name for one in grid.layers] == ["m2", "m3", "m4", "m5"]
    assert [one.step for one in grid.layers] == [1, 1, 1, 2]


def test_nets_without_a_way_are_named(result: dict[str, Any], lef: Path, tmp_path: Path) -> None:
    """After one turn nets are in each other's way: those have no wires, and the rest is legal."""
    places = json.loads(Path(result["placed"]["places"]).read_text())
    netlist = Netlist.read(Path(result["placed"]["netlist"]), result["module"], LIBRARY, named=True)
    problem = problem_of(netlist, places, read_routing_lef([lef]), "")
    routes = router.route(problem, turns=1)
    assert 0 < sum(one.routed for one in routes.values()) < len(routes)
    flow._write(problem, routes, technology(LIBRARY), tmp_path)
    facts = json.loads((tmp_path / "facts.json").read_text())
    lost = set(facts["unrouted"])
    assert len(lost) == sum(not one.routed for one in routes.values())
    found = check((tmp_path / "routed.def").read_text(), problem.lef)
    assert {one.net for one in found if one.rule == "open"} == lost
    assert not any(facts["violations"].values())
    (tmp_path / "t.v").write_text("module t(input a, output y); assign y = ~a; endmodule")
    elaborated = elaborate([tmp_path / "t.v"], "t")
    placed = Placed(Path(), Path(), Path(), "", Wires("", {}, []), 0.0, result["placed"])
    own = flow.record(
        flow.Routed(tmp_path, facts),
        placed,
        flow=Flow(elaborated, (), LIBRARY, sta.Conditions()),
        operations=2.0,
        start_ns=2.0,
    )
    assert (own["complete"], own["period_ns"]) == (False, None)
    assert "partial, and not timed" in own["notes"][0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("MACRO DFFPOSX1", "MACRO OTHER"), "lef must have a MACRO of each cell.*DFFPOSX1"),
        (("VIA vm2m3 DEFAULT", "VIA vm2m3"), "lef: LEF must have a default VIA between m2 and m3"),
        (("USE SIGNAL", "USE POWER"), "lef must have pin . of .*, and has not"),
        (("  PIN CLK DIR", "  PIN CKL DIR"), "lef must have pin CLK of DFFPOSX1, and has not"),
    ],
)
def test_lef_that_lacks_something_is_refused(
    lef: Path, result: dict[str, Any], change: tuple[str, str], says: str
) -> None:
    text = lef.read_text().replace(*change)
    if change[0].startswith("MACRO"):
        text = text.replace("END DFFPOSX1", "END OTHER")
    if change[0].startswith("  PIN CLK"):
        text = text.replace("END CLK\n", "END CKL\n")
    lef.write_text(text)
    with pytest.raises(ArgumentError, match=says):
        synthesis.synthesise_design(
            Design("mac", SMALL), LIBRARY, route=True, lef=[lef], activity="none", utilisation=0.5
        )


def test_sizes_that_disagree_are_refused(lef: Path, result: dict[str, Any]) -> None:
    lef.write_text(re.sub(r"(MACRO DFFPOSX1\n.*?SIZE )\S+", r"\g<1>9.0", lef.read_text()))
    with pytest.raises(ArgumentError, match="must agree, but DFFPOSX1 is 9 x 10 um in one"):
        synthesis.synthesise_design(
            Design("mac", SMALL), LIBRARY, route=True, lef=[lef], activity="none", utilisation=0.5
        )


def test_command(run: Run, lef: Path, result: dict[str, Any], tmp_path: Path) -> None:
    words = [word for name, value in SMALL.items() for word in ("-p", f"{name}={value}")]
    line = ("synth", "mac", *words, "--target", "osu018", "--activity", "none", "--route")
    refused = run(*line)
    assert (refused.code, "--route needs --lef" in refused.err) == (2, True)
    options = ("--lef", str(lef), "--utilisation", "0.5", "-o", str(tmp_path / "out"))
    done = run(*line, *options, "--json")
    again = run(*line, *options, "--json")
    assert "damaged" not in again.err
    facts = check_schema("synthesis", done.out)
    assert facts["routed"]["complete"]
    suffixes = {Path(file).suffix for file in facts["files"] if ".routed." in file}
    assert suffixes == {".v", ".def", ".spef", ".sdc", ".lef"}
    refused = run("synth", "mac", "--target", "ecp5", "--route", "--lef", str(lef))
    assert (refused.code, "--route" in refused.err) == (2, True)


@pytest.mark.prove
def test_opt1_routes(lef: Path) -> None:
    """All of it in 60 s, the same function as what was mapped, periods near those placed."""
    pytest.importorskip("coloquinte")
    result = synthesis.synthesise_design(
        Design("opt1", {}), LIBRARY, route=True, lef=[lef], activity="none"
    )
    routed = result["routed"]
    assert routed["complete"], json.dumps(routed["where"])
    assert routed["period_ns"] < 1.1 * result["placed"]["period_ns"]
    prove(Path(result["netlist"]), Path(routed["files"]["netlist"]), result["module"], LIBRARY)
