"""The store of results: a table of a SQLite database, one row for each job that was done.

Columns of ``results``, for pandas, DuckDB or ``sqlite3``:

    key, kind, design, target, recipe   text; the key is the digest of all that it depends on
    p_<name>                            each parameter of the design: integer, real or text
    <figure>                            each number, text, truth value of a result: real or text
    seconds, who, at                    wall time of the job, user@host, UTC
    parameters, versions, value         JSON: as a whole, what the columns have in parts
    digest                              SHA-256 of `value`

A figure of a part of a result is ``<part>_<figure>``; lists are in ``value`` alone. A name whose
values are numbers here and text there has a second column, ``<name>_text``. ``failures`` has the
jobs that failed when they were tried last.

The driver alone writes; workers need not see its disk. Several drivers may have the same store.
"""

import contextlib
import hashlib
import json
import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import carrysave
from carrysave import cache
from carrysave.errors import ArgumentError
from carrysave.jobs.job import Job, Outcome, name_of, tool_versions

__all__ = ["COLUMNS", "PATIENCE", "SCHEMA", "Store", "check_version", "default_path", "explained"]

SCHEMA = 1
"""Version of the tables: ``user_version`` of the database."""
_APPLICATION = 0x63617379  # "casy": application_id, so that nobody else's database is written to
PATIENCE = 10.0  # seconds that a store may be locked
COLUMNS = {
    "key": "TEXT PRIMARY KEY",
    "kind": "TEXT",
    "design": "TEXT",
    "target": "TEXT",
    "recipe": "TEXT",
    "seconds": "REAL",
    "who": "TEXT",
    "at": "TEXT",
    "parameters": "TEXT",
    "versions": "TEXT",
    "value": "TEXT",
    "digest": "TEXT",
}
_TABLES = f"""
CREATE TABLE IF NOT EXISTS results ({", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())})
    WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS results_design ON results (design, target);
CREATE TABLE IF NOT EXISTS failures (
    key TEXT PRIMARY KEY, kind TEXT, label TEXT, error TEXT, text TEXT, log TEXT, attempts INTEGER,
    seconds REAL, who TEXT, at TEXT
) WITHOUT ROWID;
"""
_MOST_COLUMNS = 1900  # SQLite's own limit is 2000


def default_path() -> Path:
    """Return where the store is if no option says otherwise: ``$CARRYSAVE_STORE``, or the cache."""
    if chosen := os.environ.get("CARRYSAVE_STORE"):
        return Path(chosen).expanduser().resolve()
    return cache.folder() / "results.sqlite"


