"""``carrysave results diff``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from carrysave.cli.options import console, errors
from carrysave.report.changes import share_text, value_text
from carrysave.report.store_changes import StoreChanges, changes_of
from hw.emit.user_files import shown

__all__ = ["print_changes"]

_WIDTH = 180  # characters of a table in a file or a pipe
_MOST = 20  # results of one side alone that are named


def print_changes(
    before: str,
    after: str,
    store: Path | str | None,
    where: str | None,
    threshold: float,
    *,
    raw: bool,
) -> int:
    """Print how results of two stores, or two revisions, differ; return 1 if any is worse."""
    changes = changes_of(before, after, store, where)
    if raw:
        print(json.dumps(changes.plain(threshold), indent=2))
    else:
        _print(changes, threshold)
    if count := len(changes.before.foreign | changes.after.foreign):
        errors.print(f"{count} rows are none of ours, and are not compared", highlight=False)
    return 1 if changes.worse(threshold) else 0


def _print(changes: StoreChanges, threshold: float) -> None:
    view = Table()
    for name in ("result", "parameters", "figure"):
        view.add_column(name, overflow="fold")
    for name in ("before", "after", "change"):
        view.add_column(name, justify="right", no_wrap=True)
    view.add_column("")
    for report, change in changes.changed():
        label = f"{change.figure.name.strip()}{', placed' if change.placed else ''}"
        values = [value_text(change.figure, one) for one in (change.before, change.after)]
        verdict = "worse" if change.is_worse(threshold) else ""
        cells = (_name(report), _parameters(report), label, *values, share_text(change), verdict)
        view.add_row(*map(escape, cells))
    if view.row_count:
        wide = console if console.is_terminal else Console(width=_WIDTH)
        wide.print(view)
    pairs = list(changes.pairs())
    gone = [old for _, old, new in pairs if old is not None and new is None]
    fresh = [new for _, old, new in pairs if new is not None and old is None]
    for side, reports in ((changes.before, gone), (changes.after, fresh)):
        if reports:
            named = [f"{_name(one)} {_parameters(one)}".strip() for one in reports[:_MOST]]
            more = len(reports) - len(named)
            text = "; ".join([*named, *([f"and {more} more"] if more else [])])
            console.print(
                escape(f"only in {side.name}: {shown(text, 8000)}"), highlight=False, soft_wrap=True
            )
    both = len(pairs) - len(gone) - len(fresh)
    worse = changes.worse(threshold)
    verdict = f"{worse} are worse" if worse else "none is worse"
    console.print(
        f"{both} results in both; {verdict}, with {threshold:.3g} of a figure allowed",
        highlight=False,
    )


def _name(report: Mapping[str, Any]) -> str:
    target = report["target"]
    return shown(str(report["module"]) + (f" on {target}" if target else ""), 200)


def _parameters(report: Mapping[str, Any]) -> str:
    return shown(" ".join(f"{name}={each}" for name, each in report["parameters"].items()), 400)
