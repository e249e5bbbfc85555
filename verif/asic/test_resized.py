"""Other sizes of the cells of a mapped netlist: the same cells, better by what was asked for."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from carrysave.asic import mapping, sta
from carrysave.asic.elaborate import elaborate
from carrysave.asic.liberty import cells
from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.wire_load import WireLoad
from carrysave.asic.mapping import Flow, Recipe
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.placement.resize import Limit, Product, resize
from carrysave.asic.placement.sizes import Kind, Sizes
from carrysave.asic.placement.timing import Timing
from hw.emit import yosys
from verif.asic.test_synthesis import verilog

LIBRARY = cells.osu018()
CONDITIONS = sta.Conditions()
# A module that is there several times, between registers.
CHAIN = """
module link(input clk, input [7:0] a, b, output reg [7:0] y);
  reg [7:0] x;
  always @(posedge clk) begin x <= a + (b ^ {a[3:0], b[7:4]}); y <= x + (a & b); end
endmodule
module chain(input clk, input [7:0] d, output [7:0] q);
  wire [7:0] w [0:4];
  assign w[0] = d;
  assign q = w[4];
  genvar i;
  generate for (i = 0; i < 4; i = i + 1) begin : g
    link x(.clk(clk), .a(w[i]), .b({w[i][6:0], d[i]}), .y(w[i + 1]));
  end endgenerate
endmodule
"""
WIRES = """
  default_wire_load : "some";
  wire_load("some") {
    capacitance : 0.0002; resistance : 0.002; slope : 9;
    fanout_length(1, 25); fanout_length(2, 60); fanout_length(4, 90);
  }
