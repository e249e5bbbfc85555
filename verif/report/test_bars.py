"""Pictures of bars: what is drawn, read from the SVG."""

from xml.etree import ElementTree

import pytest

from carrysave.report.bars import Bars, draw

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_are_as_long_as_their_values() -> None:
    """Parts of a bar are end to end, and the longest bar is as wide as its column."""
    parts = [[30.0, 0.0, 5.0], [10.0, 20.0, 0.0]]
    column = Bars("cycles", parts, ["red", "grey"], ["useful", "lost"], 400)
    root = ElementTree.fromstring(draw("a", ["p", "q", "r"], [column]))
    bars = [one.attrib for one in root.iter(f"{SVG}rect")]
    assert [float(one["width"]) for one in bars] == [300, 100, 0, 200, 50, 0]
    first = float(bars[0]["x"])
    assert [float(one["x"]) - first for one in bars] == pytest.approx(
        [0, 300, 0, 0, 0, 50], abs=0.1
    )
    assert len({one["y"] for one in bars}) == 3
    said = [one.text for one in root.iter(f"{SVG}title")]
    assert said[:2] == ["p: 30 useful", "p: 10 lost"]


@pytest.mark.parametrize(
    ("longest", "ticks"),
    [
        (0, ["0"]),
        (40, ["0", "20", "40"]),
        (11, ["0", "5", "10"]),
        (0.35, ["0", "0.1", "0.2", "0.3"]),
        (999999, ["0", "200,000", "400,000", "600,000", "800,000"]),
    ],
)
def test_axes_have_round_numbers(longest: float, ticks: list[str]) -> None:
    """From 0 on, and none beyond the longest bar."""
    root = ElementTree.fromstring(draw("", ["r"], [Bars("x", [[longest]], ["red"], [""], 100)]))
    texts = [one.text for one in root.iter(f"{SVG}text") if one.get("class") == "tick"]
    assert texts == ticks


def test_names_from_outside_are_text() -> None:
    """Marks of XML are escaped, and what is not printable."""
    data = draw("a<b>&\x1b", ["<x/>"], [Bars("n", [[1.0]], ["red"], ["k"], 10)])
    texts = [one.text for one in ElementTree.fromstring(data).iter(f"{SVG}text")]
    assert texts[:2] == ["a<b>&\\x1b", "<x/>"]
