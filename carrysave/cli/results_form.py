"""How ``carrysave results`` writes rows: CSV, JSON or Parquet."""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from cyclopts import Parameter
from rich.markup import escape

from carrysave import jobs
from carrysave.cli.options import errors
from carrysave.errors import ArgumentError, UsageError, needs
from carrysave.jobs.rows import foreign
from carrysave.report.table_files import WHOLE, write_csv, write_json, write_parquet
from hw.emit.user_files import shown

__all__ = ["TABLE", "Foreign", "Form"]

_NAMED = 10  # rows that are named as none of ours

Rows = Sequence[Sequence[Any]]


class Foreign:
    """Rows that are none of ours, as they pass."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.reasons: dict[str, str] = {}

    def seen(self, rows: Rows) -> Rows:
        """Look at rows, and return them."""
        for cells in rows:
            row = dict(zip(self.names, cells, strict=True))
            if reason := foreign(row):
                self.reasons[row["key"]] = reason
        return rows

    def tell(self) -> None:
        """Name them."""
        if not self.reasons:
            return
        some = [f"{key}: {reason}" for key, reason in [*self.reasons.items()][:_NAMED]]
        more = len(self.reasons) - len(some)
        text = "; ".join([*some, *([f"and {more} more"] if more else [])])
        errors.print(
            f"{len(self.reasons)} of these rows are none of ours, and their jobs run again:"
            f" {escape(shown(text, 4000))}",
            highlight=False,
            soft_wrap=True,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Form:
    """What rows are written as."""

    columns: Annotated[
        str | None, Parameter(help="Columns, by commas. [default: all; those that say most]")
    ] = None
    csv: Annotated[bool, Parameter(show_default=False, help="Write CSV.")] = False
    json: Annotated[bool, Parameter(show_default=False, help="Write JSON, whole results.")] = False
    parquet: Annotated[bool, Parameter(show_default=False, help="Write Parquet.")] = False
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="File. [default: stdout]")
    ] = None

    @property
    def kind(self) -> str | None:
        """The form by its name; None for a table."""
        return next((name for name in ("csv", "json", "parquet") if getattr(self, name)), None)

    def check(self) -> None:
        """Refuse options that exclude each other, and what cannot be written."""
        if self.csv + self.json + self.parquet > 1:
            raise UsageError("one of --csv, --json and --parquet is enough")
        if self.output is not None and self.kind is None:
            raise UsageError("--output needs --csv, --json or --parquet")
        if self.parquet:
            needs("pyarrow")
            if self.output is None and sys.stdout.isatty():
                raise UsageError("--parquet needs --output, or a pipe: it is no text")

    def chosen(self, names: Sequence[str]) -> list[str] | None:
        """Return the columns that are asked for; None if that is left to the form."""
        if self.columns is None:
            return None
        listed = [name.strip() for name in self.columns.split(",")]
        for name in listed:
            if name not in names:
                raise ArgumentError("{columns} must be of the table, not {value!r}", value=name)
        return listed

    def write(
        self,
        reader: jobs.Reader,
        where: str | None,
        chosen: list[str] | None,
        others: Foreign | None,
    ) -> None:
        """Write rows to a file, or to stdout, a part at a time."""
        names = reader.names
        if chosen is None:
            chosen = [name for name in names if not self.csv or name not in WHOLE]
        places = [names.index(name) for name in chosen]
        batches = iter(reader.batches(where))
        first = list(next(batches, []))  # before anything is written: the expression may be none
        parts = (
            [[row[place] for place in places] for row in (others.seen(rows) if others else rows)]
            for rows in chain([first] if first else [], batches)
        )
        with _opened(self.output) as out:
            if self.csv:
                write_csv(chosen, parts, out)
            elif self.json:
                write_json(chosen, parts, out)
            else:
                write_parquet(chosen, [reader.kinds[place] for place in places], parts, out)


TABLE = Form()
"""A table for people."""


@contextlib.contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    """Open stdout, or a file that has its name when it is whole."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".{os.getpid()}.{os.urandom(8).hex()}")
    try:
        with temporary.open("wb") as out:
            yield out
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
