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


def _designs(report: dict[str, Any]) -> Section:
    seen = [name for name, count in report["counts"].items() if count]
    columns = ("design", *((name, "{:,}") for name in (*seen, "tests")), ("time", "{:,.1f} s"))
    rows = [
        [row["design"], *(row[name] or None for name in seen), row["tests"], row["seconds"]]
        for row in report["designs"]
    ]
    return Section("by design", columns, rows)


def _runs(report: dict[str, Any]) -> Section:
    columns = ("run", "mutant", "outcome", ("tests", "{:,}"), ("time", "{:.1f} s"), "why")
    names = ("label", "mutant", "outcome", "tests", "seconds", "why")
    return Section("runs", columns, [[row[name] for name in names] for row in report["runs"]], 3)


def _coverage(report: dict[str, Any]) -> Section:
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
        for row in report["coverage"]
    ]
    return Section("functional coverage of all runs", columns, rows, 3)


def _stages(rows: list[dict[str, Any]]) -> Section:
    """Return the stages of designs, see :func:`carrysave.signoff.evidence.known`."""
    lines = [[one["module"], *one["stages"], one["date"], one["revision"][:12]] for one in rows]
    heads = ["design", "design stage", "verification stage", "date", "revision"]
    return Section("stages, of evidence that is kept", heads, lines, 5)


def _totals(report: dict[str, Any]) -> list[str]:
    return [f"{count:,} {name}" for name, count in report["counts"].items() if count]


def print_regression(console: Console, report: dict[str, Any]) -> None:
    """Print the table of designs, what failed, what was never seen, and which mutants live."""
    show(console, _designs(report))
    for row in report.get("stages", ()):
        stages = ", ".join(row["stages"])
        print_line(console, f"{row['module']}: {stages}, as of {row['date']}")
    for row in report["reduced"]:
        print_line(console, f"{row['of']}{': ' + row['mutant'] if row['mutant'] else ''}")
        print_line(console, f"  {row['test']}: {row['why']}")
        print_line(console, f"  {row['command']}")
        if row["waves"]:
            print_line(console, f"  waves {row['waves']}")
    for row in report["runs"]:
        if row["outcome"] in {"error", "alive", "undecided"}:
            what = ": ".join(filter(None, (row["mutant"], row["why"])))
            print_line(console, f"{row['label']}: {row['outcome']}, {what}")
            if row["trace"]:
                print_line(console, f"  waves {row['trace']}")
    for row in report["coverage"]:
        if row["holes"]:
            what = f"{row['design']}, {row['title']}, {' x '.join(row['points'])}"
            print_line(console, f"{what}: {len(row['holes']):,} of {row['legal']:,} never seen")
    print_line(console, ", ".join(_totals(report)) or "nothing to run")


def make(report: dict[str, Any]) -> Page:
    """Return the page of a regression."""
    parts: list[Part] = [_designs(report)]
    pictures = [row for row in report["reduced"] if row["waves"]][:_PICTURES]
    if report["reduced"]:
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
            for row in report["reduced"]
        ]
        parts.append(Section("failures, reduced", columns, rows, 4))
    for row in pictures:
        parts += [
            Text(f"{row['test']} of {row['module']}", [row["why"], row["command"]]),
            *waves_of(Path(row["junit"]), Path(row["waves"])),
        ]
    if report["coverage"]:
        parts.append(_coverage(report))
    if report.get("stages"):
        parts.append(_stages(report["stages"]))
    parts += [_runs(report), Text("files", report["files"])]
    return Page(
        title=f"Regression: {'passed' if report['ok'] else 'FAILED'}",
        says=f"{report['configurations']} configurations a design, seeds"
        f" {report['seeds'][0]}..{report['seeds'][1]}, shard {report['shard']}",
        command=report["command"],
        versions=report["versions"],
        summary=[(name, f"{count:,}") for name, count in report["counts"].items() if count],
        parts=parts,
    )
