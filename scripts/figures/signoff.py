"""Stages of designs, of the evidence that `carrysave signoff` has kept: docs/figures/signoff.md.

carrysave signoff DESIGN -o build, then .venv/bin/python scripts/figures/signoff.py [--docs]
"""

import argparse
from pathlib import Path
from typing import Any

from carrysave.signoff.evidence import read
from hw.catalog import Design
from scripts.upkeep.pages import write_table

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = (
    *("design", "parameters", "D", "V", "lines", "branches", "toggles", "mutants"),
    *("requirements", "next stage lacks", "date", "revision"),
)


def main() -> None:
    """Read what was kept, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="write docs/figures/signoff.md")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "signoff")
    arguments = parser.parse_args()
    rows = [row_of(read(path)) for path in sorted(arguments.folder.glob("*.json"))]
    if not rows:
        raise SystemExit(f"no evidence: {arguments.folder} must have what carrysave signoff keeps")
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if arguments.docs:
        write_table("figures signoff", text)
    else:
        print(text)


def row_of(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return the row of a design."""
    design = Design(facts["design"], facts["parameters"])
    parameters = ", ".join(f"{key}={value}" for key, value in design.changed.items())
    parts = {one["name"]: one["facts"] for one in facts["parts"]}
    kinds = parts["coverage"].get("kinds", {})
    mutants = parts["mutants"]
    proven = mutants.get("equivalent", 0) + mutants.get("unreachable", 0)
    counts = (mutants.get("killed"), proven, mutants.get("alive"), mutants.get("undecided"))
    rows = parts["requirements"].get("rows", [])
    covered = sum(bool(row["covered"]) for row in rows)
    lacks: list[str] = next((texts for texts in facts["lacking"].values() if texts), [])
    return (
        f"`{design.name}`",
        f"`{parameters}`" if parameters else "",
        *facts["stages"],
        *(f"{one['hit']}/{one['total']}" for one in kinds.values()),
        *([""] * (3 - len(kinds))),
        " / ".join(str(count) for count in counts),
        f"{covered}/{len(rows)}",
        "; ".join(text.partition(" (")[0] for text in lacks),
        facts["date"],
        facts["revision"][:12],
    )


if __name__ == "__main__":
    main()
