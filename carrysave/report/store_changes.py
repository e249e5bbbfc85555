"""What changed between the results of two stores, or of two revisions in one."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from carrysave import jobs
from carrysave.errors import ArgumentError
from carrysave.report.changes import Change, changes, data

__all__ = ["Side", "StoreChanges", "changes_of"]

_REVISION = re.compile(r"[0-9A-Za-z.+]{4,80}", re.ASCII)
_STORE_ENDS = (".sqlite", ".db")

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Members
    -------
    name : what the user calls it.
    reports : the last result for each question, by its digest.
    foreign : key of each row that is not taken -> why.
    revisions : all that there are of its rows.
    shared : it is one revision of a store that may have others.
    """

    name: str
    reports: dict[str, Report]
    foreign: dict[str, str]
    revisions: frozenset[str]
    shared: bool = False


@dataclass(frozen=True)
class StoreChanges:
    """Two sides, and how results differ that both have or one."""

    before: Side
    after: Side

    def pairs(self) -> Iterator[tuple[str, Report | None, Report | None]]:
        """Yield the results that answer the same question, with its digest."""
        old, new = self.before.reports, self.after.reports
        for question in sorted(old | new):
            yield question, old.get(question), new.get(question)

    def changed(self) -> Iterator[tuple[Report, Change]]:
        """Yield each figure that both have, and that is not the same, with the later result."""
        for _, old, new in self.pairs():
            if old is not None and new is not None:
                yield from ((new, one) for one in changes(old, new) if one.before != one.after)

    def worse(self, threshold: float) -> int:
        """Count the results with a figure worse by more than a share, or gone as a whole.

        Of revisions nothing is gone: what a change does not touch is not done again.
        """
        return sum(
            not self.after.shared
            if new is None
            else old is not None and any(one.is_worse(threshold) for one in changes(old, new))
            for _, old, new in self.pairs()
        )

    def plain(self, threshold: float) -> dict[str, Any]:
        """Return all as plain data, results with a change or of one side alone."""
        reports = []
        for question, old, new in self.pairs():
            facts, _ = data(old, new, threshold)
            facts["figures"] = [row for row in facts["figures"] if row["before"] != row["after"]]
            if facts["figures"] or facts["state"] != "both":
                some: Report = new or old or {}
                sides = [None if one is None else one["revision"] for one in (old, new)]
                reports.append({
                    "question": question,
                    "parameters": some["parameters"],
                    "revisions": sides,
                    **facts,
                })
        return {
            "before": self.before.name,
            "after": self.after.name,
            "threshold": threshold,
            "compared": sum(bool(old and new) for _, old, new in self.pairs()),
            "worse": self.worse(threshold),
            "reports": reports,
            "foreign": {**self.before.foreign, **self.after.foreign},
        }


def changes_of(
    before: str, after: str, store: Path | str | None = None, where: str | None = None
) -> StoreChanges:
    """Compare two stores, or two revisions of one.

    Parameters
    ----------
    before, after : files or URLs of stores; else revisions, or what one alone begins with.
    store : where revisions are looked for.
    where : an SQL expression that all rows must fulfil.

    Raises
    ------
    UsageError
        If one is neither a store nor a revision that there is, once.
    """
    return StoreChanges(*(_side(name, store, where) for name in (before, after)))


def _side(name: str, store: Path | str | None, where: str | None) -> Side:
    if "://" in name or name.endswith(_STORE_ENDS) or Path(name).is_file():
        return _read(name, name, where)
    if not _REVISION.fullmatch(name):
        raise ArgumentError(
            "a side must be a store, or 4 or more characters of a revision, not {value!r}",
            value=name,
        )
    # Nothing else is in it, so that it may be a part of an expression.
    chosen = f"revision = '{name}'"
    with jobs.reading(store) as reader:
        if not reader.count(chosen):
            chosen = f"substr(revision, 1, {len(name)}) = '{name}'"
    side = _read(name, store, chosen if where is None else f"{chosen} AND (\n{where}\n)")
    revisions = side.revisions
    if not revisions:
        raise ArgumentError("{store} must have results of revision {value}, not none", value=name)
    if len(revisions) > 1:
        raise ArgumentError(
            "a revision must be one of {store}, not {value}, with which {revisions} begin",
            value=name,
            revisions=", ".join(sorted(revisions)),
        )
    return replace(side, shared=True)


def _read(name: str, store: Path | str | None, where: str | None) -> Side:
    """Read the last result for each question."""
    reports: dict[str, Report] = {}
    foreign: dict[str, str] = {}
    revisions: set[str] = set()
    with jobs.reading(store) as reader:
        for row, reason in reader.rows(where):
            if reason:
                foreign[row["key"]] = reason
                continue
            revisions.add(row["revision"] or "")
            last = reports.get(row["question"])
            if last is None or last["at"] < row["at"]:
                reports[row["question"]] = _report(row)
    return Side(name, reports, foreign, frozenset(revisions))


def _report(row: Mapping[str, Any]) -> Report:
    """Return a row as what is compared: figures, and what they may differ by."""
    value = json.loads(row["value"])
    result = value if isinstance(value, dict) else {}
    parameters = json.loads(row["parameters"])
    return {
        **{name: result.get(name) for name in ("activity", "hierarchy_mode", "device", "placed")},
        **{name: cell for name, cell in row.items() if isinstance(cell, int | float)},
        "module": result.get("module") or row["design"] or row["kind"],
        "target": row["target"],
        "recipe": row["recipe"],
        "library": row["library_sha256"],
        "versions": json.loads(row["versions"]),
        "parameters": parameters,
        "revision": row["revision"],
        "at": row["at"],
    }
