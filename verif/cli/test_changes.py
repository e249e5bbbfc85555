"""``carrysave changes``: figures of two reports of synthesis, as Markdown for pipelines."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.report.figures import FIGURES
from verif.support.command import Run
from verif.support.schemas import check

BASE: dict[str, Any] = {
    "module": "mac_k1",
    "target": "osu018",
    "area_um2": 1000.0,
    "period_ns": 2.0,
    "fmax_mhz": 500.0,
    "dsps": 0,
    "cells": 10,
    "activity": "normal",
}


def write(path: Path, **new: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**BASE, **new}))
    return path


@pytest.mark.parametrize(
    ("new", "threshold", "row"),
    [
        ({}, 0, None),
        ({"area_um2": 1020.0}, 2, None),  # just as much as is allowed
        ({"area_um2": 1020.1}, 2, "| area | 1,000 um2 | 1,020 um2 | +2.01% | **worse** |"),
        ({"area_um2": 500.0}, 0, None),
        ({"fmax_mhz": 480.0}, 5, None),
        ({"fmax_mhz": 480.0}, 3, "| fmax | 500 MHz | 480 MHz | -4.00% | **worse** |"),
        ({"fmax_mhz": 900.0}, 0, None),
        ({"dsps": 1}, 90, "| DSPs | 0 | 1 | from 0 | **worse** |"),
        ({"period_ns": None}, 90, "| minimum period | 2.000 ns | - | gone | **worse** |"),
        ({"power_mw": 4.0}, 0, None),
        ({"cells": 99}, 0, None),  # neither better nor worse
    ],
)
def test_worse_by_more_than_the_threshold(
    run: Run, tmp_path: Path, new: dict[str, Any], threshold: float, row: str | None
) -> None:
    before, after = write(tmp_path / "a.json"), write(tmp_path / "b.json", **new)
    outcome = run("changes", before, after, "--threshold", threshold)
    assert (outcome.code, outcome.err) == (0 if row is None else 1, "")
    marked = [line for line in outcome.out.splitlines() if "**worse**" in line]
    assert marked == ([] if row is None else [row])
    assert ("none is worse" in outcome.out) == (row is None)


def test_json_says_the_same(run: Run, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write(old / "a.json", placed={"period_ns": 2.5})
    write(new / "a.json", area_um2=900.0, dsps=1, placed={"period_ns": 3.0}, activity="uniform")
    write(old / "b.json", module="gone")
    write(new / "c.json", module="new")
    text = run("changes", old, new, "--threshold", 5)
    outcome = run("changes", old, new, "--threshold", 5, "--json")
    assert (outcome.code, text.code) == (1, 1)
    found = check("changes", outcome.out)
    assert (found["threshold"], found["worse"]) == (0.05, 2)
    assert f"{found['worse']} of {len(found['reports'])} are worse" in text.out
    both, gone, made = found["reports"]
    assert [one["state"] for one in (both, gone, made)] == ["both", "gone", "new"]
    assert [one["worse"] for one in (both, gone, made)] == [True, True, False]
    assert (gone["module"], gone["figures"], both["conditions"]) == ("gone", [], ["activity"])
    shares = {(one["figure"], one["placed"]): one["share"] for one in both["figures"]}
    assert shares["area_um2", False] == pytest.approx(-0.1)
    assert shares["period_ns", True] == pytest.approx(0.2)
    assert shares["dsps", False] is None
    worse = [(one["figure"], one["placed"]) for one in both["figures"] if one["worse"]]
    assert worse == [("dsps", False), ("period_ns", True)]
    assert text.out.count("**worse**") == len(worse)
    assert run("changes", new, new, "--json").code == 0


@pytest.mark.parametrize("figure", [one for one in FIGURES if one.better], ids=lambda one: one.key)
def test_each_figure_is_judged(run: Run, tmp_path: Path, figure: Any) -> None:
    files = [write(tmp_path / f"{value}.json", **{figure.key: value}) for value in (100, 200)]
    rising, falling = run("changes", *files), run("changes", *reversed(files))
    assert (rising.code, falling.code) == ((1, 0) if figure.better == "less" else (0, 1))


def test_figures_with_wires_are_apart(run: Run, tmp_path: Path) -> None:
    before = write(tmp_path / "a.json", placed={"period_ns": 2.5})
    after = write(tmp_path / "b.json", placed={"period_ns": 3.0}, activity="uniform")
    outcome = run("changes", before, after)
    assert outcome.code == 1
    assert "| minimum period | 2.000 ns | 2.000 ns | +0.00% |  |" in outcome.out
    assert "| minimum period, placed | 2.500 ns | 3.000 ns | +20.00% | **worse** |" in outcome.out
    assert "Not the same in both: activity." in outcome.out


def test_folders_are_compared_by_file_name(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "old" / "a.json", module="a")
    write(tmp_path / "new" / "a.json", module="a", area_um2=900.0)
    write(tmp_path / "new" / "b.json", module="b|<i>")
    outcome = run("changes", "old", "new")
    assert outcome.code == 0
    assert "### a on osu018" in outcome.out
    assert "### b\\|\\<i\\> on osu018\n\nNew" in outcome.out
    outcome = run("changes", "new", "old", "--threshold", 20)
    assert outcome.code == 1
    assert "1 of 2 are worse" in outcome.out
    assert "**Gone.**" in outcome.out


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ({"target": "ecp5"}, "b.json: target must be osu018, as before, not ecp5"),
        ({"area_um2": "9"}, "b.json: area_um2: must be a number from 0 to 1e+30, not '9'"),
        ({"area_um2": float("nan")}, "area_um2: must be a number from 0 to 1e+30, not nan"),
        ({"area_um2": 10**400}, "area_um2: must be a number from 0 to 1e+30, not 1000"),
        ({"area_um2": -1}, "area_um2: must be a number from 0 to 1e+30, not -1"),
        ({"placed": {"period_ns": True}}, "placed.period_ns: must be a number from 0"),
        ({"placed": 3}, "b.json: placed: must be an object, not 3"),
        ({"module": None}, "b.json: must be what carrysave synth writes, with module and target"),
    ],
)
def test_broken_reports_are_refused(
    run: Run, tmp_path: Path, new: dict[str, Any], says: str
) -> None:
    outcome = run("changes", write(tmp_path / "a.json"), write(tmp_path / "b.json", **new))
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("none.json a.json", "none.json: No such file"),
        ("empty a.json", "empty: must be a file, as the other one is, or both must be folders"),
        ("empty empty", "empty: must have a report of synthesis, .json, not none"),
        ("a.json a.json --threshold -1", "--threshold must be a percentage from 0 up, not -1"),
        ("a.json a.json --threshold nan", "--threshold must be a percentage from 0 up, not nan"),
        ("text a.json", "text: Expecting value"),
    ],
)
def test_wrong_usage_is_refused(run: Run, tmp_path: Path, line: str, says: str) -> None:
    write(tmp_path / "a.json")
    (tmp_path / "text").write_text("none")
    (tmp_path / "empty").mkdir()
    outcome = run("changes", *line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert outcome.err.count("\n") == 1
