"""Reads a store."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from carrysave.errors import UsageError
from carrysave.jobs.store import PATIENCE, check_version, told

__all__ = ["select"]


def select(
    path: Path, where: str | None = None, table: str = "results"
) -> tuple[list[str], list[str], list[tuple[Any, ...]]]:
    """Return names, types and rows of a store, those for which an SQL expression is true.

    The expression can read, and nothing else.

    Raises
    ------
    UsageError
        If there is no store, it is of a newer version, or the expression is none.
    """
    if not path.is_file():
        raise UsageError(f"--store {path}: there is no such file; jobs that are done make one")
    with told(path), contextlib.closing(
        sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)
    ) as database:  # fmt: skip
        check_version(database, path)
        kinds = list(database.execute("SELECT name, type FROM pragma_table_info(?)", [table]))
        database.set_authorizer(_may_read)
        # A comment in the expression ends with its line.
        condition = f" WHERE (\n{where}\n)" if where is not None else ""
        try:
            rows = database.execute(f"SELECT * FROM {table}{condition}").fetchall()
        except (sqlite3.DatabaseError, sqlite3.ProgrammingError, sqlite3.Warning) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in {
                sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR,
            }:  # fmt: skip
                raise
            raise UsageError(
                f"--where must be an SQL expression over columns of {table}, not {where!r}: {error}"
            ) from None
    return [name for name, _ in kinds], [kind for _, kind in kinds], rows


def _may_read(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    reads = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
    harmless = action == sqlite3.SQLITE_FUNCTION and second != "load_extension"
    return sqlite3.SQLITE_OK if action in reads or harmless else sqlite3.SQLITE_DENY
