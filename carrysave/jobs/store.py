"""The store of results: a table of a database, one row for each job that was done.

The database is a SQLite file, or one of a PostgreSQL server. Columns of ``results``, for pandas,
DuckDB or SQL:

    key, kind, design, target, recipe   text; the key is the digest of all that it depends on
    tier                                how far figures were taken: mapped, placed, routed, timed,
                                        simulated, bounded
    p_<name>                            each parameter of the design: integer, real or text
    <figure>                            each number, text, truth value of a result: real or text
    seconds, who, machine, at           wall time of the job, user@host, processor and cores, UTC
    revision                            commit of the checkout that it was done by, ``+`` and a
                                        digest with changes; else the version of the package
    library_sha256                      digest of the cell library
    parameters, versions, value         JSON: as a whole, what the columns have in parts
    question                            digest of what was asked, whatever the source and tools
    schema                              version of the store that made the row
    digest                              SHA-256 of the whole row; one that does not fit is not ours

A figure of a part of a result is ``<part>_<figure>``; lists are in ``value`` alone. A name whose
values are numbers here and text there has a second column, ``<name>_text``. ``failures`` has the
jobs that failed when they were tried last.

The driver alone writes; workers need not see its disk. Several drivers may have the same store.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from carrysave import cache
from carrysave.errors import ArgumentError
from carrysave.jobs.outcome import Outcome
from carrysave.jobs.rows import (
    COLUMNS,
    SCHEMA,
    Cell,
    digest_of,
    figures,
    foreign,
    head_of,
    kind_of,
    now,
)
from carrysave.jobs.server import Server
from carrysave.jobs.sqlite_file import SqliteFile

__all__ = ["Database", "Store", "check_version", "default_path", "opened", "place_of"]

Database = SqliteFile | Server

_FAILURES = {
    "key": "TEXT PRIMARY KEY",
    **dict.fromkeys(("kind", "label", "error", "text", "log"), "TEXT"),
    "attempts": "INTEGER",
    "seconds": "REAL",
    "who": "TEXT",
    "at": "TEXT",
}
_INDICES = (
    "CREATE INDEX IF NOT EXISTS results_design ON results (design, target)",
    "CREATE INDEX IF NOT EXISTS results_at ON results (at)",
)


def default_path() -> Path:
    """Return the file that is the store by default: ``$CARRYSAVE_STORE``, or one of the cache."""
    if chosen := os.environ.get("CARRYSAVE_STORE"):
        return Path(chosen).expanduser().resolve()
    return cache.folder() / "results.sqlite"


def place_of(store: Path | str | None) -> Path | str:
    """Return where a store is: a file, or the URL of a server; by default :func:`default_path`."""
    text = str(store or os.environ.get("CARRYSAVE_STORE") or default_path())
    if text.startswith("sqlite:///"):
        text = text.removeprefix("sqlite:///")
    return text if "://" in text else Path(text).expanduser()


def opened(store: Path | str | None, *, reading: bool = False) -> Database:
    """Return the database of a store."""
    place = place_of(store)
    if isinstance(place, Path):
        return SqliteFile(place, reading=reading)
    return Server(place, reading=reading)


class Store:
    """A store that is open for a driver.

    Raises
    ------
    UsageError
        If it cannot be opened or written, is locked, of a newer version, or no store.
    """

    def __init__(self, store: Path | str | None = None) -> None:
        self._database = opened(store)
        try:
            with self._database.explained():
                check_version(self._database)
                self._database.prepare()
                with self._database.writing():
                    self._make_tables()
                self._columns = self._read_columns()
        except BaseException:
            self._database.close()
            raise

    def _make_tables(self) -> None:
        """Make what is not there yet; a store of a former version gets the columns that it lacks.

        Its rows stay, and say by their `schema` that they are none of this version.
        """
        database = self._database
        for table, columns in (("results", COLUMNS), ("failures", _FAILURES)):
            typed = ", ".join(f"{database.quoted(n)} {self._type(k)}" for n, k in columns.items())
            database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({typed})")
        there = self._read_columns()
        for name, kind in COLUMNS.items():
            if name not in there:
                self._add_column(name, kind)
        for index in _INDICES:
            database.execute(index)
        database.set_version(SCHEMA)

    def _type(self, kind: str) -> str:
        """Return a column's type, in the words of the database."""
        word, _, rest = kind.partition(" ")
        return f"{self._database.types[word]} {rest}".strip()

    def _add_column(self, name: str, kind: str) -> None:
        quoted = self._database.quoted(name)
        self._database.execute(f"ALTER TABLE results ADD COLUMN {quoted} {self._type(kind)}")

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
        """Let go of the database."""
        self._database.close()

    def find(self, key: str) -> dict[str, Any] | None:
        """Return ``value seconds who machine revision`` of a job that was done; None if it was not.

        A row that no store of this version made, or that was changed since, is none.
        """
        with self._database.explained():
            mark = self._database.mark
            rows = self._database.execute(f"SELECT * FROM results WHERE key = {mark}", [key])
        if not rows or foreign(rows[0]):
            return None
        row = rows[0]
        origin = {name: row[name] or "" for name in ("who", "machine", "revision")}
        return {"value": json.loads(row["value"]), "seconds": row["seconds"], **origin}

    def add(self, *outcomes: Outcome) -> None:
        """Write what became of jobs, as one change; a result replaces what failed before."""
        with self._database.explained(), self._writing():
            for outcome in outcomes:
                self._delete("failures", outcome.key)
                if outcome.failure is None:
                    self._delete("results", outcome.key)
                    self._insert("results", self._row(outcome))
                else:
                    self._insert("failures", _failed(outcome))

    def _row(self, outcome: Outcome) -> dict[str, Any]:
        result = outcome.value if isinstance(outcome.value, dict) else {"result": outcome.value}
        facts = {**result, **outcome.job.facts}
        row = head_of(outcome, facts) | self._placed(figures(facts))
        return row | {"digest": digest_of(row)}

    def _delete(self, table: str, key: str) -> None:
        self._database.execute(f"DELETE FROM {table} WHERE key = {self._database.mark}", [key])

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        names = ", ".join(map(self._database.quoted, row))
        marks = ", ".join([self._database.mark] * len(row))
        self._database.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values())
        )

    def _placed(self, cells: Mapping[str, Cell]) -> dict[str, Cell]:
        """Return figures by their columns, new ones where there are none yet."""
        row: dict[str, Cell] = {}
        taken: set[str] = set()  # SQL knows no capitals
        for name, value in cells.items():
            kind = _kind(name, value)
            column = self._column(name, kind)
            if column.lower() not in self._columns:
                self._columns = self._read_columns()  # another driver may have made it
                column = self._column(name, kind)
            if column.lower() in taken or not self._database.holds(column, value):
                continue  # `value` has it
            if column.lower() not in self._columns:
                if len(self._columns) >= self._database.most_columns:
                    continue
                self._add_column(column, kind)
                self._columns[column.lower()] = kind
            taken.add(column.lower())
            # SQLite keeps no sign of a zero.
            row[column] = float(value) + 0.0 if kind == "REAL" else _plain(value)
        return row

    def _column(self, name: str, kind: str) -> str:
        """Return the column of a figure: one that holds what its type says."""
        fits = self._columns.get(name.lower(), kind) == kind
        return name if fits else f"{name}_{kind.lower()}"

    def _read_columns(self) -> dict[str, str]:
        columns = self._database.columns("results")
        return {name.lower(): kind for name, kind in columns.items()}

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._database.writing():
                yield
        except BaseException:
            with contextlib.suppress(Exception):  # the database may be gone
                self._columns = self._read_columns()  # new ones are gone again
            raise


