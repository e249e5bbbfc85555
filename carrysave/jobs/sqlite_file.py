"""A SQLite file as the database of a store."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, TypeVar

from carrysave.errors import ArgumentError

__all__ = ["LIMIT", "PATIENCE", "SqliteFile"]

_APPLICATION = 0x63617379  # "casy": application_id, so that nobody else's database is written to
PATIENCE = 10.0
"""Seconds that a store may be locked, or not answer."""
LIMIT = 10.0
"""Seconds that an expression may take until its first rows, and from some to the next."""
_LONGEST = 1 << 28
"""Bytes of a text that an expression makes, or that a row has."""
_BATCH = 1000  # rows that are read at a time

T = TypeVar("T")


class SqliteFile:
    """A SQLite file that is open, to write or to read alone.

    Raises
    ------
    UsageError
        If it cannot be opened, or is another program's.
    """

    mark = "?"
    most_columns = 1900  # SQLite's own limit is 2000
    types: ClassVar = {"REAL": "REAL", "INTEGER": "INTEGER", "TEXT": "TEXT"}

    def __init__(self, path: Path, *, reading: bool = False) -> None:
        self.name = str(path)
        self._busy = self._prepared = False
        if reading:
            if not path.is_file():
                raise ArgumentError(
                    "{store} {path}: there is no such file; jobs that are done make one", path=path
                )
        else:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ArgumentError(
                    "{store} {path}: {strerror}", path=path, strerror=error.strerror
                ) from None
        with self.explained():
            self._database = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro" if reading else path,
                uri=reading,
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=not reading,
            )

    def prepare(self) -> None:
        """Have writers wait for no reader, and readers for no writer."""
        self._prepared = True
        # Of a new file: rows of a kilobyte are read in half the time of SQLite's 4096.
        self._database.execute("PRAGMA page_size = 16384")
        # Where that cannot be, as on network drives, they wait.
        with contextlib.suppress(sqlite3.OperationalError):
            self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Let go of the database: one file, if no other driver has it."""
        if self._busy:
            return
        if self._prepared:
            with contextlib.suppress(sqlite3.OperationalError):
                self._database.execute("PRAGMA busy_timeout = 0")
                self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()

    def version(self) -> int | None:
        """Return the version of the store; None if there is none yet."""
        self._database.execute("BEGIN")  # so that no other driver makes the store in between
        try:
            (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (application,) = self._database.execute("PRAGMA application_id").fetchone()
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
        finally:
            self._database.execute("ROLLBACK")
        if application == _APPLICATION:
            return int(version)
        if tables or application or version:
            text = "{store} {path}: no store, but another program's database"
            raise ArgumentError(text, path=self.name)
        return None

    def set_version(self, version: int) -> None:
        """Say that this is a store, and of which version."""
        self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._database.execute(f"PRAGMA user_version = {version:d}")

    def columns(self, table: str) -> dict[str, str]:
        """Return the types of a table's columns, in SQLite's words, by their names."""
        query = "SELECT name, type FROM pragma_table_info(?)"
        return dict(self._database.execute(query, [table]).fetchall())

    def execute(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Do a statement of ours; return its rows."""
        cursor = self._database.execute(query, values)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Do what is within as one change, that no other driver comes into."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def holds(self, name: str, value: object) -> bool:
        """Return whether a column may have a name, and a value."""
        return True

    @staticmethod
    def quoted(name: str) -> str:
        """Return a name as SQL has it."""
        return '"' + name.replace('"', '""') + '"'

    def batches(
        self, table: str, condition: str | None, latest: int | None, what: str = "*"
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield rows for which an SQL expression is true, some at a time.

        Parameters
        ----------
        condition : can read, and nothing else.
        latest : so many rows at most, the last that were written.
        what : columns.

        Raises
        ------
        UsageError
            If the expression is none, or takes more than :data:`LIMIT` seconds.
        """
        # A comment in the expression ends with its line.
        where = f" WHERE (\n{condition}\n)" if condition is not None else ""
        query = f"SELECT {what} FROM {table}{where}"
        if latest is not None:
            query += f" ORDER BY at DESC LIMIT {latest:d}"
        self._database.set_authorizer(_may_read)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        try:
            cursor = self._within(lambda: self._database.execute(query))
            while rows := self._within(lambda: cursor.fetchmany(_BATCH)):
                yield rows
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
                value=condition,
                error=error,
            ) from None

    def _within(self, ask: Callable[[], T]) -> T:
        """Return what a thread of its own asks for.

        So this one hears signals and the clock also where SQLite is in a single function, such as a
        search in a long text, which no handler of its progress ends. A database that does not
        answer is left to that thread, as to close it would wait for it.
        """
        answers: SimpleQueue[T | Exception] = SimpleQueue()

        def answer() -> None:
            try:
                answers.put(ask())
            except Exception as error:
                answers.put(error)

        threading.Thread(target=answer, daemon=True).start()
        try:
            came = answers.get(timeout=LIMIT)
        except BaseException as error:
            self._database.interrupt()
            self._busy = True
            if isinstance(error, Empty):
                raise ArgumentError(
                    "{where} must be done within {limit:g} s, and is not", limit=LIMIT
                ) from None
            raise
        if isinstance(came, Exception):
            raise came
        return came

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
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
                raise OSError(f"store {self.name}: {error}") from None
            else:
                text = str(error)
            raise ArgumentError("{store} {path}: {text}", path=self.name, text=text) from None


def _may_read(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    reads = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
    harmless = action == sqlite3.SQLITE_FUNCTION and second != "load_extension"
    return sqlite3.SQLITE_OK if action in reads or harmless else sqlite3.SQLITE_DENY
