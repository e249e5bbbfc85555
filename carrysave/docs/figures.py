"""Figures of a design: rows of the tables of docs/figures that are about it, with their tier."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from carrysave.jobs.provenance import TIERS
from hw.catalog import CATALOG

__all__ = ["Figures", "design_of", "figures_of", "tables_in", "tiers_of"]


class Figures(NamedTuple):
    """Rows of one table.

    Members
    -------
    page : its file's name, without ``.md``.
    section : the heading above it.
    tier : what is said of it.
    heads, rows : cells, as text.
    """

    page: str
    section: str
    tier: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def figures_of(name: str, folder: Path) -> list[Figures]:
    """Return what the pages in a folder have of a design, of any parameters."""
    tables = []
    for table in tables_in(folder):
        rows = tuple(row for row in table.rows if design_of(row[0]) == name)
        if rows:
            tables.append(table._replace(rows=rows))
    return tables


def tiers_of(name: str, folder: Path) -> list[str]:
    """Return the tiers of all figures that there are of a design."""
    said = " ".join(table.tier for table in figures_of(name, folder))
    return [tier for tier in TIERS if re.search(rf"\b{tier}\b", said)]


def tables_in(folder: Path) -> Iterator[Figures]:
    """Yield the tables of all pages."""
    for path in sorted(folder.glob("*.md")):
        if path.stem == "index":
            continue
        section = tier = ""
        lines: list[tuple[str, ...]] = []
        for line in [*path.read_text().splitlines(), ""]:
            if line.startswith("#"):
                section, tier = line.lstrip("# "), tier if line.startswith("###") else ""
            elif line.startswith("Tier: "):
                tier = line.removeprefix("Tier: ").rstrip(".")
            if line.startswith("|"):
                lines.append(tuple(one.strip() for one in line.strip("|").split("|")))
            elif lines:
                yield Figures(path.stem, section, tier, lines[0], tuple(lines[2:]))
                lines = []


def design_of(text: str) -> str | None:
    """Return the design that a cell begins with, such as ``mac_pipeline1``: the longest name."""
    word = re.match(r"`?(\w+)", text)
    known = [name for name in CATALOG if word and f"{word[1]}_".startswith(f"{name}_")]
    return max(known, key=len, default=None)
