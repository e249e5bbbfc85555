"""Estimates of what a search did not measure: how many it takes, and of how many."""

import pytest

from carrysave.exploration.estimated import estimated
from carrysave.exploration.space import Space
from verif.explore.test_explore_page import NAMES, TABLE, measure


def test_few_measured_designs_estimate_none() -> None:
    points = Space.of_table(TABLE).points()
    rows = {
        n: {"error": None, **measure("mac", dict(points[n].design.parameters))} for n in range(9)
    }
    assert estimated(points, rows, NAMES, 1) == {
        "level": 0.9,
        "left": len(points) - 9,
        "points": [],
    }
    failed = {**rows, 9: {"error": "no", "gops": None, "area_um2": None}}
    assert estimated(points, failed, NAMES, 1)["points"] == []
    every = dict.fromkeys(range(len(points)), rows[0])
    assert estimated(points, every, NAMES, 1) == {"level": 0.9, "left": 0, "points": []}


def test_large_spaces_are_estimated_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    points = Space.of_table(TABLE).points()
    rows = {
        n: {"error": None, **measure("mac", dict(points[n].design.parameters))} for n in range(12)
    }
    monkeypatch.setattr("carrysave.exploration.estimated._LOOKED", 8)
    monkeypatch.setattr("carrysave.exploration.estimated._SHOWN", 5)
    some = estimated(points, rows, NAMES, 1)
    assert (some["left"], len(some["points"])) == (len(points) - 12, 5)
    assert estimated(points, rows, NAMES, 1) == some
