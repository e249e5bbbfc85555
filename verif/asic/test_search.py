"""What a sweep tries besides recipes: hierarchies, and other ways to build a design."""

from collections.abc import Iterable
from typing import Any

import pytest

from carrysave.asic import abc_scripts, elaborate, search, synthesis
from carrysave.asic.mapping import Recipe
from carrysave.asic.options import Verilog
from golden.check import Choice
from hw.catalog import CATALOG, Design
from hw.emit.flat_ports import flat_ports
from verif.asic.test_synthesis import verilog


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def shortest_sweep(short_sweep, monkeypatch):
    """Let sweeps size what is best once, and for no other period."""
    monkeypatch.setattr(search, "RELAXED", ())
    monkeypatch.setattr(search, "RESIZED", 1)


CHAIN = """
module link(input signed [15:0] a, input signed [15:0] b, output signed [15:0] y);
  assign y = a + b;
endmodule
module chain(input clk, input [127:0] d, output reg signed [15:0] q);
  wire signed [15:0] w [0:7];
  assign w[0] = d[15:0];
  genvar i;
  generate for (i = 0; i < 7; i = i + 1) begin : g
    link x(.a(w[i]), .b(d[16 * i + 16 +: 16]), .y(w[i + 1]));
  end endgenerate
  always @(posedge clk) q <= w[7];
endmodule
"""


@pytest.mark.prove
@pytest.mark.usefixtures("shortest_sweep")
def test_a_sweep_tries_every_hierarchy(tmp_path, monkeypatch):
    """Seven adders in a chain, which only a flat design turns into one tree."""
    monkeypatch.setitem(elaborate.HIERARCHIES, "auto", 300)
    monkeypatch.setattr(elaborate, "KEEP_GATES", 90)
    source = verilog(tmp_path, CHAIN)
    chain = Verilog([source], "chain")
    kept = synthesis.synthesise(chain, "osu018")
    assert [row["module"] for row in kept["hierarchy"]] == ["chain", "link"]
    assert (kept["hierarchy_mode"], len(kept["tried"])) == ("auto", 1)
    best = synthesis.synthesise(chain, "osu018", sweep=True)
    assert best["hierarchy_mode"] == "flat"
    assert [row["mapped_once"] for row in best["tried"]] == [["link"], []]
    assert {point["hierarchy"] for point in best["sweep"]} == {"auto", "flat"}
    assert sum(row["points"] for row in best["tried"]) == len(best["sweep"])
    assert best["period_ns"] < 0.9 * kept["period_ns"]
    one = synthesis.synthesise(chain, "osu018", sweep=True, hierarchy="auto")
    assert [row["hierarchy"] for row in one["tried"]] == ["auto"]
    assert one["period_ns"] * one["area_um2"] > best["period_ns"] * best["area_um2"]
    monkeypatch.setattr(elaborate, "FLAT_GATES", 100)
    large = synthesis.synthesise(chain, "osu018", sweep=True)
    assert [row["hierarchy"] for row in large["tried"]] == ["auto"]
    assert "not tried: about" in large["notes"][-1]


def options_of(name: str, how: str) -> tuple[str, ...]:
    kind = CATALOG[name].build[how]
    assert isinstance(kind, Choice)
    return kind.options


SMALL = Design("mac", {"a_width": 3, "b_width": 3, "accumulator_width": 8, "encoding": "booth"})


@pytest.mark.prove
@pytest.mark.usefixtures("shortest_sweep")
def test_a_sweep_tries_other_ways_to_build_a_design():
    assert synthesis.searched(SMALL) == ["encoding", "adder"]
    options: dict[str, Any] = {"sweep": True, "activity": "none"}
    plain = synthesis.synthesise_design(SMALL, "osu018", **options)
    assert [row["build"] for row in plain["tried"]] == [{}]
    assert plain["module"] == SMALL.module
    found = synthesis.synthesise_design(SMALL, "osu018", search_parameters=["encoding"], **options)
    others = [{"encoding": kind} for kind in options_of("mac", "encoding") if kind != "booth"]
    rows = [[row[key] for row in found["tried"]] for key in ("build", "hows")]
    assert rows == 2 * [[{}, *others]]
    best = min(found["tried"], key=lambda row: row["area_um2"] * row["period_ns"])
    assert found["parameters"] == {**SMALL.parameters, **best["build"]}
    assert found["module"] == Design("mac", found["parameters"]).module
    assert (found["area_um2"], found["period_ns"]) == (best["area_um2"], best["period_ns"])
    assert found["area_um2"] * found["period_ns"] < plain["area_um2"] * plain["period_ns"]
    again = synthesis.synthesise_design(Design("mac", found["parameters"]), "osu018", **options)
    assert again["area_um2"] * again["period_ns"] <= found["area_um2"] * found["period_ns"]
    with pytest.raises(
        ValueError, match="search_parameters must be one of encoding, adder, not 'pipeline'"
    ):
        synthesis.synthesise_design(SMALL, "osu018", search_parameters=["pipeline"], **options)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [n for n in CATALOG if synthesis.searched(Design(n))])
