"""Rows of a store: what the columns have of a result, and whether a row is one of ours."""

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isnan
from typing import Any

import carrysave
from carrysave.jobs.job import name_of, tool_versions
from carrysave.jobs.outcome import Outcome
from carrysave.jobs.provenance import tier_of

__all__ = ["COLUMNS", "SCHEMA", "digest_of", "figures", "foreign", "head_of", "kind_of", "now"]

SCHEMA = 2
"""Version of the tables, and of what the digest of a row is made of."""
COLUMNS = {
    "key": "TEXT PRIMARY KEY",
    "kind": "TEXT",
    "design": "TEXT",
    "target": "TEXT",
    "recipe": "TEXT",
    "tier": "TEXT",
    "seconds": "REAL",
    "who": "TEXT",
    "machine": "TEXT",
    "at": "TEXT",
    "revision": "TEXT",
    "library_sha256": "TEXT",
    "parameters": "TEXT",
    "versions": "TEXT",
    "question": "TEXT",
    "schema": "INTEGER",
    "value": "TEXT",
    "digest": "TEXT",
}
"""Columns that every result has, with their types in SQLite's words."""

Cell = float | int | str


def head_of(outcome: Outcome, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what :data:`COLUMNS` have of an outcome, but for the digest, by their names."""
    library = facts.get("library")
    ours = {"carrysave": carrysave.__version__, "python": platform.python_version()}
    # Workers have the same, or are refused.
    versions = {**ours, **tool_versions(outcome.job.tools), **(facts.get("versions") or {})}
    return {
        "key": outcome.key,
        "kind": kind_of(outcome),
        **{name: facts.get(name) for name in ("design", "target", "recipe")},
        "tier": tier_of(facts),
        "seconds": float(outcome.seconds),
        "who": outcome.who,
        "machine": outcome.machine or None,
        "at": now(),
        "revision": outcome.revision or None,
        "library_sha256": library.get("sha256") if isinstance(library, dict) else None,
        "parameters": json.dumps(facts.get("parameters") or {}, sort_keys=True),
        "versions": json.dumps(versions, sort_keys=True),
        "question": outcome.job.question,
        "schema": SCHEMA,
        "value": json.dumps(outcome.value),
    }


def figures(facts: Mapping[str, Any]) -> dict[str, Cell]:
    """Return the numbers, texts and truth values of a result by the names of their columns."""
    result: dict[str, Cell] = {}
    for name, value in dict(facts.get("parameters") or {}).items():
        if isinstance(value, str | int | float):
            result[f"p_{name}"] = value
    for name, value in facts.items():
        if name in {"parameters", "versions", "kind"} or name in COLUMNS:
            continue
        if isinstance(value, str | int | float):
            result[name] = value
        elif isinstance(value, dict):
            for part, inside in value.items():
                if isinstance(inside, str | int | float):
                    result[f"{name}_{part}"] = inside
    return {
        name: value
        for name, value in result.items()
        # SQLite has no NaN.
        if name.lower() not in COLUMNS and not (isinstance(value, float) and isnan(value))
    }


def digest_of(row: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all that a row has, by the names of its columns, but for the digest."""
    cells = {
        name.lower(): value for name, value in row.items() if value is not None and name != "digest"
    }
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


def foreign(row: Mapping[str, Any]) -> str:
    """Return why a row is none that a store of this version made; empty if it is one."""
    if (version := row.get("schema")) != SCHEMA:
        return f"of a store of version {1 if version is None else version}"
    if digest_of(row) != row.get("digest"):
        return "its digest does not fit its content"
    return ""


def kind_of(outcome: Outcome) -> str:
    """Return what kind of a job it was: its function, if it does not say."""
    return str(outcome.job.facts.get("kind") or name_of(outcome.job.function).partition(":")[2])


def now() -> str:
    """Return the time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
