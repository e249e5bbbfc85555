"""A search as a page: front, intervals, parallel axes, and sliders over the model that ships."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from carrysave.exploration import what_if
from carrysave.exploration.estimate import Estimator, shipped
from carrysave.exploration.front import OBJECTIVES
from carrysave.exploration.view import VERIFIED, tried
from carrysave.report.figures import FIGURES, short_versions
from carrysave.report.page import (
    Page,
    Part,
    Scatter,
    Text,
    WhatIf,
    package_versions,
    pictures,
)
from carrysave.report.tables import Column, Section

__all__ = ["page"]

_TITLE = "what if"


def page(report: Mapping[str, Any]) -> Page:
    """Return the page of a search, see :func:`carrysave.exploration.run.run`."""
    able = [row for row in report["points"] if row["allowed"] and row["verified"] is not False]
    others = [row for row in report["points"] if row not in able]
    guesses = report["estimated"]["points"] if able else []
    figures = _figures(report)
    parts: list[Part] = [_scatter(report, able, guesses, figures)] if able else []
    parts += pictures(report["files"], "Designs by the first two objectives, with their front.")
    if others:
        parts.append(
            Section(
                "no results",
                ["module", "why"],
                [
                    (row["module"], row["error"] or "not what the constraints of figures allow")
                    for row in others
                ],
            )
        )
    notes = [*report["notes"], *_estimates(report)]
    return Page(
        title=f"Search of designs on {report['target']}",
        says=tried(report),
        command=report["command"],
        versions={**package_versions("optuna"), **short_versions(report["versions"])},
        summary=[
            (f"best {name}", column.form.format(_best(able, name)))
            for name, column in zip(report["objectives"], figures, strict=True)
            if able
        ],
        parts=[*parts, _what_if(report, able), *([Text("notes", notes)] if notes else ())],
    )


def _figures(report: Mapping[str, Any]) -> list[Column]:
    """Return a column of each objective."""
    forms = {figure.key: Column("", figure.form).figure for figure in FIGURES}
    return [
        Column(name, forms.get(name, "{:,}"), "less" if OBJECTIVES[name] > 0 else "more")
        for name in report["objectives"]
    ]


def _scatter(
    report: Mapping[str, Any],
    able: list[dict[str, Any]],
    guesses: list[dict[str, Any]],
    figures: list[Column],
) -> Scatter:
    """Return the chart of the objectives with its table: what was measured, then estimates."""
    names = report["objectives"]
    axes = list(dict.fromkeys(name for row in (*able, *guesses) for name in row["values"]))
    placed = any(row["placed"] for row in able)
    more = [one._replace(head=f"{one.head}, placed") for one in figures] if placed else []
    ends = {name: (f"{name}, from", f"{name}, to") for name in names} if guesses else {}
    bounds = [
        one._replace(head=end, better="") for one in figures for end in ends.get(one.head, ())
    ]
    rows = [
        (
            row["module"],
            row["design"],
            *(_plain(row["values"].get(axis)) for axis in axes),
            *(row[name] for name in names),
            *((row["placed"] or {}).get(name) for name in names if placed),
            *([None] * len(bounds)),
            *(["measured"] if guesses else []),
            "front" if row["front"] else ", ".join(map(str, row["beaten_by"])),
            VERIFIED[row["verified"]],
        )
        for row in able
    ]
    rows += [
        (
            row["module"],
            row["design"],
            *(_plain(row["values"].get(axis)) for axis in axes),
            *(_short(row["figures"][one.head]["estimate"], one) for one in figures),
            *(None for name in names if placed),
            *(
                _short(row["figures"][one.head][end], one)
                for one in figures
                for end in ("low", "high")
            ),
            "estimated",
            None,
            None,
        )
        for row in guesses
    ]
    columns = ["module", "design", *axes, *figures, *more, *bounds]
    columns += [*(["known by"] if guesses else []), "beaten by", "verified"]
    marked = [number for number, row in enumerate(able) if row["front"]]
    x, y = (*names, *names)[:2]
    lines = ["design", *axes, *names]
    table = Section("designs", columns, rows)
    chart = Scatter(table, x, y, "design", marked, "front")
    return replace(chart, intervals=ends, lines=lines)


def _short(value: float, column: Column) -> float:
    """Round an estimate of what is counted."""
    return value if "." in column.form else round(value, 1)


def _estimates(report: Mapping[str, Any]) -> list[str]:
    """Say what is estimated, and what is not."""
    estimates = report["estimated"]
    count, left = len(estimates["points"]), estimates["left"]
    if not left:
        return []
    if not count:
        return [f"{left:,} designs were not measured, and are not estimated: too few were measured"]
    return [
        f"{count:,} of {left:,} designs that were not measured are estimated from those that were,"
        f" the most promising first: hollow points and dashed lines. Of such designs"
        f" {estimates['level']:.0%} are in their intervals; constraints of figures and benches are"
        " not looked at. What was measured has no interval"
    ]


def _what_if(report: Mapping[str, Any], able: list[dict[str, Any]]) -> Part:
    """Return sliders over the model of the target, if carrysave comes with one."""
    path = shipped(report["target"])
    if path is None:
        return Text(
            _TITLE,
            [
                f"No model of {report['target']} comes with carrysave: `carrysave estimate --fit"
                f" --target {report['target']}` makes one of what you measured."
            ],
        )
    start = {name: able[0][name] for name in ("design", "parameters")} if able else None
    return WhatIf(_TITLE, what_if.facts(Estimator.read(path), start))


def _plain(value: Any) -> Any:
    """Write a truth value as the command line has it."""
    return str(value).lower() if isinstance(value, bool) else value


def _best(rows: list[dict[str, Any]], name: str) -> float:
    return min((row[name] for row in rows), key=lambda value: OBJECTIVES[name] * value)
