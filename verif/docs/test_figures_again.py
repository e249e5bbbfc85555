"""Tables of figures are what their commands make today, and how they are compared."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import carrysave

ROOT = Path(carrysave.__file__).parents[1]
PROGRAM = str(ROOT / "scripts" / "upkeep" / "figures.py")
FIGURES = runpy.run_path(PROGRAM)
PAGES, LONG, TABLES = ROOT / FIGURES["PAGES"], FIGURES["LONG"], FIGURES["TABLES"]
Table, compare, make, table_of = (
    FIGURES[name] for name in ("Table", "compare", "make", "table_of")
)
TABLE = Table(names=("t",), line="", noise=(("cycles", 0.01),), other=("seconds",))
ROWS = [["what", "cycles", "seconds"], ["a", "1,000", "3"], ["b", "20 of 40", "4"]]


def changed(row: int, column: int, text: str) -> list[list[str]]:
    """Return the rows with another cell."""
    return [
        [text if (row, column) == (at, here) else cell for here, cell in enumerate(cells)]
        for at, cells in enumerate(ROWS)
    ]


def test_every_table_is_made_again_or_says_why_not() -> None:
    pages = "".join(page.read_text() for page in sorted(PAGES.glob("*.md")))
    marks = {name for name in re.findall(r"<!-- (.*) -->", pages) if f"end of {name}" in pages}
    again = [name for table in TABLES for name in table.names]
    assert sorted([*again, *LONG]) == sorted(marks)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.names[0])
def test_columns_with_noise_are_on_the_page(table: Any) -> None:
    heads = {cell for name in table.names for cell in table_of(PAGES, name)[0]}
    assert {name for name, _ in table.noise} | set(table.other) <= heads


@pytest.mark.parametrize(
    ("row", "column", "text", "says"),
    [
        (1, 1, "1,010", []),
        (1, 1, "990", []),
        (1, 1, "1,011", ["row 1 (a), cycles: 1,011, not 1,000"]),
        (2, 1, "20 of 41", ["row 2 (b), cycles: 20 of 41, not 20 of 40"]),
        (2, 1, "20 in 40", ["row 2 (b), cycles: 20 in 40, not 20 of 40"]),
        (1, 2, "9", []),
        (1, 0, "c", ["row 1 (a), what: c, not a"]),
    ],
)
def test_numbers_are_alike_within_their_noise(
    row: int, column: int, text: str, says: list[str]
) -> None:
    assert list(compare(TABLE, ROWS, changed(row, column, text))) == says


def test_rows_and_heads_are_those_of_the_page() -> None:
    assert list(compare(TABLE, ROWS, ROWS[:-1]))
    assert list(compare(TABLE, ROWS, changed(0, 1, "beats")))


@pytest.mark.prove
def test_a_table_is_made_on_a_copy(tmp_path: Path) -> None:
    """A script that writes a page writes none of the tree's."""
    before = (PAGES / "language.md").read_bytes()
    table = next(table for table in TABLES if "recurrent" in table.names)
    assert make(table, tmp_path) == []
    assert (PAGES / "language.md").read_bytes() == before


def test_a_script_that_fails_is_a_difference(tmp_path: Path) -> None:
    (what,) = make(Table(names=("x",), line="bench_language.py --parts x"), tmp_path)
    assert what.startswith("exit code 2: ")


def test_unknown_tables_are_named() -> None:
    for name, says in (("tokenz", "there is none"), ("boards", LONG["boards"])):
        done = subprocess.run([sys.executable, PROGRAM, name], capture_output=True, text=True)
        assert done.returncode == 1
        assert says in done.stderr


@pytest.mark.prove
def test_ten_commands_still_give_their_figures() -> None:
    """Drawn by the tree's revision: another ten after each change."""
    git = ["git", "rev-parse", "--short=8", "HEAD"]
    head = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    line = [sys.executable, PROGRAM, "--sample", "10", "--seed", str(int(head.stdout, 16))]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