"""


@pytest.fixture
def flow(tmp_path, monkeypatch) -> Flow:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    return Flow(elaborate([verilog(tmp_path, CHAIN)], "chain"), ("link",), LIBRARY, CONDITIONS)


def contents(path: str, work: Path) -> dict[str, dict[str, tuple[str, dict[str, list[str]]]]]:
    """Return the kind of each cell of each module, and the nets of each of its pins."""
    (work / "n.v").write_text(Path(path).read_text())
    yosys.run("read_verilog n.v\nwrite_json n.json", cwd=work)
    found = {}
    for name, module in json.loads((work / "n.json").read_text())["modules"].items():
        nets = {
            bit: f"{net} {index}"
            for net, own in module["netnames"].items()
            for index, bit in enumerate(own["bits"])
        }
        found[name] = {
            own: (
                cell["type"],
                {
                    pin: [nets.get(bit, bit) for bit in bits]
                    for pin, bits in cell["connections"].items()
                },
            )
            for own, cell in module["cells"].items()
        }
    return found


def computed(kind: str, nets: dict[str, list[str]]) -> object:
    """Return what a gate computes of the nets that it reads, whatever pins they are on."""
    if kind not in LIBRARY.cells:
        return nets
    cell = LIBRARY.cells[kind]
    tables = {nets[pin.name][0]: cell.table(pin) for pin in cell.outputs if pin.name in nets}
    if None in tables.values():
        return nets
    read = sorted({nets[pin.name][0] for pin in cell.inputs})
    found = {}
    for point in itertools.product((0, 1), repeat=len(read)):
        value = dict(zip(read, point, strict=True))
        index = sum(value[nets[pin.name][0]] << i for i, pin in enumerate(cell.inputs))
        found[point] = {net: table[index] for net, table in tables.items() if table is not None}
    return read, found


def test_only_sizes_change_and_pins_of_the_same_worth(flow, tmp_path):
    recipe = Recipe("tree", "amap")
    before = mapping.point(flow, recipe, 100.0)
    after = mapping.point(flow, replace(recipe, sizes="density"), 100.0)
    old, new = (contents(point["netlist"], tmp_path) for point in (before, after))
    family = Sizes(LIBRARY, LIBRARY.cells).family
    changed = moved = 0
    for module, own in old.items():
        assert own.keys() == new[module].keys()
        for name, (kind, nets) in own.items():
            now, now_nets = new[module][name]
            assert now == kind or now in family[kind]
            changed += now != kind
            if now_nets != nets:
                assert computed(now, now_nets) == computed(kind, nets)
                moved += 1
    assert changed > 3
    assert moved > 3
    (link,) = (row for row in after["hierarchy"] if row["module"] == "link")
    assert link["instances"] == 4
    assert mapping.area(after) * after["period_ns"] < mapping.area(before) * before["period_ns"]


def test_pins_that_moved_are_timed_as_they_were_told(flow):
    """What is told of a netlist before it is changed is true of it afterwards."""
    netlist = Path(mapping.point(flow, Recipe("tree", "dch2"), 0.001)["netlist"])
    own = Netlist.read(netlist, "chain", LIBRARY)
    sizes = Sizes(LIBRARY, {cell.kind for cell in own.cells.values()} | {LIBRARY.driver.name})
    timing = Timing(own, sizes, CONDITIONS)
    before = timing.times().period
    resize(timing, 10)
    assert any(kind.moved for kind in timing.chosen())
    told, slacks = timing.times().period, timing.cell_slacks(timing.times())
    timing.adopt()
    assert told < before
    for again in (timing, Timing(own, sizes, CONDITIONS)):
        assert not any(kind.moved for kind in again.chosen())
        assert again.times().period == pytest.approx(told, abs=1e-9)
        assert again.cell_slacks(again.times()) == pytest.approx(slacks, abs=1e-9)
        for pin, net in enumerate(again.pin_net):
            sink = again.sink(pin)
            bit = own.cells[sink.cell].nets[sink.pin]
            assert isinstance(bit, int)
            assert again.nets[bit] == net


def test_cells_of_a_module_stay_alike(flow):
    netlist = Path(mapping.point(flow, Recipe("tree", "dch2"), 0.001)["netlist"])
    own = Netlist.read(netlist, "chain", LIBRARY)
    scopes: dict[str, int] = {}
    group = []
    for cell in own.cells.values():
        number = scopes[cell.scope] = scopes.get(cell.scope, -1) + 1
        group.append(number if cell.scope else -1 - number)
    names = {number: index for index, number in enumerate(dict.fromkeys(group))}
    sizes = Sizes(LIBRARY, {cell.kind for cell in own.cells.values()} | {LIBRARY.driver.name})
    timing = Timing(own, sizes, CONDITIONS, [names[number] for number in group])
    assert len(own.cells) > 3 * len(names)
    before = timing.chosen()
    for _ in range(3):
        resize(timing, 5)
    chosen = timing.chosen()
    assert sum(kind.moved != {} for kind in chosen) > 3
    assert sum(kind.name != old.name for kind, old in zip(chosen, before, strict=True)) > 3
    found: dict[int, Kind] = {}
    for number, kind in zip(group, chosen, strict=True):
        assert found.setdefault(number, kind) == kind


def test_sizes_are_for_what_was_asked(flow):
    recipe = Recipe("tree", "dch2")
    before = mapping.point(flow, recipe, 0.001)
    fast = mapping.point(flow, replace(recipe, sizes="period"), 0.001)
    assert fast["period_ns"] <= before["period_ns"]
    limit = 1.2 * before["period_ns"]
    small = mapping.point(flow, replace(recipe, sizes=f"{limit:.4f}"), 0.001)
    assert small["period_ns"] < 1.02 * limit
    assert mapping.area(small) < mapping.area(before)


@pytest.mark.parametrize("goal", [Product(0.1), Product(1.0), Limit(2.0)])
@pytest.mark.parametrize(("period", "area"), [(2.1, 500.0), (2.005, 800.0), (2.0, 500.0)])
def test_prices_are_the_ratio_of_slopes(goal, period, area):
    step = 1e-6
    by_period = (goal.cost(period + step, area) - goal.cost(period - step, area)) / 2
    by_area = (goal.cost(period, area + step) - goal.cost(period, area - step)) / 2
    assert goal.price(period, area) == pytest.approx(by_area / by_period, rel=1e-3)


def with_wires(tmp_path: Path) -> Library:
    text = LIBRARY.text
    place = re.search(r"library\s*\([^)]*\)\s*\{", text)
    assert place is not None
    (tmp_path / "wires.lib").write_text(text[: place.end()] + WIRES + text[place.end() :])
    return Library.load(tmp_path / "wires.lib")


def test_wire_load_is_read(tmp_path):
    assert WireLoad.of(LIBRARY) is None
    wires = WireLoad.of(with_wires(tmp_path))
    assert wires is not None
    assert wires.length(np.array([0, 1, 2, 3, 4, 6])).tolist() == [0, 25, 60, 75, 90, 108]
    assert wires.farads(np.array([2])) == pytest.approx(60 * 0.2)
    # 2 ohm a unit: half of 120 ohm, with half of 12 fF and 10 fF of pin.
    assert wires.delay(np.array([2]), np.array([10.0])) == pytest.approx(60 * 16e-6)


def test_period_with_a_wire_load_is_that_of_opensta(flow, tmp_path):
    library = with_wires(tmp_path)
    netlist = Path(mapping.point(flow, Recipe("tree", "dch2"), 0.001)["netlist"])
    own = Netlist.read(netlist, "chain", library)
    kinds = {cell.kind for cell in own.cells.values()} | {library.driver.name}
    timing = Timing(own, Sizes(library, kinds), CONDITIONS)
    ideal = timing.times().period
    timing.guess_wires()
    found = sta.analyse(netlist.read_text(), top="chain", library=library, conditions=CONDITIONS)
    assert timing.times().period == pytest.approx(found["period_ns"], rel=0.02)
    assert timing.times().period > 1.04 * ideal
