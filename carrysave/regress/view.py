"""A regression as tables, on a terminal and in a page."""

from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave.report.designs import print_line
from carrysave.report.page import Page, Part, Text
from carrysave.report.tables import Section, show
from carrysave.report.verification_page import waves_of

__all__ = ["make", "print_regression"]

_PICTURES = 3
"""Reduced failures whose waves are shown."""


def _designs(found: dict[str, Any]) -> Section:
    seen = [name for name, count in found["counts"].items() if count]
    columns = ("design", *((name, "{:,}") for name in (*seen, "tests")), ("time", "{:,.1f} s"))
    rows = [
        [row["design"], *(row[name] or None for name in seen), row["tests"], row["seconds"]]
        for row in found["designs"]
    ]
    return Section("by design", columns, rows)


def _runs(found: dict[str, Any]) -> Section:
    columns = ("run", "mutant", "outcome", ("tests", "{:,}"), ("time", "{:.1f} s"), "why")
    names = ("label", "mutant", "outcome", "tests", "seconds", "why")
    return Section("runs", columns, [[row[name] for name in names] for row in found["runs"]], 3)


def _coverage(found: dict[str, Any]) -> Section:
    columns = (
        "design",
        "what",
        "cross",
        ("seen", "{:,}"),
        ("of", "{:,}"),
        ("share", "{:.0%}", "more", 1),
        "never seen",
    )
    rows = [
        (
            row["design"],
            row["title"],
            " x ".join(row["points"]),
            row["seen"],
            row["legal"],
            row["seen"] / row["legal"] if row["legal"] else None,
            "; ".join(", ".join(bins) for bins in row["holes"][:5])
            + (f"; and {len(row['holes']) - 5} more" if len(row["holes"]) > 5 else ""),
        )
        for row in found["coverage"]
    ]
    return Section("functional coverage of all runs", columns, rows, 3)


def _totals(found: dict[str, Any]) -> list[str]:
    return [f"{count:,} {name}" for name, count in found["counts"].items() if count]


def print_regression(console: Console, found: dict[str, Any]) -> None:
    """Print the table of designs, what failed, what was never seen, and which mutants live."""
    show(console, _designs(found))
    for row in found["reduced"]:
        print_line(console, f"{row['of']}{': ' + row['mutant'] if row['mutant'] else ''}")
        print_line(console, f"  {row['test']}: {row['why']}")
        print_line(console, f"  {row['command']}")
        if row["waves"]:
            print_line(console, f"  waves {row['waves']}")
    for row in found["runs"]:
        if row["outcome"] in {"error", "alive", "undecided"}:
            what = ": ".join(filter(None, (row["mutant"], row["why"])))
            print_line(console, f"{row['label']}: {row['outcome']}, {what}")
            if row["trace"]:
                print_line(console, f"  waves {row['trace']}")
    for row in found["coverage"]:
        if row["holes"]:
            what = f"{row['design']}, {row['title']}, {' x '.join(row['points'])}"
            print_line(console, f"{what}: {len(row['holes']):,} of {row['legal']:,} never seen")
    print_line(console, ", ".join(_totals(found)) or "nothing to run")


def make(found: dict[str, Any]) -> Page:
    """Return the page of a regression."""
    parts: list[Part] = [_designs(found)]
    pictures = [row for row in found["reduced"] if row["waves"]][:_PICTURES]
    if found["reduced"]:
        columns = (
            "failure",
            "mutant",
            "test",
            "why",
            ("simulated", "{:,.0f} ns", "less"),
            ("transactions", "{:,}"),
            "command",
        )
        rows = [
            [
                row[name]
                for name in (
                    "of",
                    "mutant",
                    "test",
                    "why",
                    "simulated_ns",
                    "transactions",
                    "command",
                )
            ]
            for row in found["reduced"]
        ]
        parts.append(Section("failures, reduced", columns, rows, 4))
    for row in pictures:
        parts += [
            Text(f"{row['test']} of {row['module']}", [row["why"], row["command"]]),
            *waves_of(Path(row["junit"]), Path(row["waves"])),
        ]
    if found["coverage"]:
        parts.append(_coverage(found))
    parts += [_runs(found), Text("files", found["files"])]
    return Page(
        title=f"Regression: {'passed' if found['ok'] else 'FAILED'}",
        says=f"{found['configurations']} configurations a design, seeds"
        f" {found['seeds'][0]}..{found['seeds'][1]}, shard {found['shard']}",
        command=found["command"],
        versions=found["versions"],
        summary=[(name, f"{count:,}") for name, count in found["counts"].items() if count],
        parts=parts,
    )
