"""Tables of figures: on a terminal, as Markdown, as pictures."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["Section", "markdown", "show", "svg", "texts"]


@dataclass(frozen=True)
class Section:
    """A table of text.

    Members
    -------
    title : may be empty.
    heads : titles of the columns.
    lines : one text per column.
    names : number of left columns that are names, not figures.
    """

    title: str
    heads: tuple[str, ...]
    lines: list[list[str]]
    names: int = 1


def show(console: Console, section: Section) -> None:
    """Print a table."""
    view = Table(title=section.title or None, title_justify="left", header_style="bold")
    for number, head in enumerate(section.heads):
        named = number < section.names
        view.add_column(head, justify="left" if named else "right", overflow="fold")
    for line in section.lines:
        view.add_row(*line)
    console.print(view)


def markdown(section: Section) -> list[str]:
    """Format a table as lines of Markdown, with an empty line at the end."""
    lines = [f"## {section.title}", ""] if section.title else []
    lines += ["| " + " | ".join(section.heads) + " |", "|" + " --- |" * len(section.heads)]
    lines += ["| " + " | ".join(line) + " |" for line in section.lines]
    return [*lines, ""]


def texts(values: Sequence[Any], columns: Sequence[tuple[str, str]]) -> list[str]:
    """Format values by their columns, (title, format); text unchanged, a dash for None."""
    return [
        value if isinstance(value, str) else "-" if value is None else form.format(value)
        for value, (_, form) in zip(values, columns, strict=True)
    ]


def svg(figure: Any) -> bytes:
    """Write a figure of matplotlib's as SVG, and close it; the same figure gives the same bytes."""
    import matplotlib
    from matplotlib import pyplot

    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "carrysave", "svg.fonttype": "none"}):
        figure.savefig(picture, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return picture.getvalue()