def _failed(outcome: Outcome) -> dict[str, Any]:
    """Return the row of a job that failed."""
    failure = outcome.failure
    assert failure is not None
    return {
        "key": outcome.key,
        "kind": kind_of(outcome),
        "label": outcome.job.text,
        "error": failure.kind,
        # PostgreSQL has no such characters, and what tools print may have.
        "text": failure.text.replace("\0", ""),
        "log": failure.log.replace("\0", ""),
        "attempts": outcome.attempts,
        "seconds": outcome.seconds,
        "who": outcome.who,
        "at": now(),
    }


def check_version(database: Database) -> int | None:
    """Return the version of a store, None if there is none yet; refuse one of a newer version."""
    version = database.version()
    if version is not None and version > SCHEMA:
        raise ArgumentError(
            "{store} {path}: version {version}, of a newer carrysave; this one knows {schema}",
            path=database.name,
            version=version,
            schema=SCHEMA,
        )
    return version


def _kind(name: str, value: Cell) -> str:
    """Return the type of a column: parameters may be whole numbers, figures are never."""
    if isinstance(value, str):
        return "TEXT"
    whole = isinstance(value, int) and abs(value) < 1 << 63
    return "INTEGER" if whole and name.startswith("p_") else "REAL"


def _plain(value: Cell) -> Cell:
    """Return a truth value as the number that a database has."""
    return int(value) if isinstance(value, bool) else value
