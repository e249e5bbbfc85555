"""Reads a store: all of it, or a part at a time."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from carrysave.errors import ArgumentError
from carrysave.jobs.rows import foreign
from carrysave.jobs.store import Database, check_version, opened

__all__ = ["Reader", "reading", "select"]

Rows = list[tuple[Any, ...]]
TABLES = ("results", "failures")


class Reader:
    """A store that is open to be read, and never written.

    Members
    -------
    names, kinds : of the columns of `table`; types are those of SQLite.
    """

    def __init__(self, database: Database, table: str) -> None:
        self._database = database
        self._table = table
        columns = database.columns(table)
        self.names, self.kinds = list(columns), list(columns.values())

    def count(self, where: str | None = None) -> int:
        """Return how many rows there are for which an SQL expression is true."""
        with self._database.explained():
            ((row,),) = self._database.batches(self._table, where, None, "count(*)")
        return int(row[0])

    def batches(self, where: str | None = None, latest: int | None = None) -> Iterator[Rows]:
        """Yield the rows for which an SQL expression is true, some at a time.

        Parameters
        ----------
        where : can read, and nothing else.
        latest : so many at most, the last that were written, the last first.

        Raises
        ------
        UsageError
            If the expression is none, or takes too long.
        """
        with self._database.explained():
            yield from self._database.batches(self._table, where, latest)

    def latest(self, most: int, where: str | None = None) -> tuple[Rows, int]:
        """Return the last rows for which an expression is true, the last first, and their count."""
        rows = [row for batch in self.batches(where, most) for row in batch]
        return rows, len(rows) if len(rows) < most else self.count(where)

    def rows(
        self, where: str | None = None, latest: int | None = None
    ) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield what :meth:`batches` does, each by names, and why it is none of ours, if so."""
        for batch in self.batches(where, latest):
            for cells in batch:
                row = dict(zip(self.names, cells, strict=True))
                yield row, foreign(row)


@contextlib.contextmanager
def reading(store: Path | str | None, table: str = "results") -> Iterator[Reader]:
    """Open a table of a store to read.

    Raises
    ------
    UsageError
        If there is no store, it is of a newer version, or locked.
    """
    if table not in TABLES:
        raise ArgumentError("{table} must be one of {legal}", legal=", ".join(TABLES))
    database = opened(store, reading=True)
    try:
        with database.explained():
            if check_version(database) is None:
                raise ArgumentError(
                    "{store} {path}: there is none yet; jobs that are done make one",
                    path=database.name,
                )
            reader = Reader(database, table)
        yield reader
    finally:
        database.close()


def select(
    store: Path | str | None, where: str | None = None, table: str = "results"
) -> tuple[list[str], list[str], Rows]:
    """Return names, types and rows of a store, those for which an SQL expression is true.

    The expression can read, and nothing else.

    Raises
    ------
    UsageError
        If there is no store, it is of a newer version, or the expression is none, or not done in
        :data:`carrysave.jobs.sqlite_file.LIMIT` seconds.
    """
    with reading(store, table) as reader:
        return reader.names, reader.kinds, [row for rows in reader.batches(where) for row in rows]
