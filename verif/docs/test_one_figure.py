"""No two figures for one thing: where a design has two, both places say by which recipe."""

import re
from collections import defaultdict
from pathlib import Path

import carrysave
from hw.catalog import CATALOG

ROOT = Path(carrysave.__file__).parents[1]
CELLS = ROOT / "docs" / "figures" / "cells.md"
LIBRARIES = ("sky130", "osu018", "gf180", "ihp")
PERIODS = {
    "mapped, ns": "mapped",
    "ns": "mapped",
    "period, ns": "mapped",
    "period_ns": "mapped",
    "placed, ns": "placed",
}
"""Columns of the least period, and how far each was taken."""
HOW = re.compile(r"\brecipes?\b|\bsearch|--sweep|--period|points")
"""What says how a figure was reached."""

Key = tuple[str, str, str]


def rows(section: str) -> list[dict[str, str]]:
    """Return the rows of all tables of a section, by their columns."""
    listed = []
    for table in re.findall(r"(?:^\|.*\n)+", section, re.M):
        head, _, *lines = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()
        ]
        listed += [dict(zip(head, line, strict=True)) for line in lines]
    return listed


def periods(page: str) -> dict[Key, dict[str, set[str]]]:
    """Return the periods of each design, library and tier, by the section that has them."""
    known: dict[Key, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for section in re.split(r"^(?=## )", page, flags=re.M)[1:]:
        (library,) = [name for name in LIBRARIES if name in section][:1] or [""]
        for row in rows(section):
            design = next(iter(row.values())).strip("`")
            for column, tier in PERIODS.items():
                if column in row and design.split("_pe_")[0] in CATALOG:
                    known[design, library, tier][section].add(row[column])
    return known


def unexplained(page: str) -> list[Key]:
    """Name what has two figures, where a section says nothing of how it came by its own."""
    return [
        key
        for key, sections in periods(page).items()
        if len(set().union(*sections.values())) > 1
        and not all(HOW.search(section) for section in sections)
    ]


def test_a_design_with_two_figures_says_why() -> None:
    page = CELLS.read_text()
    twice = [
        key for key, sections in periods(page).items() if len(set().union(*sections.values())) > 1
    ]
    assert ("systolic_os", "sky130", "mapped") in twice
    assert unexplained(page) == []


def test_two_figures_are_seen() -> None:
    table = "| module | mapped, ns |\n| --- | --- |\n| mac | {} |\n\n"
    one, two = (f"## {at}\n\nOn sky130.\n\n{table.format(at)}" for at in (1.5, 2.5))
    assert unexplained(one + two) == [("mac", "sky130", "mapped")]
    assert unexplained(one + two.replace("On", "One recipe on")) != []
    assert unexplained((one + two).replace("On", "One recipe on")) == []
    assert unexplained(one + one) == []
    assert unexplained(one + two.replace("sky130", "osu018")) == []


def test_readme_has_the_first_figure_or_says_how_its_own_was_made() -> None:
    """The best of a search, at the top of the page, is what a design has in general."""
    known = periods(CELLS.read_text())
    checked = 0
    for row in rows((ROOT / "README.md").read_text()):
        design, library = re.match(r"`(\w+)`", row.get("what", "")), row.get("on")
        if design is None or library not in LIBRARIES:
            continue
        for tier, figure in re.findall(
            r"(mapped|placed) (?:[\d,.]+ um2, )?([\d.]+) ns", row["figures"]
        ):
            (best,) = next(iter(known[design[1], library, tier].values()))
            assert figure == best or "recipe" in row["what"], row
            checked += 1
    assert checked == 4
