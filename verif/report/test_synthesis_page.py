"""Pages of syntheses, with figures that are made up, in a browser."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.report.comparison import compared
from carrysave.report.figures import path_table
from carrysave.report.page import Page, Scatter, write
from carrysave.report.synthesis_page import compare_page, synthesis_page
from carrysave.report.tables import Section
from verif.support.browser import Browser

POINTS = [("tree+nf", 2.0, 900.0), ("tree+amap", 3.0, 500.0), ("tree+wide", 2.5, 1000.0)]
PATH = [("a/CLK", "DFF", 0.0), ("a/Q", "DFF", 0.4), ("b/Y", "NAND2", 1.2)]


def result(name: str, area: float, period: float, **more: Any) -> dict[str, Any]:
    arrival, path = 0.0, []
    for point, cell, delay in PATH:
        arrival += delay
        path.append({"point": point, "cell": cell, "delay_ns": delay, "arrival_ns": arrival})
    return {
        "module": name, "target": "osu018", "area_um2": area, "period_ns": period, "cells": 12,
        "fmax_mhz": 1e3 / period, "gops": 2 / period, "gops_per_mm2": 2e6 / period / area,
        "glitches": 0.25, "recipe": "tree+nf", "activity": "normal operands", "luts": None,
        "conditions": {"resets": "ideal: rst"}, "critical_path": path, "notes": [f"of {name}"],
        "versions": {"abc": "UC Berkeley, ABC 1.01 (compiled today)", "yosys": "0.70"},
        "command": f"carrysave synth {name}", "files": [], **more,
    }  # fmt: skip


def searched() -> dict[str, Any]:
    sweep = [
        {
            "recipe": recipe,
            "hierarchy": "flat",
            "build": {},
            "delay_target_ns": 1.0,
            "period_ns": period,
            "area_um2": area,
        }
        for recipe, period, area in POINTS
    ]
    tried = [
        {
            "hierarchy": "flat",
            "build": build,
            "mapped_once": ["pe"],
            "recipe": "tree+nf",
            "points": 3,
            "area_um2": 900.0,
            "period_ns": 2.0,
        }
        for build in ({}, {"encoding": "ent"})
    ]
    placed = {
        "area_um2": 1000.0, "period_ns": 2.2, "pj_per_mac": 3.0, "power_mw": 1.0, "gops": 0.9,
        "gops_per_mm2": 900.0, "gops_per_mm2_die": 800.0, "utilisation": 0.8, "die_um2": 1250.0,
        "wire_um": 5000.0, "buffers": 3, "clock_buffers": 1,
        "congestion": {"mean": 1.0, "most": 2.0}, "critical_path": None, "conditions": "no routing",
        "technology": {"capacitance": 0.2, "resistance": 0.3, "source": "guess"},
    }  # fmt: skip
    corners = [{"name": name, "period_ns": 2.0} for name in ("slow", "fast")]
    return result("mac", 900.0, 2.0, sweep=sweep, tried=tried, placed=placed, corners=corners)


def test_page_of_a_search(browser: Browser, tmp_path: Path) -> None:
    picture = tmp_path / "mac.osu018.floor.svg"
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    found = searched()
    found["files"] = [str(picture)]
    made = synthesis_page(found)
    (chart,) = (part for part in made.parts if isinstance(part, Scatter))
    assert (chart.x, chart.y, list(chart.marked)) == ("minimum period", "area", [0])
    ((_, curve),) = chart.guides
    assert all(x * y == pytest.approx(1800) for x, y in curve)
    assert dict(made.summary)["area"] == "900 um2"
    text = browser.check(write(tmp_path / "a.html", made), charts=1)
    for part in (
        "mac on osu018", "power at: normal operands; ideal: rst", "2.000 ns", "Mapped and placed",
        "1.111", "Floor plan", "flat, encoding=ent", "Critical path of mac", "NAND2",
        "Corners of mac", "wires: 0.2 fF/um", "of mac",
        "carrysave synth mac", "25% of transitions", "yosys",
    ):  # fmt: skip
        assert part in text, part
    assert "compiled today" not in text


def test_page_of_an_fpga(browser: Browser, tmp_path: Path) -> None:
    steps = [
        {"from": "a", "to": to, "kind": kind, "delay_ns": delay, "arrival_ns": 1.0}
        for to, kind, delay in (("a", "clk-to-q", 0.5), ("b", "routing", 0.0), ("b", "setup", 0.5))
    ]
    found = result(
        "mac",
        1.0,
        4.0,
        luts=100,
        ffs=30,
        critical_path=steps,
        area_um2=None,
        blocks={"MULT18X18D": 2},
        conditions=None,
        activity=None,
    )
    text = browser.check(write(tmp_path / "a.html", synthesis_page(found)), charts=0)
    assert "2 MULT18X18D" in text
    (path,) = (
        part
        for part in synthesis_page(found).parts
        if isinstance(part, Section) and part.title.startswith("critical")
    )
    assert path.lines == [
        ["a", "", "clk-to-q", "0.50", "1.00"],
        ["a", "b", "setup", "0.50", "1.00"],
    ]


def test_page_of_a_comparison(browser: Browser, tmp_path: Path) -> None:
    names = ["mac", "theirs(clock=ck)", "opt1"]
    results = [result("mac", 900.0, 2.0), result("theirs", 450.0, 4.0), result("opt1", 990.0, 1.0)]
    made: Page = compare_page(compared(names, results, "carrysave compare mac ..."))
    chart = made.parts[0]
    assert isinstance(chart, Scatter)
    assert chart.table.lines[1] == [
        "theirs(clock=ck)",
        "450 um2",
        "4.000 ns",
        "250 MHz",
        "0.50 GOPS",
        "1,111.1 GOPS/mm2",
    ]
    figures = made.parts[1]
    assert isinstance(figures, Section)
    assert figures.lines[0] == ["area", "900 um2", "450 um2 (0.50x)", "990 um2 (1.10x)"]
    assert ["glitches", *["25% of transitions"] * 3] in figures.lines
    text = browser.check(write(tmp_path / "a.html", made), charts=1)
    for part in (
        "3 designs on osu018",
        "theirs(clock=ck)",
        "Critical path of opt1",
        "Figures and ratios to mac",
    ):
        assert part in text, part


def test_path_in_units_of_its_library() -> None:
    """Of gate equivalents a path has delays of FO4: page and notebook stopped at its keys."""
    for unit, key in (("FO4", "fo4"), ("ns", "ns")):
        steps = [
            {"point": f"r{at}/Q", "cell": "DFF", f"delay_{key}": at, f"arrival_{key}": at + 0.5}
            for at in (1.0, 2.0)
        ]
        table = path_table("mac", steps)
        assert [column[0] for column in table.columns[2:]] == [f"delay, {unit}", f"sum, {unit}"]
        assert table.rows[1] == ("r2.0/Q", "DFF", 2.0, 2.5)