class Store:
    """A store that is open for a driver.

    Raises
    ------
    UsageError
        If it cannot be opened or written, is locked, of a newer version, or no store.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(
                "{store} {path}: {strerror}", path=path, strerror=error.strerror
            ) from None
        with self._explained():
            self._database = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            with self._explained():
                check_version(self._database, path)
                # Readers and a writer then do not wait for each other. Where that cannot be, as on
                # network drives, they wait.
                with contextlib.suppress(sqlite3.OperationalError):
                    self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")
                with self._writing():
                    for statement in _TABLES.split(";"):
                        self._database.execute(statement)
                    self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
                    self._database.execute(f"PRAGMA user_version = {SCHEMA}")
                self._columns = self._read_columns()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database: one file, if no other driver has it."""
        with contextlib.suppress(sqlite3.OperationalError):
            self._database.execute("PRAGMA busy_timeout = 0")
            self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()

    def find(self, key: str) -> dict[str, Any] | None:
        """Return ``value seconds who`` of a job that was done; None if it was not."""
        with self._explained():
            row = self._database.execute(
                "SELECT value, digest, seconds, who FROM results WHERE key = ?", [key]
            ).fetchone()
        # What was damaged is computed again.
        if row is None or _sha(row[0]) != row[1]:
            return None
        return {"value": json.loads(row[0]), "seconds": row[2], "who": row[3]}

    def add(self, outcome: Outcome) -> None:
        """Write what became of a job; a result replaces what failed before."""
        with self._explained(), self._writing():
            if outcome.failure is None:
                self._add_result(outcome)
                self._database.execute("DELETE FROM failures WHERE key = ?", [outcome.key])
            else:
                failure = outcome.failure
                self._database.execute(
                    "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        outcome.key,
                        _kind(outcome),
                        outcome.job.text,
                        failure.kind,
                        failure.text,
                        failure.log,
                        outcome.attempts,
                        outcome.seconds,
                        outcome.who,
                        _now(),
                    ],
                )

    def _add_result(self, outcome: Outcome) -> None:
        result = outcome.value if isinstance(outcome.value, dict) else {"result": outcome.value}
        facts = {**result, **outcome.job.facts}
        value = json.dumps(outcome.value)
        row: dict[str, Any] = {
            "key": outcome.key,
            "kind": _kind(outcome),
            "seconds": outcome.seconds,
            "who": outcome.who,
            "at": _now(),
            "value": value,
            "digest": _sha(value),
            "parameters": json.dumps(facts.get("parameters") or {}, sort_keys=True),
            "versions": json.dumps(_versions(outcome.job, facts), sort_keys=True),
            **{name: facts.get(name) for name in ("design", "target", "recipe")},
        }
        row |= self._placed(figures(facts))
        names = ", ".join(_quoted(name) for name in row)
        marks = ", ".join("?" * len(row))
        self._database.execute(
            f"INSERT OR REPLACE INTO results ({names}) VALUES ({marks})",
            list(row.values()),
        )

    def _placed(self, figures: Mapping[str, float | int | str]) -> dict[str, float | int | str]:
        """Return figures by their columns, new ones where there are none yet."""
        row: dict[str, float | int | str] = {}
        for name, value in figures.items():
            kind = _type(name, value)
            column = name
            if self._columns.get(column.lower(), kind) not in _TAKES[kind]:
                column = f"{name}_{kind.lower()}"
            if column.lower() not in self._columns:
                if len(self._columns) >= _MOST_COLUMNS:
                    continue  # `value` has it
                with contextlib.suppress(sqlite3.OperationalError):  # another driver was faster
                    self._database.execute(
                        f"ALTER TABLE results ADD COLUMN {_quoted(column)} {kind}"
                    )
                self._columns = self._read_columns()
            row[column] = float(value) if kind == "REAL" else value
        return row

    def _read_columns(self) -> dict[str, str]:
        rows = self._database.execute("SELECT name, type FROM pragma_table_info('results')")
        return {name.lower(): kind for name, kind in rows}

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            self._columns = self._read_columns()  # new ones are gone again
            raise
        self._database.execute("COMMIT")

    def _explained(self) -> contextlib.AbstractContextManager[None]:
        return explained(self.path)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say what is wrong with a store in the words of a user."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            text = f"locked by another program for more than {PATIENCE:g} s"
        elif code == sqlite3.SQLITE_NOTADB:
            text = "no store: not a SQLite database"
        elif code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
            raise OSError(f"store {path}: {error}") from None
        else:
            text = str(error)
        raise ArgumentError("{store} {path}: {text}", path=path, text=text) from None


def check_version(database: sqlite3.Connection, path: Path) -> None:
    """Refuse what is no store, or one of a newer version."""
    database.execute("BEGIN")  # so that no other driver makes the store in between
    try:
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
    finally:
        database.execute("ROLLBACK")
    if application != _APPLICATION and (tables or application or version):
        raise ArgumentError("{store} {path}: no store, but another program's database", path=path)
    if version > SCHEMA:
        raise ArgumentError(
            "{store} {path}: version {version}, of a newer carrysave; this one knows {schema}",
            path=path,
            version=version,
            schema=SCHEMA,
        )


def figures(facts: Mapping[str, Any]) -> dict[str, float | int | str]:
    """Return the numbers, texts and truth values of a result by the names of their columns."""
    result: dict[str, float | int | str] = {}
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
    return {name: value for name, value in result.items() if name.lower() not in COLUMNS}


_TAKES = {"INTEGER": {"INTEGER"}, "REAL": {"REAL"}, "TEXT": {"TEXT"}}


def _type(name: str, value: float | int | str) -> str:
    """Return the type of a column: parameters may be whole numbers, figures are never."""
    if isinstance(value, str):
        return "TEXT"
    whole = isinstance(value, int) and abs(value) < 1 << 63
    return "INTEGER" if whole and name.startswith("p_") else "REAL"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _kind(outcome: Outcome) -> str:
    return str(outcome.job.facts.get("kind") or name_of(outcome.job.function).partition(":")[2])


def _versions(job: Job, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the versions of all that made a result; workers have the same, or are refused."""
    ours = {"carrysave": carrysave.__version__, "python": platform.python_version()}
    return {**ours, **tool_versions(job.tools), **(facts.get("versions") or {})}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
