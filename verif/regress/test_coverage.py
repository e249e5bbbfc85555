"""Coverage of many runs as one."""

from typing import Any

from carrysave.regress.coverage import merge


def cross(points: list[str], hits: list[Any], holes: list[Any]) -> dict[str, Any]:
    return {"title": "Orders", "crosses": [{"points": points, "hits": hits, "holes": holes}]}


def test_holes_are_what_no_run_saw() -> None:
    points = ["speed", "size"]
    found = merge([
        ("a", cross(points, [["fast", "big", 2]], [["slow", "big"], ["slow", "small"]])),
        ("a", cross(points, [["fast", "big", 1], ["slow", "big", 4]], [["fast", "odd"]])),
        ("b", cross(points, [], [["fast", "big"]])),
    ])  # fmt: skip
    assert found == [
        {
            "design": "a", "title": "Orders", "points": points, "seen": 2, "legal": 4,
            "holes": [["fast", "odd"], ["slow", "small"]],
            "hits": [["fast", "big", 3], ["slow", "big", 4]],
        },
        {
            "design": "b", "title": "Orders", "points": points, "seen": 0, "legal": 1,
            "holes": [["fast", "big"]], "hits": [],
        },
    ]  # fmt: skip
    assert merge([]) == []
