"""`carrysave reproduce`: ratios, files and errors, with figures that are made up."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from carrysave import cli
from carrysave.asic import synthesis
from carrysave.papers import ratios
from hw.catalog import Design
from verif.support.browser import Browser
from verif.support.schemas import check


def made_up(design: Design, target: Any, **options: Any) -> dict[str, Any]:
    """Return a result whose figures are a function of the design's name."""
    pe = design.parameters.get("pe", design.name)
    area = 1000.0 * (1 + len(pe)) + design.parameters.get("pipeline", 0)
    period = 2.0 if pe in ("mac", "laconic") else 1.0
    gops = 2 / period
    return {
        "module": design.module,
        "parameters": dict(design.parameters),
        "target": "osu018",
        "area_um2": area,
        "period_ns": period,
        "power_mw": 3.0,
        "pj_per_mac": 3.0 * period,
        "gops": gops,
        "gops_per_mm2": gops / area * 1e6,
        "gops_per_w": gops / 3e-3,
        "recipe": "x",
        "activity": "normal",
        "annotated": 1.0,
        "versions": {"tool": "1"},
    }


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Design]:
    """Replace synthesis; the designs that it is asked for."""
    asked: list[Design] = []

    def synthesise(design: Design, target: Any, **options: Any) -> dict[str, Any]:
        asked.append(design)
        return made_up(design, target)

    monkeypatch.setattr(synthesis, "synthesise_design", synthesise)
    return asked


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["carrysave", "reproduce", *arguments])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    assert isinstance(leaving.value.code, int)
    return leaving.value.code


@pytest.mark.parametrize("table", [ratios.hpca25, ratios.ent])
@pytest.mark.parametrize("quick", [True, False])
def test_reproduce_designs_exist_and_differ(table: ratios.Rows, quick: bool) -> None:
    rows = table(quick)
    assert len({row.name for row in rows}) == len(rows) >= 4
    for row in rows:
        assert not set(row.optimised) & set(row.baseline)
        # The same work on both sides, but for the bit-slice baseline, which is one element.
        sides = {
            tuple(getattr(design.spec, side, 1) for side in "mnk")
            for design in (*row.optimised, *row.baseline)
            if design.name != "laconic" and not row.name.startswith("bit-slice")
        }
        assert len(sides) <= 1


def test_reproduce_ratios_and_files(
    measured: list[Design],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(monkeypatch, "hpca25", "--quick", "-o", str(tmp_path), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert len(measured) == len(set(measured))
    assert {Path(file).name for file in found["files"]} == {
        f"hpca25.quick.osu018.{end}" for end in ("json", "md", "svg")
    }
    assert all(Path(file).stat().st_size > 100 for file in found["files"])
    by_name = {row["name"]: row for row in found["rows"]}
    cube = by_name["3D cube"]
    assert cube["paper"] == {"area_efficiency": 1.28, "energy_efficiency": 1.56}
    # Half the period in 5002 against 4002 um2; equal power.
    assert math.isclose(cube["ours"]["area_efficiency"], 2 * 4002 / 5002)
    assert math.isclose(cube["ours"]["energy_efficiency"], 2)
    assert "2.00 of the baseline's speed (period 0.50) in 1.25 of its area" in cube["why"]
    text = (tmp_path / "reproduce" / "hpca25.quick.osu018.md").read_text()
    assert "| 3D cube | " in text
    assert "carrysave reproduce hpca25 --quick" in text


def test_reproduce_takes_the_best_of_either_side(
    measured: list[Design], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert call(monkeypatch, "hpca25", "-o", str(tmp_path)) == 0
    table = check("reproduce", tmp_path / "reproduce" / "hpca25.osu018.json")
    matrix = next(row for row in table["rows"] if row["name"] == "2D matrix")
    assert matrix["optimised"]["parameters"]["pipeline"] == 0
    assert {d.parameters["pipeline"] for d in measured if d.name == "matrix_2d"} == {0, 1}


def test_reproduce_rejects_unknown_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "hpca24", "-o", str(tmp_path)) == 2
    assert "unknown table 'hpca24'; did you mean hpca25?" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_page(
    measured: list[Design],
    monkeypatch: pytest.MonkeyPatch,
    browser: Browser,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    html = tmp_path / "page.html"
    assert call(monkeypatch, "hpca25", "--quick", "-o", str(tmp_path), "--html", str(html)) == 0
    assert f"wrote {html}\n" in capsys.readouterr().out
    text = browser.check(html, charts=1)
    for part in ("bit-slice against Laconic, opt4c", "carrysave reproduce hpca25 --quick"):
        assert part in text
