"""Tables of figures: on a terminal, as Markdown, as pictures."""

import contextlib
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hw.emit.user_files import shown

__all__ = ["Section", "as_text", "heading", "markdown", "show", "svg", "texts"]


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
    view = Table(title=_plain(section.title) or None, title_justify="left", header_style="bold")
    for number, head in enumerate(section.heads):
        named = number < section.names
        view.add_column(head, justify="left" if named else "right", overflow="fold")
    for line in section.lines:
        view.add_row(*map(_plain, line))
    console.print(view)


def markdown(section: Section) -> list[str]:
    """Format a table as lines of Markdown, with an empty line at the end."""
    lines = [f"## {shown(section.title)}", ""] if section.title else []
    lines += ["| " + " | ".join(section.heads) + " |", "|" + " --- |" * len(section.heads)]
    lines += ["| " + " | ".join(map(_cell, line)) + " |" for line in section.lines]
    return [*lines, ""]


def heading(found: Mapping[str, Any]) -> list[str]:
    """Format the start of a Markdown report of a model: its name, and the command."""
    command = shown(found["command"], 10_000).replace("`", "'")
    return [f"# {_cell(found['model'])}", "", f"`{command}`", ""]


def _plain(text: str) -> str:
    """Return text, perhaps with names from outside, that Rich prints as it is."""
    return escape(shown(text))


def _cell(text: str) -> str:
    """Return text, perhaps with names from outside, as a cell of Markdown."""
    return re.sub(r"[|<`\[\]\\]", r"\\\g<0>", shown(text))


@contextlib.contextmanager
def as_text() -> Iterator[None]:
    """Draw names from outside as they are: no mathematics, and boxes for what no font has."""
    import matplotlib

    with matplotlib.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        yield


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
