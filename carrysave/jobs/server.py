"""A PostgreSQL server as the database of a store, by SQLAlchemy's URL."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from carrysave.errors import ArgumentError, needs
from carrysave.jobs.sqlite_file import LIMIT, PATIENCE

__all__ = ["Server"]

_LOCK = 0x63617379  # of writers, among PostgreSQL's advisory locks
_BATCH = 10_000  # rows of a statement, of which each has a limit of time
_NAME = 63  # bytes of a name; PostgreSQL cuts what is longer
_CANCELLED, _LOCKED = "57014", "55P03"
_NO_ROOM = ("53100", "53200")  # disk, memory
_KINDS = {"double precision": "REAL", "bigint": "INTEGER", "text": "TEXT"}


class Server:
    """A database of a server, to write or to read alone: as :class:`SqliteFile`, for many machines.

    Parameters
    ----------
    address : ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.

    Raises
    ------
    UsageError
        If the address is none of PostgreSQL, or the server does not answer.
    ModuleNotFoundError
        If SQLAlchemy or psycopg is not installed.
    """

    mark = "%s"
    most_columns = 1500  # PostgreSQL's own limit is 1600, with those that were removed
    types: ClassVar = {"REAL": "DOUBLE PRECISION", "INTEGER": "BIGINT", "TEXT": "TEXT"}

    def __init__(self, address: str, *, reading: bool = False) -> None:
        needs("sqlalchemy", "psycopg")
        from sqlalchemy import create_engine, exc, make_url
        from sqlalchemy.pool import NullPool

        try:
            url = make_url(address)
        except (exc.ArgumentError, ValueError):
            url = None
        if url is None or url.drivername not in {"postgresql", "postgresql+psycopg"}:
            legal = "a file, or postgresql://USER@HOST/DATABASE"
            scheme = f"{address.partition('://')[0]}://..."  # what follows may have a password
            raise ArgumentError("{store} must be {legal}, not {value}", legal=legal, value=scheme)
        self.name = url.render_as_string(hide_password=True)
        options = f"-c lock_timeout={PATIENCE:g}s"
        if reading:
            options += f" -c default_transaction_read_only=on -c statement_timeout={LIMIT:g}s"
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args={"connect_timeout": int(PATIENCE), "options": options},
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
        )
        with self.explained():
            self._connection = engine.connect()

    def prepare(self) -> None:
        """Do nothing: readers and writers do not wait for each other."""

    def close(self) -> None:
        """Let go of the server."""
        self._connection.close()

    def version(self) -> int | None:
        """Return the version of the store; None if there is none yet."""
        (there,) = self.execute(
            "SELECT to_regclass('carrysave_store') AS store, to_regclass('results') AS results"
        )
        if there["store"] is not None:
            (row,) = self.execute("SELECT max(version) AS version FROM carrysave_store")
            return row["version"]
        if there["results"] is not None:
            raise ArgumentError(
                "{store} {path}: no store, but another program's database", path=self.name
            )
        return None

    def set_version(self, version: int) -> None:
        """Say that this is a store, and of which version."""
        self.execute("CREATE TABLE IF NOT EXISTS carrysave_store (version BIGINT PRIMARY KEY)")
        self.execute("INSERT INTO carrysave_store VALUES (%s) ON CONFLICT DO NOTHING", [version])

    def columns(self, table: str) -> dict[str, str]:
        """Return the types of a table's columns, in SQLite's words, by their names."""
        rows = self.execute(
            "SELECT attname, format_type(atttypid, atttypmod) AS kind FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [table],
        )
        return {row["attname"]: _KINDS.get(row["kind"], "TEXT") for row in rows}

    def execute(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Do a statement of ours; return its rows."""
        result = self._connection.exec_driver_sql(query, tuple(values))
        return [dict(row) for row in result.mappings()] if result.returns_rows else []

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Do what is within as one change, that no other driver comes into."""
        self.execute("BEGIN")
        try:
            self.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            yield
        except BaseException:
            with contextlib.suppress(Exception):  # the server may be gone
                self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    def holds(self, name: str, value: object) -> bool:
        """Return whether a column may have a name, and a value."""
        texts = [name, value] if isinstance(value, str) else [name]
        return len(name.encode()) <= _NAME and not any("\0" in text for text in texts)

    @staticmethod
    def quoted(name: str) -> str:
        """Return a name as SQL has it, beside marks of values."""
        return '"' + name.lower().replace('"', '""').replace("%", "%%") + '"'

    def batches(
        self, table: str, condition: str | None, latest: int | None, what: str = "*"
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield rows for which an SQL expression is true, some at a time.

        Each time is a statement of its own, so that nobody who adds a column waits for a reader.
        With a value, it cannot be several. Parameters and errors are those of :class:`SqliteFile`.
        """
        # A comment in the expression ends with its line.
        where = "" if condition is None else " AND (\n" + condition.replace("%", "%%") + "\n)"
        with self._asked(table, condition):
            if what != "*" or latest is not None:
                order = "" if latest is None else f" ORDER BY at DESC LIMIT {latest:d}"
                query = f"SELECT {what} FROM {table} WHERE %s{where}{order}"
                yield [tuple(row) for row in self._connection.exec_driver_sql(query, (True,))]
                return
            place = list(self.columns(table)).index("key")
            query = f"SELECT * FROM {table} WHERE key > %s{where} ORDER BY key LIMIT {_BATCH}"
            last = ""
            while rows := [tuple(r) for r in self._connection.exec_driver_sql(query, (last,))]:
                yield rows
                last = rows[-1][place]

    @contextlib.contextmanager
    def _asked(self, table: str, condition: str | None) -> Iterator[None]:
        """Say what is wrong with an expression."""
        from sqlalchemy.exc import DBAPIError

        try:
            yield
        except DBAPIError as error:
            state = _state(error)
            if state == _CANCELLED:
                raise ArgumentError(
                    "{where} must be done within {limit:g} s, and is not", limit=LIMIT
                ) from None
            # 22: of values; 25006: it would write; 42: of the words.
            if condition is None or not state.startswith(("22", "25006", "42")):
                raise
            raise ArgumentError(
                "{where} must be an SQL expression over columns of {table}, not {value!r}: {error}",
                table=table,
                value=condition,
                error=_text(error),
            ) from None

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Say what is wrong with a store in the words of a user."""
        from sqlalchemy.exc import DBAPIError

        try:
            yield
        except DBAPIError as error:
            text = _text(error)
            if _state(error) == _LOCKED:
                text = f"locked by another program for more than {PATIENCE:g} s"
            elif _state(error) in _NO_ROOM:
                raise OSError(f"store {self.name}: {text}") from None
            raise ArgumentError("{store} {path}: {text}", path=self.name, text=text) from None


def _state(error: Any) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def _text(error: Any) -> str:
    return " ".join(str(error.orig).split())
