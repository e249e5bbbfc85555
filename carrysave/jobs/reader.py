"""Reads a store."""

import contextlib
import sqlite3
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from carrysave.errors import ArgumentError
from carrysave.jobs.store import PATIENCE, check_version, explained

__all__ = ["LIMIT", "select"]

LIMIT = 10.0
"""Seconds that an expression may take."""
_LONGEST = 1 << 28
"""Bytes of a text that an expression makes, or that a row has."""

Rows = list[tuple[Any, ...]]


def select(
    path: Path, where: str | None = None, table: str = "results"
) -> tuple[list[str], list[str], Rows]:
    """Return names, types and rows of a store, those for which an SQL expression is true.

    The expression can read, and nothing else.

    Raises
    ------
    UsageError
        If there is no store, it is of a newer version, or the expression is none, or not done in
        :data:`LIMIT` seconds.
    """
    if not path.is_file():
        raise ArgumentError(
            "{store} {path}: there is no such file; jobs that are done make one", path=path
        )
    with explained(path), contextlib.ExitStack() as stack:
        database = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro",
            uri=True,
            timeout=PATIENCE,
            check_same_thread=False,
        )
        stack.callback(database.close)
        check_version(database, path)
        kinds = list(database.execute("SELECT name, type FROM pragma_table_info(?)", [table]))
        database.set_authorizer(_may_read)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        # A comment in the expression ends with its line.
        condition = f" WHERE (\n{where}\n)" if where is not None else ""
        try:
            rows = _within(database, f"SELECT * FROM {table}{condition}", stack)
        except (sqlite3.DatabaseError, sqlite3.ProgrammingError, sqlite3.Warning) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in {
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
                sqlite3.SQLITE_IOERR,
            }:
                raise
            raise ArgumentError(
                "{where} must be an SQL expression over columns of {table}, not {value!r}: {error}",
                table=table,
                value=where,
                error=error,
            ) from None
    return [name for name, _ in kinds], [kind for _, kind in kinds], rows


def _within(database: sqlite3.Connection, query: str, stack: contextlib.ExitStack) -> Rows:
    """Return the rows of a query, which a thread of its own asks for.

    So this one hears signals and the clock also where SQLite is in a single function, such as a
    search in a long text, which no handler of its progress ends. `stack` closes the database later:
    not where that would wait for the thread.
    """
    answers: SimpleQueue[Rows | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(database.execute(query).fetchall())
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=LIMIT)
    except BaseException as error:
        database.interrupt()
        stack.pop_all()
        if isinstance(error, Empty):
            raise ArgumentError(
                "{where} must be done within {limit:g} s, and is not", limit=LIMIT
            ) from None
        raise
    if isinstance(answer, Exception):
        raise answer
    return answer


def _may_read(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    reads = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
    harmless = action == sqlite3.SQLITE_FUNCTION and second != "load_extension"
    return sqlite3.SQLITE_OK if action in reads or harmless else sqlite3.SQLITE_DENY
