"""Tables of what programs here measure: on the terminal, and as Markdown."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["ROOT", "markdown", "show", "table"]

ROOT = Path(__file__).resolve().parents[1]


def table(rows: list[dict[str, Any]], columns: dict[str, str]) -> list[list[str]]:
    """Format rows of results; `columns` maps keys to formats."""
    return [
        [("-" if row[key] is None else form.format(row[key])) for key, form in columns.items()]
        for row in rows
    ]


def show(console: Console, title: str, rows: list[dict[str, Any]], columns: dict[str, str]) -> None:
    """Print a table."""
    view = Table(title=title, title_justify="left")
    for key, form in columns.items():
        view.add_column(key, justify="left" if form == "{}" else "right")
    for cells in table(rows, columns):
        view.add_row(*cells)
    console.print(view)


def markdown(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """Format a table for the documentation."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(cells) + " |" for cells in table(rows, columns)]
    return "\n".join(lines)
