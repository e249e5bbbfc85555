"""Layout against netlist: what metal joins is what the netlist says, whatever DEF calls it."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.routing.check import check
from carrysave.asic.routing.lef import RoutingLef, read_routing_lef
from carrysave.asic.routing.lvs import compare
from hw.catalog import Design
from verif.support.made_lef import made_lef

LIBRARY = cells.osu018()


@cache
def routed(lef: str) -> tuple[dict[str, Any], str, Netlist, RoutingLef]:
    """Return a small element, its DEF, and the netlist it was placed from."""
    pytest.importorskip("coloquinte")
    small = {"a_width": 2, "b_width": 2, "accumulator_width": 5}
    result = synthesis.synthesise_design(
        Design("mac", small), LIBRARY, route=True, lef=[Path(lef)], activity="none", utilisation=0.5
    )
    netlist = Netlist.read(Path(result["placed"]["netlist"]), result["module"], LIBRARY, named=True)
    text = Path(result["routed"]["files"]["def"]).read_text()
    return result, text, netlist, read_routing_lef([Path(lef)])


@pytest.fixture
def die(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Netlist, RoutingLef]:
    shared = tmp_path_factory.getbasetemp() / "lvs.lef"
    if not shared.exists():
        shared.write_text(made_lef(LIBRARY))
    return routed(str(shared))[1:]


def nets(text: str, netlist: Netlist, lef: RoutingLef) -> list[str]:
    return [one.net for one in compare(text, lef, netlist)]


def pair(text: str, kind: str) -> tuple[str, str]:
    """Return the first two cells of a kind."""
    one, other, *_ = re.findall(rf"^- (\S+) {kind} \+ PLACED", text, re.M)
    return one, other


def test_a_routed_die_is_its_netlist(die: tuple[str, Netlist, RoutingLef]) -> None:
    text, netlist, lef = die
    assert not nets(text, netlist, lef)
    # Names of nets in DEF play no part.
    assert not nets(re.sub(r"(?m)^- n_(\d+) \(", r"- other_\1 (", text), netlist, lef)


def test_swapped_nets_that_def_agrees_with_are_seen(
    die: tuple[str, Netlist, RoutingLef],
) -> None:
    """Two cells change places in the whole of DEF: it is consistent, and is another circuit."""
    text, netlist, lef = die
    one, other = pair(text, "NAND2X1")
    names = {one: other, other: one}
    swapped = re.sub(rf"\b({one}|{other})\b", lambda at: names[at[1]], text)
    assert swapped != text
    assert not check(swapped, lef)
    touched = {net for name in names for net in netlist.cells[name].nets.values()}
    words = netlist.net_names()
    assert {words[net] for net in touched if isinstance(net, int)} >= set(
        nets(swapped, netlist, lef)
    )
    assert len(nets(swapped, netlist, lef)) >= 2


def test_an_open_and_a_short_are_seen(die: tuple[str, Netlist, RoutingLef]) -> None:
    text, netlist, lef = die
    via = re.search(r"NEW m2 \( (\d+) (\d+) \) vm2m3\n", text)
    assert via is not None
    assert len(compare(text.replace(via[0], ""), lef, netlist)) == 1
    across = f"NEW m2 ( {via[1]} 400 ) ( {via[1]} 90000 )\n"
    shorted = compare(text.replace(via[0], via[0] + across), lef, netlist)
    assert any(one.other for one in shorted)
    # Metal of a signal on a rail: the supply is a net as others are.
    rail = f"NEW m1 ( 400 0 ) ( {via[1]} 0 )\nNEW m2 ( {via[1]} 0 ) ( {via[1]} {via[2]} )\n"
    rail += f"NEW m1 ( {via[1]} 0 ) vm1m2\n"
    joined = compare(text.replace(via[0], via[0] + rail), lef, netlist)
    assert any("gnd" in (one.net, one.other) for one in joined)


def test_cells_that_are_others_are_seen(die: tuple[str, Netlist, RoutingLef]) -> None:
    text, netlist, lef = die
    one, _ = pair(text, "NAND2X1")
    other = text.replace(f"- {one} NAND2X1 +", f"- {one} NOR2X1 +")
    faults = [each for each in compare(other, lef, netlist) if not each.layer]
    assert [(each.net, each.other) for each in faults] == [(one, "NOR2X1, NAND2X1")]
    gone = re.sub(rf"(?m)^- {one} NAND2X1 .*\n", "", text)
    lost = [each.other for each in compare(gone, lef, netlist) if each.net == one]
    assert lost == ["None, NAND2X1"]
