"""Scores of mutants, of the runs of `make prove`: the table of docs/figures/mutants.md.

make prove, then .venv/bin/python scripts/figures/mutants.py [--docs]

Rows of designs that were not run this time stay as they are.
"""

import argparse
import json
import re
from pathlib import Path

from hw.catalog import Design
from scripts.upkeep.pages import PAGES, write_table

ROOT = Path(__file__).resolve().parents[2]
SCORES = ROOT / "build" / "mutants"
COLUMNS = ("design", "parameters", "seed", "mutants", "killed", "proven equal", "survived")


def main() -> None:
    """Read what was found, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="write docs/figures/mutants.md")
    docs = parser.parse_args().docs
    rows = {row[:2]: row for row in rows_of_page()} | {row[:2]: row for row in rows_of_scores()}
    if not rows:
        raise SystemExit(f"no scores: {SCORES} must have what make prove writes")
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(rows[key] for key in sorted(rows))]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if docs:
        write_table("figures mutants", text)
    else:
        print(text)


def rows_of_page() -> list[tuple[str, ...]]:
    """Return the rows that the page has."""
    page = (PAGES / "mutants.md").read_text()
    rows = re.findall(r"^\| `.*$", page, re.MULTILINE)
    return [tuple(cell.strip() for cell in row.strip("| ").split(" | ")) for row in rows]


def rows_of_scores() -> list[tuple[str, ...]]:
    """Return a row of each score."""
    rows = []
    for path in sorted(SCORES.glob("*.json")):
        one = json.loads(path.read_text())
        design = Design(one["design"], one["parameters"])
        parameters = ", ".join(f"{key}={value}" for key, value in design.changed.items())
        counts = (one["seed"], one["mutants"], one["killed"], one["equal"], len(one["faults"]))
        rows.append((
            f"`{design.name}`",
            f"`{parameters}`" if parameters else "",
            *map(str, counts),
        ))
    return rows


if __name__ == "__main__":
    main()
