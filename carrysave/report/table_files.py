"""Rows of a store as CSV, JSON and Parquet, written a part at a time."""

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from hw.emit.user_files import shown

__all__ = ["JSON", "WHOLE", "write_csv", "write_json", "write_parquet"]

JSON = ("parameters", "versions", "value")
"""Columns that are JSON."""
WHOLE = ("value", "digest")
"""Columns with the whole of a result, too long for CSV."""
_RUN = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a formula of a spreadsheet begins with; the last four are the wide forms of the others."""
_GROUP = 20_000  # rows of a group of Parquet's

Names = Sequence[str]
Batches = Iterable[Sequence[Sequence[Any]]]


def write_csv(names: Names, batches: Batches, out: BinaryIO) -> None:
    """Write rows as CSV, in which no cell is run by a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_safe(name) for name in names])
    for rows in batches:
        writer.writerows([_safe(cell) for cell in row] for row in rows)
        out.write(text.getvalue().encode())
        text.seek(0)
        text.truncate()
    out.write(text.getvalue().encode())


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


def write_json(names: Names, batches: Batches, out: BinaryIO) -> None:
    """Write rows as a list of objects, without what is null."""
    last = b"["
    for rows in batches:
        for row in rows:
            item = {
                name: json.loads(value) if name in JSON else value
                for name, value in zip(names, row, strict=True)
                if value is not None
            }
            out.write(last + b"\n  " + json.dumps(item, indent=2).replace("\n", "\n  ").encode())
            last = b","
    out.write(b"[]\n" if last == b"[" else b"\n]\n")


def write_parquet(names: Names, kinds: Names, batches: Batches, out: BinaryIO) -> None:
    """Write rows as Parquet, with the types of the columns."""
    import pyarrow
    from pyarrow import parquet

    types = {"INTEGER": pyarrow.int64(), "REAL": pyarrow.float64()}
    schema = pyarrow.schema([
        (name, types.get(kind, pyarrow.string())) for name, kind in zip(names, kinds, strict=True)
    ])
    with tempfile.TemporaryFile() as whole:  # a pipe has no places, which Parquet notes
        with parquet.ParquetWriter(whole, schema) as writer:
            for rows in _groups(batches):
                columns = [
                    pyarrow.array(column, field.type)
                    for column, field in zip(zip(*rows, strict=True), schema, strict=True)
                ]
                writer.write_table(pyarrow.table(columns, schema=schema))
        whole.seek(0)
        shutil.copyfileobj(whole, out)


def _groups(batches: Batches) -> Iterator[list[Sequence[Any]]]:
    """Yield as many rows as a group has."""
    group: list[Sequence[Any]] = []
    for rows in batches:
        group += rows
        if len(group) >= _GROUP:
            yield group
            group = []
    if group:
        yield group
