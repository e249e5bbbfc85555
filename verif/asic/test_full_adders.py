"""Full adders that stay cells of the library: found, chosen by time, and the same as gates."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from carrysave.asic import full_adders, mapping, sta
from carrysave.asic.elaborate import elaborate
from carrysave.asic.liberty import cells
from carrysave.asic.mapping import Flow, Recipe
from hw.emit import yosys
from verif.asic.placement import equivalence
from verif.asic.test_synthesis import verilog

LIBRARY = cells.osu018()
RECIPE = Recipe("tree", "dch")
# Eight operands: adders of Yosys's carry-save tree.
TREE = """
module tree(input [63:0] d, output [10:0] y);
  assign y = d[7:0] + d[15:8] + d[23:16] + d[31:24] + d[39:32] + d[47:40] + d[55:48] + d[63:56];
endmodule
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))


def ripple(bits: int) -> str:
    """Full adders in a row, of gates as a bit heap has them."""
    lines = [
        f"  assign s[{k}] = (a[{k}] ^ b[{k}]) ^ c[{k}];\n"
        f"  assign c[{k + 1}] = (a[{k}] & b[{k}]) | ((a[{k}] ^ b[{k}]) & c[{k}]);"
        for k in range(bits)
    ]
    return (
        f"module ripple(input [{bits - 1}:0] a, b, input i, output [{bits - 1}:0] s, output o);\n"
        f"  wire [{bits}:0] c;\n  assign c[0] = i;\n  assign o = c[{bits}];\n"
        + "\n".join(lines)
        + "\nendmodule\n"
    )


def flow(tmp_path: Path, text: str, top: str) -> Flow:
    design = elaborate([verilog(tmp_path, text)], top)
    return Flow(design, (), LIBRARY, sta.Conditions(clock=None))


def adders(netlist: str) -> int:
    return Path(netlist).read_text().count("FAX1 ")


@pytest.mark.sample(1)
@pytest.mark.parametrize(("text", "top"), [(TREE, "tree"), (ripple(6), "ripple")])
def test_full_adders_become_cells_and_compute_the_same(tmp_path, text, top):
    own = flow(tmp_path, text, top)
    gates = mapping.point(own, RECIPE, 100.0)
    assert adders(gates["netlist"]) == 0
    found = mapping.point(own, replace(RECIPE, adders="1"), 100.0)
    assert adders(found["netlist"]) >= (6 if top == "ripple" else 30)
    assert found["recipe"] == "tree+dch+adders@1"
    equivalence.prove(Path(gates["netlist"]), Path(found["netlist"]), top, LIBRARY)


def test_late_full_adders_are_gates_again(tmp_path):
    own = flow(tmp_path, ripple(8), "ripple")
    counts = [
        adders(mapping.point(own, replace(RECIPE, adders=share), 100.0)["netlist"])
        for share in ("1", "0.9", "0.7")
    ]
    assert counts[0] == 8
    assert 8 > counts[1] > counts[2] > 0
    some = mapping.point(own, replace(RECIPE, adders="0.7"), 100.0)["netlist"]
    whole = mapping.point(own, RECIPE, 100.0)["netlist"]
    equivalence.prove(Path(whole), Path(some), "ripple", LIBRARY)


def test_a_path_is_no_longer_than_its_share(tmp_path):
    """Of adders in a row and of one beside it, only those in the row are late."""
    text = (
        ripple(6)
        .replace("output o)", "output o, input [2:0] z, output [1:0] w)")
        .replace(
            "endmodule",
            "  assign w[0] = (z[0] ^ z[1]) ^ z[2];\n"
            "  assign w[1] = (z[0] & z[1]) | ((z[0] ^ z[1]) & z[2]);\nendmodule",
        )
    )
    own = flow(tmp_path, text, "ripple")
    source = mapping.front_end(own.design, "tree", (), LIBRARY, "1")
    (tmp_path / "front.il").symlink_to(source)
    yosys.run("read_rtlil front.il\nwrite_json front.json", cwd=tmp_path)
    module = json.loads((tmp_path / "front.json").read_text())["modules"]["ripple"]
    first = module["ports"]["z"]["bits"][:1]
    beside = [
        name for name, cell in module["cells"].items() if first in cell["connections"].values()
    ]
    assert len(beside) == 1
    paths = full_adders._Paths(module, LIBRARY)
    longest = paths.longest()
    late = full_adders.late(module, LIBRARY, 0.8)
    assert 0 < len(late) < 6
    assert beside[0] not in late
    for name in late:
        assert paths.longest() > 0.8 * longest
        paths.take_apart(name)
    assert paths.longest() <= 0.8 * longest
    assert full_adders.late(module, LIBRARY, 1.0) == []


@pytest.mark.parametrize(
    "text",
    ["tree+dch", "tree+amap+adders@0.9", "booth+nf+sizes@2.5", "tree+amap+adders@1+sizes@density"],
)
def test_recipes_are_read_as_they_are_written(text):
    assert str(Recipe.parse(text)) == text