def test_what_a_search_changes_is_seen_by_no_user(name):
    """Same ports, same latency, same throughput; the benches of a design hold its results."""
    size = {"k": 2} if name in ("adder_tree", "opt2", "cube") else {}  # else they take long
    base = Design(name, size)
    built = base.component()
    ports = {(port.name, len(port.value), port.inward) for port in flat_ports(built)}
    for how in synthesis.searched(base):
        for value in options_of(name, how):
            try:
                other = Design(name, {**size, how: value}).component()
            except ValueError:
                continue
            assert {(p.name, len(p.value), p.inward) for p in flat_ports(other)} == ports
            for fact in ("latency", "operations_per_cycle"):
                assert getattr(other, fact) == getattr(built, fact), (how, value)


PERIODS = {"": 3.0, "1": 4.0, "0.91": 3.1, "0.85": 3.3, "0.77": 2.9, "0.74": 2.8}
"""Of a netlist by its full adders; sizes for a shorter period gain nothing."""


class Told(search.Search):
    """A search whose points have these periods, and an energy that falls with them."""

    has_adders = True

    def fronts(self, number: int) -> list[str]:
        return ["tree"]

    def run(
        self, wanted: Iterable[tuple[int, Recipe, float]], *, required: bool = True
    ) -> list[dict[str, Any]]:
        found = [
            {
                "variant": number,
                "recipe": str(recipe),
                "period_ns": PERIODS[recipe.adders],
                "hierarchy": [],
            }
            for number, recipe, _ in wanted
        ]
        self.points += found
        return found


@pytest.mark.parametrize(
    ("period", "kept", "best"),
    [
        (4.0, [], "tree+amap+adders@1+sizes@4"),
        (3.0, ["0.77", "0.74"], "tree+amap+sizes@3"),
        (2.9, ["0.77", "0.74"], "tree+amap+adders@0.77+sizes@2.9"),
    ],
)
def test_fewer_full_adders_are_kept_where_none_meet_a_period(period, kept, best):
    """At 3 ns a netlist without full adders meets it, and is no reason to try no fewer of them."""
    told = Told(
        [],
        objective="energy",
        overhead_ns=0.0,
        period_ns=period,
        energy=lambda point: 10 - point["period_ns"],
    )
    told.quiet([0], ["amap"])
    adders = dict.fromkeys(Recipe.parse(point["recipe"]).adders for point in told.points)
    assert list(adders) == ["", "1", "0.91", "0.85", *kept]
    assert told.best()["recipe"] == best
    # What misses the period by little is tried once more, with sizes for a shorter one.
    again = [one for one in told.points if f"@{period:g}" not in one["recipe"]]
    assert {one["period_ns"] for one in again} == {
        late for late in PERIODS.values() if period < late < 1.05 * period
    }


@pytest.mark.prove
def test_least_energy_for_a_period(monkeypatch):
    """Of what meets the period the least energy counts, not the least area."""
    monkeypatch.setattr(search, "QUIET_MAPS", ("amap", "dch"))
    design = Design("opt1", {"a_width": 3, "b_width": 3, "accumulator_width": 10})
    ask: dict[str, Any] = {"objective": "energy", "period_ns": 2.4}
    found = synthesis.synthesise_design(design, "osu018", **ask, activity="normal")
    assert found["period_ns"] <= 2.4
    assert "+sizes@2.4" in found["recipe"]
    recipes = {point["recipe"] for point in found["sweep"]}
    assert {"tree+amap+sizes@2.4", "tree+amap+adders@1+sizes@2.4"} <= recipes
    swept = synthesis.synthesise_design(
        design, "osu018", **ask, activity="normal", sweep=True, search_parameters=["upper"]
    )
    assert {row["build"].get("upper") for row in swept["tried"]} == {None, "counter"}
    assert swept["power_mw"] * swept["period_ns"] <= 1.001 * found["power_mw"] * found["period_ns"]
    with pytest.raises(ValueError, match="objective energy needs period_ns"):
        synthesis.synthesise_design(design, "osu018", objective="energy")
    with pytest.raises(ValueError, match="objective must be one of density, period, area with a"):
        synthesis.synthesise_design(design, "generic", objective="energy", period_ns=50.0)


