"""``carrysave results``."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from carrysave import cache, jobs
from carrysave.cli.options import StoreFile, console
from carrysave.errors import UsageError, needs
from hw.emit.user_files import shown

__all__ = ["results"]

_JSON = ("parameters", "versions", "value")
_WHOLE = ("value", "digest")
"""Columns with the whole of a result, too long for CSV."""
_RUN = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a formula of a spreadsheet begins with; the last four are the wide forms of the others."""
_FIRST = ("kind", "design", "target", "recipe", "parameters")
_FIGURES = (
    "area_um2",
    "period_ns",
    "power_mw",
    "pj_per_mac",
    "gops_per_mm2",
    "luts",
    "dsps",
    "fmax_mhz",
)
_LAST = ("seconds", "who", "at")
_WIDTH = 180  # characters of a table in a file or a pipe
_MOST = 100  # rows of a table on a terminal

Names = Sequence[str]
Rows = Sequence[Sequence[Any]]


def results(
    *,
    where: Annotated[
        str | None,
        Parameter(help="An SQL expression over the columns, which rows must fulfil."),
    ] = None,
    failures: Annotated[
        bool, Parameter(show_default=False, help="The jobs that failed when last tried.")
    ] = False,
    csv_: Annotated[bool, Parameter(name="--csv", show_default=False, help="Write CSV.")] = False,
    json_: Annotated[
        bool, Parameter(name="--json", show_default=False, help="Write JSON, whole results.")
    ] = False,
    parquet: Annotated[bool, Parameter(show_default=False, help="Write Parquet.")] = False,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="File. [default: stdout]")
    ] = None,
    store: StoreFile = None,
) -> int:
    """Print what all jobs found: `synth --sweep`, `compare`, `reproduce`, on all machines.

    A row for each job, with a column for each figure; parameters of a design have columns
    `p_NAME`. The store is a SQLite file, whose table `results` pandas and DuckDB read as it is.

    **Examples:**

    - `carrysave results --where "design = 'mac' and p_a_width <= 8"`
    - `carrysave results --where "period_ns < 2" --csv`
    - `carrysave results --parquet -o results.parquet`
    """
    if csv_ + json_ + parquet > 1:
        raise UsageError("one of --csv, --json and --parquet is enough")
    if output is not None and not (csv_ or json_ or parquet):
        raise UsageError("--output needs --csv, --json or --parquet")
    if parquet:
        needs("pyarrow")
        if output is None and sys.stdout.isatty():
            raise UsageError("--parquet needs --output, or a pipe: it is no text")
    table = "failures" if failures else "results"
    names, kinds, rows = jobs.select(store or jobs.default_path(), where, table)
    if csv_:
        _written(_csv(names, rows).encode(), output)
    elif json_:
        _written(_json(names, rows).encode(), output)
    elif parquet:
        _written(_parquet(names, kinds, rows), output)
    else:
        _print(names, rows)
    return 0


def _written(data: bytes, output: Path | None) -> None:
    if output is not None:
        cache.write(output, data)
        return
    out: BinaryIO = sys.stdout.buffer
    out.write(data)
    out.flush()


def _csv(names: Names, rows: Rows) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [column for column, name in enumerate(names) if name not in _WHOLE]
    writer.writerow([_safe(names[column]) for column in columns])
    writer.writerows([_safe(row[column]) for column in columns] for row in rows)
    return text.getvalue()


def _safe(value: Any) -> Any:
    """Return a cell that no spreadsheet runs and no terminal obeys: texts may come from outside."""
    if not isinstance(value, str):
        return value
    text = "\n".join(shown(line, len(line)) for line in value.split("\n"))
    if not text.lstrip().startswith(_RUN):
        return text
    try:
        float(text)  # of a number nothing is run
    except ValueError:
        return f"'{text}"
    return text


def _json(names: Names, rows: Rows) -> str:
    listed = [
        {
            name: json.loads(value) if name in _JSON else value
            for name, value in zip(names, row, strict=True)
            if value is not None
        }
        for row in rows
    ]
    return json.dumps(listed, indent=2) + "\n"


def _parquet(names: Names, kinds: Names, rows: Rows) -> bytes:
    import pyarrow
    from pyarrow import parquet

    types = {"INTEGER": pyarrow.int64(), "REAL": pyarrow.float64()}
    fields = [
        (name, types.get(kind, pyarrow.string())) for name, kind in zip(names, kinds, strict=True)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    table = pyarrow.table(
        [pyarrow.array(column, type_) for column, (_, type_) in zip(columns, fields, strict=True)],
        schema=pyarrow.schema(fields),
    )
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue().to_pybytes())


def _print(names: Names, rows: Rows) -> None:
    """Print the columns that say most, of the last rows."""
    latest = sorted((dict(zip(names, row, strict=True)) for row in rows), key=lambda row: row["at"])
    some = latest[-_MOST:]
    wanted = (
        [*_FIRST, *_FIGURES, *_LAST]
        if "value" in names
        else [n for n in names if n not in {"key", "log"}]
    )
    columns = [name for name in wanted if any(row.get(name) is not None for row in some)]
    view = Table()
    for name in columns:
        number = any(isinstance(row.get(name), int | float) for row in some)
        view.add_column(
            name, justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    for row in some:
        view.add_row(*(escape(_cell(name, row.get(name))) for name in columns))
    if some:
        wide = console if console.is_terminal else Console(width=_WIDTH)
        wide.print(view)
    rest = f", the last {len(some)} of them" if len(some) < len(rows) else ""
    console.print(f"{len(rows)} rows{rest}", highlight=False)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name == "parameters":
        value = " ".join(f"{key}={each}" for key, each in json.loads(value).items())
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    return shown(str(value), 400)
