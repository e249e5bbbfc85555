"""Figures by ``import carrysave``: what they are, how they show, and what is refused."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import carrysave
from carrysave.errors import ArgumentError
from verif.support.command import Run
from verif.support.schemas import check

SMALL: dict[str, Any] = {"a_width": 2, "b_width": 2, "accumulator_width": 6}
MAC = carrysave.Design("mac", SMALL)
COUNTER = """
module counter(input clk, input rst, output reg [3:0] q);
  always @(posedge clk) if (rst) q <= 0; else q <= q + 1;
endmodule
"""


def test_figures_are_those_of_the_command(run: Run, tmp_path: Path) -> None:
    found = MAC.synthesise("osu018")
    said = json.loads(run("synth", "mac", *_sets(), "--json").out)
    for key in ("area_um2", "period_ns", "fmax_mhz", "power_mw", "pj_per_mac", "gops"):
        assert getattr(found, key) == found[key] == said[key]
    assert (found.module, found.target, found.luts, found.placed) == (
        MAC.module,
        "osu018",
        *2 * [None],
    )
    assert found.command == f"{MAC!r}.synthesise('osu018')"
    assert f"{found.area_um2:,.0f} um2" in str(found)
    files = found.save(tmp_path / "saved")
    assert check("synthesis", tmp_path / "saved" / f"{MAC.module}.osu018.json") == found.facts
    assert [path.exists() for path in files] == [True] * 2


def _sets() -> list[str]:
    return [word for name, value in SMALL.items() for word in ("-p", f"{name}={value}")]


@pytest.mark.prove
@pytest.mark.usefixtures("short_sweep")
def test_a_search_has_a_picture() -> None:
    found = MAC.synthesise("osu018", sweep=True)
    assert list(found.pictures()) == ["sweep"]
    html = found._repr_html_()
    assert html.count("<img") == 1
    assert f"{found['gops_per_mm2']:,.1f} GOPS/mm2" in html
    assert "<script" not in html
    # What was given stays: the search may not change it.
    told = carrysave.Design("mac", SMALL, adder="ripple", encoding="none")
    assert told.synthesise("osu018", sweep=True)["parameters"] == told.parameters


@pytest.mark.prove
def test_a_design_for_an_fpga_is_built_for_it() -> None:
    found = MAC.synthesise("xilinx7")
    assert found["parameters"]["target"] == "xilinx7"
    assert found.area_um2 is None
    assert found.luts or found.dsps
    told = carrysave.Design("mac", SMALL, target="generic").synthesise("xilinx7")
    assert told["parameters"]["target"] == "generic"


def test_ours_and_others_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "counter.v").write_text(COUNTER)
    theirs = carrysave.Verilog([tmp_path / "counter.v"], "counter", operations=1)
    assert carrysave.synthesise(theirs, "osu018").gops == pytest.approx(
        1 / carrysave.synthesise(theirs, "osu018")["period_ns"]
    )
    found = carrysave.compare(theirs, MAC, target="osu018")
    assert found.names == ["counter", MAC.module]
    first, second = found.results
    assert first.area_um2 is not None
    assert second.area_um2 is not None
    assert found.ratios[1]["area_um2"] == pytest.approx(second.area_um2 / first.area_um2)
    assert [row["design"] for row in found.records()] == found.names
    assert "<img" in found._repr_html_()
    assert "1.00x" in found.pictures()["compare"].decode()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"target": "ecp4"}, "target must be one of osu018, generic, ecp5"),
        ({"period_ns": -1}, "period_ns must be greater than 0 ns, and finite, not -1"),
        ({"wire_cap": 0.3}, "wire_cap needs place"),
        ({"target": "ecp5", "place": True}, "place is for cell libraries; ecp5 is placed"),
        ({"seeds": 3}, r"part and seeds need target ecp5\|"),
        ({"objective": "energy", "sweep": True}, "objective energy needs period_ns"),
        ({"target": ["a.v"]}, "target must be a name or a Liberty file"),
    ],
)
def test_errors_of_figures_name_arguments(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{says}"):
        MAC.synthesise(**options)


def test_comparisons_that_are_none() -> None:
    with pytest.raises(ArgumentError, match="compare needs two designs or more, not 1"):
        carrysave.compare(MAC)
    with pytest.raises(ArgumentError, match="designs must differ, not "):
        carrysave.compare(MAC, MAC)
    with pytest.raises(ValueError, match="names must be 2, one for each, not 1"):
        carrysave.compare(MAC, carrysave.Design("mac"), names=["a"])


def test_tables_of_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    found = MAC.synthesise("osu018")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"to_pandas needs pandas; pip install 'carrysave\[pandas\]'"
    ):
        found.to_pandas()
    monkeypatch.undo()
    table = pytest.importorskip("pandas").DataFrame(found.records())
    assert found.to_pandas().equals(table)
    assert table["area_um2"][0] == found.area_um2


def test_an_estimate_is_that_of_the_command(run: Run, tmp_path: Path) -> None:
    design = carrysave.Design("systolic_os", m=4, n=4, k_max=1024)
    found = carrysave.estimate(design)
    said = run("estimate", "systolic_os", "-p", "m=4", "-p", "n=4", "-p", "k_max=1024", "--json")
    assert check("estimate", said.out) == found.facts
    area = found.figures["area_um2"]
    assert area["low"] < area["estimate"] < area["high"]
    assert (found.level, found.notes) == (0.9, [])
    assert found.records()[0] == {"figure": "area_um2", **area}
    for text in (str(found), found._repr_html_()):
        assert f"{area['estimate']:,.0f}" in text
        assert f"from {found.measured} designs that were measured" in text
    assert found.command == f"carrysave.estimate({design!r})"
    with pytest.raises(ArgumentError, match=r"^target must be one of osu018, of which carrysave"):
        carrysave.estimate(design, "ecp5")
    with pytest.raises(ArgumentError, match="k_max of systolic_os must be 1024"):
        carrysave.estimate(carrysave.Design("systolic_os", m=4, n=4, k_max=64))
    (tmp_path / "own.json").write_text("{}")
    with pytest.raises(ArgumentError, match=r"own\.json: not what"):
        carrysave.estimate(design, model=tmp_path / "own.json")
