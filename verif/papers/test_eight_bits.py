"""`carrysave reproduce fp8-int8`: lanes, ratios and files, with figures that are made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import synthesis
from carrysave.papers import eight_bits
from golden.formats.element import ElementFormat
from golden.formats.names import parse
from hw.catalog import Design
from verif.papers.test_ratios import call
from verif.support.schemas import check


def made_up(design: Design, target: Any, **options: Any) -> dict[str, Any]:
    """Return an area by design, and a period that two registers halve."""
    area = {"opt1": 1000.0, "sl8": 2000.0, "float_mac": 1400.0}[design.name]
    period = 2.0 if design.parameters["pipeline"] == 2 else 4.0
    return {
        "module": design.module,
        "target": "osu018",
        "area_um2": area,
        "period_ns": period,
        "gops_per_mm2": 2 / period / area * 1e6,
        "recipe": str(options["sweep"]),
        "versions": {"tool": "1"},
    }


def test_lanes_take_a_pair_of_eight_bits_a_cycle() -> None:
    lanes = eight_bits.lanes()
    assert lanes[0][:2] == ("int8", "exact, 32 bits")
    assert len({lane[:2] for lane in lanes}) == len(lanes) == 7
    for name, _, designs in lanes:
        number = parse(name)
        assert isinstance(number, ElementFormat)
        assert number.width == 8
        for design in designs:
            assert design.component().operations_per_cycle == 2
            formats = {design.parameters.get(key, name) for key in ("formats", "a_format")}
            assert formats == {name}


def test_exact_sums_have_room_for_as_many_products() -> None:
    (int8, *_), (e4m3, *_) = (designs for _, _, designs in eight_bits.lanes()[:2])
    assert int8.spec.k_max_words(0, 0) == e4m3.spec.k_max_words(0, 0) == 1 << 16


@pytest.mark.parametrize("quick", [True, False])
def test_ratios_and_files(
    quick: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(synthesis, "synthesise_design", made_up)
    line = ["fp8-int8", *["--quick"] * quick, "-o", str(tmp_path)]
    assert call(monkeypatch, *line, "--json") == 0
    measured = json.loads(capsys.readouterr().out)
    stem = f"fp8-int8{'.quick' * quick}.osu018"
    assert {Path(file).name for file in measured["files"]} == {
        f"{stem}.{end}" for end in ("json", "md", "svg")
    }
    rows = check("reproduce", tmp_path / "reproduce" / f"{stem}.json")["eight_bits"]
    # Of each the one with registers, which is the denser; int8's is opt1.
    assert [row["module"] for row in rows[:2]] == [
        "opt1_pipeline2",
        "sl8_formats_e4m3_accumulator_width53_pipeline2",
    ]
    assert [row["area_ratio"] for row in rows] == [1.0, 2.0, *[1.4] * 5]
    assert [row["ratio"] for row in rows] == pytest.approx([1.0, 2.0, *[1.4] * 5])
    assert {row["recipe"] for row in rows} == {str(not quick)}
    text = (tmp_path / "reproduce" / f"{stem}.md").read_text()
    assert "| 1.5 to 2.8 | 2.00 | 2.00 |" in text
    assert "by area: e4m3 (exact, 53 bits); at equal GOPS: e4m3 (exact, 53 bits)" in text
