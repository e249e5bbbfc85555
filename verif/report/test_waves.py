"""Pictures of waves: every name beside its own values, edges where they are, digits that fit."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from carrysave.report.traces import Trace
from carrysave.report.waves import around, draw

SVG = "{http://www.w3.org/2000/svg}"
CLOCK = Trace("clk", 1, tuple((5.0 * place, "10"[place % 2]) for place in range(20)))
DATA = Trace(
    "i_data", 16, ((0.0, "0001001000110100"), (30.0, "x" * 4 + "0" * 12), (31.0, "1" * 16))
)
READY = Trace("ready<&", 1, ((0.0, "0"), (20.0, "1"), (60.0, "x")))


def picture(*traces: Trace, mark: float | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(draw(traces, 0, 100, mark=mark))


def shapes(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [path for path in root.iter(f"{SVG}path") if path.get("class", "").startswith(kind)]


def row(element: ElementTree.Element) -> int:
    """Return the row of the picture that something is in, by its title."""
    title = element.find(f"{SVG}title")
    assert title is not None
    name = re.split(r" =|,", title.text or "")[0]
    height = re.search(r"M\S+ (\S+?)[VHL]", element.get("d", ""))
    top = float(height[1] if height else element.get("y", "0"))
    return {"clk": 0, "i_data": 1, "ready<&": 2}[name] * 1000 + round(top)


def test_names_are_beside_their_values() -> None:
    root = picture(DATA, READY, CLOCK)
    names = [text for text in root.iter(f"{SVG}text") if text.get("class") == "name"]
    assert [name.text for name in names] == ["clk", "i_data", "ready<&"]
    bands = [float(name.get("y", "0")) for name in names]
    for element in (*shapes(root, "bit"), *shapes(root, "bus")):
        place, top = divmod(row(element), 1000)
        assert abs(top - bands[place]) <= 16


def test_values_have_titles_and_digits_that_fit() -> None:
    root = picture(DATA)
    assert [title.text for path in shapes(root, "bus") for title in path.iter(f"{SVG}title")] == [
        "i_data = 1234, 0 ns",
        "i_data = x000, 30 ns",
        "i_data = ffff, 31 ns",
    ]
    digits = [text.text for text in root.iter(f"{SVG}text") if text.get("pointer-events")]
    assert digits == ["1234", "ffff"]  # 1 ns is too short for digits
    (unknown,) = shapes(root, "bus unknown")
    assert unknown.find(f"{SVG}title").text == "i_data = x000, 30 ns"  # type: ignore[union-attr]


def test_edges_are_where_the_signal_changes() -> None:
    root = picture(CLOCK, mark=50)
    edges = [re.match(r"M(\S+) \S+V", path.get("d", "")) for path in shapes(root, "bit")]
    places = [float(edge[1]) for edge in edges if edge]
    assert len(places) == 19
    steps = {round(later - sooner, 1) for sooner, later in pairwise(places)}
    assert steps == {19.0}  # half of a cycle
    (mark,) = shapes(root, "mark")
    assert f"M{places[9]} " in mark.get("d", "")


def test_time_around_a_failure_is_drawn(tmp_path: Path) -> None:
    lines = [
        "$timescale 1ns $end $scope module top $end $var wire 1 ! clk $end"
        " $var wire 8 # n $end $upscope $end $enddefinitions $end"
    ]
    for cycle in range(500):
        lines += [f"#{4 * cycle}", "1!", f"b{cycle % 256:b} #", f"#{4 * cycle + 2}", "0!"]
    (tmp_path / "a.vcd").write_text("\n".join(lines) + "\n")
    root = ElementTree.fromstring(around(tmp_path / "a.vcd", 1600.0, cycles=6))
    said = [title.text for path in shapes(root, "bus") for title in path.iter(f"{SVG}title")]
    assert said[0] == "n = 8a, 1,576 ns"
    assert said[-1] == "n = 90, 1,600 ns"
    assert len(said) == 7
