"""Coverage of many runs as one."""

from typing import Any

from carrysave.regress.coverage import merge, of_parameters
from hw.catalog import Design


def cross(points: list[str], hits: list[Any], holes: list[Any]) -> dict[str, Any]:
    return {"title": "Orders", "crosses": [{"points": points, "hits": hits, "holes": holes}]}


def test_holes_are_what_no_run_saw() -> None:
    points = ["speed", "size"]
    found = merge([
        ("a", cross(points, [["fast", "big", 2]], [["slow", "big"], ["slow", "small"]])),
        ("a", cross(points, [["fast", "big", 1], ["slow", "big", 4]], [["fast", "odd"]])),
        ("b", cross(points, [], [["fast", "big"]])),
    ])
    assert found == [
        {
            "design": "a",
            "title": "Orders",
            "points": points,
            "seen": 2,
            "legal": 4,
            "holes": [["fast", "odd"], ["slow", "small"]],
            "hits": [["fast", "big", 3], ["slow", "big", 4]],
        },
        {
            "design": "b",
            "title": "Orders",
            "points": points,
            "seen": 0,
            "legal": 1,
            "holes": [["fast", "big"]],
            "hits": [],
        },
    ]
    assert merge([]) == []


def test_values_that_no_configuration_has_are_holes() -> None:
    values: dict[str, list[Any]] = {"a_width": [2, 5, 16], "a_signed": [False, True]}
    designs = [Design("mac", {"a_width": width}) for width in (2, 16, 9)]
    [found] = merge([("mac", of_parameters(one, values)) for one in designs])
    assert found["hits"] == [["a_signed", "True", 3], ["a_width", "16", 1], ["a_width", "2", 1]]
    assert found["holes"] == [["a_signed", "False"], ["a_width", "5"]]
