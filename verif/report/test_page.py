"""Pages: what is in them, how long they may be, and tables that serve terminals too."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.report import page, tables
from carrysave.report.page import LARGEST, Page, Picture, Scatter, front, render
from carrysave.report.tables import Column, Section

LESS = (Column("x", "{}", "less"), Column("y", "{}", "less"), Column("z", "{}", "more"))


def a_page(*parts: page.Part) -> Page:
    return Page("title", "command", {"carrysave": "1"}, parts)


def beaten(row: list[Any], other: list[Any], signs: tuple[int, int]) -> bool:
    pairs = [(sign * a, sign * b) for sign, a, b in zip(signs, row, other, strict=True)]
    return all(b <= a for a, b in pairs) and any(b < a for a, b in pairs)


@pytest.mark.parametrize(("x", "y", "signs"), [(0, 1, (1, 1)), (1, 0, (1, 1)), (0, 2, (1, -1))])
def test_front_is_what_nothing_beats(x: int, y: int, signs: tuple[int, int]) -> None:
    for seed in range(20):
        rows = np.random.default_rng(seed).integers(0, 12, (25, 3)).tolist()
        found = front(rows, LESS, x, y)
        pairs = [[row[x], row[y]] for row in rows]
        kept = [pair for pair in pairs if not any(beaten(pair, other, signs) for other in pairs)]
        assert {tuple(pairs[number]) for number in found} == set(map(tuple, kept))
        across = [pairs[number][0] for number in found]
        assert across == sorted(set(across))


def test_front_leaves_out_what_has_no_number() -> None:
    rows: list[list[Any]] = [
        [1, None, 1],
        [2, 2, 1],
        [float("nan"), 1, 1],
        [3, float("-inf"), 1],
        ["-", 0, 1],
    ]
    assert front(rows, LESS, 0, 1) == [1]
    assert front(rows, [Column("x"), *LESS[1:]], 0, 1) == []


def test_column_splits_form_and_unit() -> None:
    column = Column("area efficiency", "{:,.1f} GOPS/mm2")
    assert (column.figure, column.unit) == ("{:,.1f}", "GOPS/mm2")
    assert column.title == "area efficiency, GOPS/mm2"
    assert Column("share", "{:.0%}").title == "share"


def test_one_table_serves_terminal_and_page() -> None:
    table = Section("t", ("name", ("area", "{:,.0f} um2")), [("a", 1234.5), ("b", None)])
    assert table.lines == [["a", "1,234 um2"], ["b", "-"]]
    assert "| a | 1,234 um2 |" in tables.markdown(table)
    text = render(a_page(table))
    assert ">area, um2</th>" in text
    assert '<td data-v="1234.5">1,234</td>' in text
    assert "<td>-</td>" in text
    assert table.only(["area"]).lines == [["1,234 um2"], ["-"]]
    assert table.only(["area"]).names == 0


def test_vega_is_there_only_for_charts() -> None:
    table = Section("t", ("name", "x", "y"), [("a", 1.0, 2.0), ("b", 2.0, 1.0)])
    plain, drawn = render(a_page(table)), render(a_page(Scatter(table, "x", "y")))
    assert len(plain) < 30_000
    assert 800_000 < len(drawn) < 1_100_000
    assert "University of Washington" in drawn
    assert "University of Washington" not in plain
    # Nothing closes the scripts before their ends.
    assert drawn.count("</script") == drawn.count("<script") == 3


def test_same_page_has_the_same_bytes() -> None:
    table = Section("t", ("name", "x"), [("a", 1.0)])
    assert render(a_page(table)) == render(a_page(table))


def test_chart_has_figures_for_axes_only() -> None:
    table = Section("t", ("name", *LESS, "w"), [("a", 1, 2, 3, None), ("b", 2, 1, 2, "text")])
    (text,) = re.findall(
        r'<script type="application/json">(.*?)</script>',
        render(a_page(Scatter(table, "x", "z", marked=[1], mark="chosen"))),
    )
    facts = json.loads(text)
    assert (facts["x"], facts["y"], facts["axes"]) == (1, 3, [1, 2, 3])
    assert facts["fronts"] == {"1,2": [0, 1], "1,3": [0], "2,3": [1, 0]}
    with pytest.raises(ValueError, match="'nothing' is not in list"):
        render(a_page(Scatter(table, "nothing", "z")))


def test_long_tables_are_cut_and_say_so() -> None:
    rows = [(f"point {number}", number / 7) for number in range(120_000)]
    text = render(a_page(Section("t", ("name", ("x", "{:.3f}")), rows)))
    assert len(text.encode()) <= LARGEST
    assert "The first 10,000 of 120,000 rows; the JSON has all." in text
    assert "point 9999<" in text
    assert "point 10000<" not in text


def test_pictures_that_do_not_fit_are_left_out() -> None:
    large = Picture("p", b"<svg>" + b"x" * LARGEST + b"</svg>", "a large die")
    text = render(
        a_page(large, Section("t", ("name", "x"), [(f"point {n}", n) for n in range(99)]))
    )
    assert "left out, as a page has at most 3,000,000 bytes: a large die" in text
    assert "point 98<" in text


def test_page_that_is_too_long_is_refused(tmp_path: Path) -> None:
    long = page.Text("t", ["x" * 9_999] * 400)
    with pytest.raises(ValueError, match="a page must have at most 3,000,000 bytes, not 4,0"):
        page.write(tmp_path / "a.html", a_page(long))
    assert not list(tmp_path.iterdir())


def test_pictures_of_others_cannot_change_the_page() -> None:
    picture = b'<?xml version="1.0"?><svg><style>* { color: red }</style></svg>'
    text = render(a_page(Picture("p", picture, "says")))
    assert "color: red" not in text
    assert 'src="data:image/svg+xml;base64,' in text
    own = render(a_page(Picture("p", b'<?xml?><svg class="page-colours"><g/></svg>', "says")))
    assert '<svg class="page-colours"><g/></svg>' in own
    assert "<?xml" not in own
