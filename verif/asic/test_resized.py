"""Other sizes of the cells of a mapped netlist: the same cells, better by what was asked for."""

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
from carrysave.asic.placement.resize import Limit, Product
from carrysave.asic.placement.sizes import Sizes
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


def contents(path: str, work: Path) -> dict[str, dict[str, tuple[str, object]]]:
    """Kind and connections of each cell of each module."""
    (work / "n.v").write_text(Path(path).read_text())
    yosys.run("read_verilog n.v\nwrite_json n.json", cwd=work)
    modules = json.loads((work / "n.json").read_text())["modules"]
    return {
        name: {own: (cell["type"], cell["connections"]) for own, cell in module["cells"].items()}
        for name, module in modules.items()
    }


def test_only_sizes_change(flow, tmp_path):
    recipe = Recipe("tree", "amap")
    before = mapping.point(flow, recipe, 100.0)
    after = mapping.point(flow, replace(recipe, sizes="density"), 100.0)
    old, new = (contents(point["netlist"], tmp_path) for point in (before, after))
    family = Sizes(LIBRARY, LIBRARY.cells).family
    changed = 0
    for module, own in old.items():
        assert own.keys() == new[module].keys()
        for name, (kind, nets) in own.items():
            now, now_nets = new[module][name]
            assert now_nets == nets
            assert now == kind or now in family[kind]
            changed += now != kind
    assert changed > 3
    (link,) = (row for row in after["hierarchy"] if row["module"] == "link")
    assert link["instances"] == 4
    assert mapping.area(after) * after["period_ns"] < mapping.area(before) * before["period_ns"]


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
