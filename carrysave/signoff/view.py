"""A sign-off as tables, on a terminal and in a page."""

from typing import Any

from rich.console import Console

from carrysave.report.designs import print_line
from carrysave.report.page import Page, Part, Text
from carrysave.report.tables import Section, show
from carrysave.signoff.stage import PARTS, RULES, STAGES

__all__ = ["make", "print_sign_off"]

_MOST = 200
"""Holes and mutants in a page."""


def _stages(facts: dict[str, Any]) -> Section:
    rows = [
        [stage, "no" if facts["lacking"][stage] else "reached", "; ".join(facts["lacking"][stage])]
        for stage in STAGES
    ]
    return Section("stages", ["stage", "reached", "lacks"], rows, 3)


def _parts(facts: dict[str, Any]) -> Section:
    rows = [[one["name"], one["outcome"], one["why"], PARTS[one["name"]]] for one in facts["parts"]]
    return Section("evidence", ["part", "outcome", "what came of it", "what it is"], rows, 4)


def print_sign_off(console: Console, facts: dict[str, Any]) -> None:
    """Print what stage a design has, what came of each part, and what the next stages lack."""
    design, verification = facts["stages"]
    print_line(console, f"{facts['module']}: {design}, {verification}")
    show(console, _parts(facts).only(["part", "outcome"]))
    for one in facts["parts"]:
        if one["why"]:
            print_line(console, f"{one['name']}: {one['why']}")
    for stage in STAGES:
        for text in facts["lacking"][stage]:
            if text.startswith(stage):
                print_line(console, f"lacks {text}")


def _facts_of(facts: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one["facts"] for one in facts["parts"] if one["name"] == name)


def _lists(facts: dict[str, Any]) -> list[Part]:
    """Return requirements, holes, mutants that live and crossings, as far as there are any."""
    parts: list[Part] = []
    requirements = _facts_of(facts, "requirements").get("rows", [])
    rows = []
    for one in requirements:
        covered = "; ".join(one["covered"]) or "HOLE: nothing covers it"
        rows.append([f"R{one['number']}", one["kind"], one["text"], one["source"], covered])
    if rows:
        heads = ["number", "kind", "requirement", "from", "covered by"]
        parts.append(Section("requirements", heads, rows, 5))
    coverage = _facts_of(facts, "coverage")
    if coverage:
        rows = [
            [kind, one["hit"], one["total"], one["hit"] / one["total"] if one["total"] else None]
            for kind, one in coverage["kinds"].items()
        ]
        figures = ("hit", "{:,}"), ("of", "{:,}"), ("share", "{:.1%}", "more", 1)
        parts.append(Section("coverage", ["kind", *figures], rows))
        holes = coverage["holes"]
        rows = [[one["kind"], one["at"], one["line"], one["argued"] or "open"] for one in holes]
        if rows:
            heads = ["kind", "where", "line", "argument"]
            parts.append(Section("holes of coverage", heads, rows[:_MOST], 4))
    living = _facts_of(facts, "mutants").get("living", [])
    if living:
        rows = [[one["mutant"], one["change"], one["outcome"], one.get("why")] for one in living]
        heads = ["mutant", "change", "outcome", "why"]
        parts.append(Section("mutants that the bench does not kill", heads, rows[:_MOST], 4))
    crossing = _facts_of(facts, "crossings").get("crossings", [])
    if crossing:
        rows = [[one["from"], one["to"], one["register"]] for one in crossing]
        parts.append(Section("crossings", ["from", "to", "register"], rows[:_MOST], 3))
    return parts


def make(facts: dict[str, Any]) -> Page:
    """Return the page of a sign-off."""
    design, verification = facts["stages"]
    rules = [
        f"{stage}: {'; '.join(demand.text for demand in demands)}"
        for stage, demands in RULES.items()
    ]
    return Page(
        title=f"Sign-off of {facts['module']}: {design}, {verification}",
        says=f"{facts['date']}, revision {facts['revision']}, seeds from {facts['seed']};"
        " stages are computed from evidence",
        command=facts["command"],
        versions=facts["versions"],
        summary=[("design", design), ("verification", verification)],
        parts=[
            _stages(facts),
            _parts(facts),
            *_lists(facts),
            Text("the rule", rules),
            Text("files", facts["files"]),
        ],
    )