@pytest.mark.prove
def test_builds_that_are_better_alone_are_combined(monkeypatch):
    monkeypatch.setattr(search, "MAPS", {"amap": abc_scripts.MAPS["amap"]})
    for name in ("RELAXED", "ADDERS"):
        monkeypatch.setattr(search, name, ())
    monkeypatch.setattr(search, "RESIZED", 0)
    design = Design(
        "mac",
        {
            "a_width": 4,
            "b_width": 4,
            "accumulator_width": 10,
            "adder": "ripple",
            "encoding": "operator",
        },
    )
    found = synthesis.synthesise_design(
        design,
        "osu018",
        sweep=True,
        objective="period",
        activity="none",
        search_parameters=["adder", "encoding"],
    )
    tried = [row["build"] for row in found["tried"]]
    alone = [build for build in tried if len(build) == 1]
    assert {name for build in alone for name in build} == {"adder", "encoding"}
    both = [row for row in found["tried"] if len(row["build"]) == 2]
    assert len(both) == 1
    assert both[0]["period_ns"] == min(row["period_ns"] for row in found["tried"])


@pytest.mark.prove
def test_the_best_recipe_gets_other_sizes_at_all_its_targets(monkeypatch):
    monkeypatch.setattr(search, "MAPS", {name: abc_scripts.MAPS[name] for name in ("dch2", "amap")})
    monkeypatch.setattr(search, "RESIZED", 2)
    monkeypatch.setattr(search, "ADDERS", ())
    found = synthesis.synthesise_design(SMALL, "osu018", sweep=True, activity="none")
    targets: dict[str, set[float]] = {}
    for point in found["sweep"]:
        targets.setdefault(point["recipe"], set()).add(point["delay_target_ns"])
    own = [found for recipe, found in targets.items() if "sizes" in recipe]
    assert sorted(map(len, own))[0] == 1 < sorted(map(len, own))[1]
    sized = max((recipe for recipe in targets if "sizes" in recipe), key=lambda r: len(targets[r]))
    assert targets[sized] == targets[sized.removesuffix("+sizes@density")]
    first = [point for point in found["sweep"] if "sizes" in point["recipe"]][:2]
    assert sized == min(first, key=lambda point: point["area_um2"] * point["period_ns"])["recipe"]


@pytest.mark.prove
def test_a_brief_sweep_has_all_mappings_and_sizes_of_the_best(monkeypatch):
    monkeypatch.setattr(
        search, "MAPS", {name: abc_scripts.MAPS[name] for name in ("dch2", "amap", "wide")}
    )
    monkeypatch.setattr(search, "BRIEFLY", 2)
    found = synthesis.synthesise_design(SMALL, "osu018", sweep=True, brief=True, activity="none")
    points = {point["recipe"]: point["area_um2"] * point["period_ns"] for point in found["sweep"]}
    mapped = {name: cost for name, cost in points.items() if "sizes" not in name}
    assert set(mapped) == {"tree+dch2", "tree+amap", "tree+wide"}
    best = sorted(mapped, key=mapped.__getitem__)[:2]
    assert set(points) - set(mapped) == {f"{name}+sizes@density" for name in best}
    assert points[found["recipe"]] == min(points.values())
    cases: list[dict[str, Any]] = [
        {"sweep": False},
        {"objective": "energy", "period_ns": 9.0},
        {"search_recipes": 9},
    ]
    for refused in cases:
        ask = {"sweep": True, "brief": True, "activity": "none", **refused}
        with pytest.raises(ValueError, match="brief needs sweep for density, period or area"):
            synthesis.synthesise_design(SMALL, "osu018", **ask)
