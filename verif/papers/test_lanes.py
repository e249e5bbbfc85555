"""`carrysave reproduce xr-npe`: claims and files, with figures that are made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import synthesis
from carrysave.asic.options import Verilog
from carrysave.papers import lanes
from golden.npe.lane import LaneSpec
from hw.catalog import Design
from verif.papers.test_ratios import call
from verif.support.browser import Browser
from verif.support.schemas import check


def lane_area(design: Design) -> float:
    """Return 1000 um2 for each format, and 100 for each after the first."""
    count = design.parameters.get("formats", "int8").count(",") + 1
    return 1000.0 + 100.0 * (count - 1)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Design, dict[str, Any]]]:
    """Replace synthesis; the designs that it is asked for, and how."""
    asked: list[tuple[Design, dict[str, Any]]] = []

    def synthesise_design(design: Design, target: Any, **options: Any) -> dict[str, Any]:
        asked.append((design, options))
        several = "," in design.parameters.get("formats", "")
        return {
            "module": design.module,
            "target": "osu018",
            "area_um2": lane_area(design),
            "kge": lane_area(design) / 1e3,
            "period_ns": 3.0 if design.name == "sl8" else 2.0,
            "pj_per_mac": 6.0 if several else 5.0,
            "activity": options["activity"],
            "recipe": "x",
            "versions": {"tool": "1"},
        }

    def synthesise(verilog: Verilog, target: str, *, place: bool) -> dict[str, Any]:
        top = verilog.top
        assert Path(verilog.files[0]).read_text().count(f"module {top}(") == 1
        assert not place
        several = "int8_int4" in top
        return {"luts": 300 if several else 100, "ffs": 200 if several else 100, "dsps": 0}

    monkeypatch.setattr(synthesis, "synthesise_design", synthesise_design)
    monkeypatch.setattr(synthesis, "synthesise", synthesise)
    return asked


def test_claims_and_files(
    made_up: list[tuple[Design, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    assert call(monkeypatch, "xr-npe", "--quick", "-o", str(tmp_path), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {Path(file).name for file in found["files"]} == {
        f"xr-npe.quick.osu018.{end}" for end in ("json", "md", "svg")
    }
    check("reproduce", tmp_path / "reproduce" / "xr-npe.quick.osu018.json")
    ours = {claim["name"]: claim["ours"] for claim in found["claims"]}
    # Four lanes of 1000 um2 against one of 1300.
    assert ours["lane, area"] == ours["array, area"] == "-68 %"
    assert ours["lane, sharing factor"] == "3.08x"
    assert ours["lane, energy per product"] == ours["array, energy per product"] == "+20 %"
    assert ours["lane with a gated sum, energy per product"] == "+20 %"
    # Six products a cycle of 5 pJ; 6 and, of formats with two codes, 12 pJ of the shared lane.
    assert ours["the same, energy per cycle"] == "-70 %"
    assert ours["operations per operand byte"] == "2x to 4x"
    assert ours["int8 + int4 + e2m1, area"] == "+9 %"
    assert ours["lane with 4 registers, period"] == "1.50x"
    # Modules of the second FPGA have the same names.
    assert ours["xilinx7, LUTs"] == ours["ecp5, LUTs"] == "1.33x fewer"
    assert ours["xilinx7, FFs"] == "2.00x fewer"
    text = (tmp_path / "reproduce" / "xr-npe.quick.osu018.md").read_text()
    assert "| sum | 4,000 | 4.00 | - | - | - | - | 4,000 | - | - | - |" in text
    assert "carrysave reproduce xr-npe --quick" in text


def test_every_format_is_measured_alone_and_shared(
    made_up: list[tuple[Design, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(lanes, "count", lambda design, fpga: {"luts": 1, "ffs": 1})
    assert call(monkeypatch, "xr-npe", "-o", str(tmp_path)) == 0
    for name in LaneSpec.FORMATS:
        shared = [
            (design.name, "," in design.parameters["formats"])
            for design, options in made_up
            if options["activity"] == f"normal:{name}"
            and name in design.parameters["formats"].split(",")
        ]
        assert {(kind, several) for kind in ("sl8", "npe") for several in (False, True)} <= set(
            shared
        )


def test_lanes_alone_hold_as_many_products_as_the_shared_one() -> None:
    formats = LaneSpec.FORMATS
    k_max = lanes._k_max(formats)
    # The worst pair is E4M3 with itself: 2^47 / 448^2 / 2^18.
    assert k_max == 2674
    for name in formats:
        fields = lanes._fields((name,), k_max)
        assert fields["accumulator_width"] <= 48
        spec = LaneSpec(**fields)
        assert spec.k_max_words(0, 0) * spec.codes(0, 0) >= k_max - k_max % spec.codes(0, 0)


def test_page(
    made_up: list[tuple[Design, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    browser: Browser,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    html = tmp_path / "page.html"
    assert call(monkeypatch, "xr-npe", "--quick", "-o", str(tmp_path), "--html", str(html)) == 0
    assert f"wrote {html}\n" in capsys.readouterr().out
    text = browser.check(html, charts=1)
    for part in ("operations per operand byte", "carrysave reproduce xr-npe --quick"):
        assert part in text
