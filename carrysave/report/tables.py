"""Tables of figures: on a terminal, as Markdown, in pages, as pictures."""

import contextlib
import io
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hw.emit.user_files import shown

__all__ = ["Column", "Section", "as_text", "document", "markdown", "say", "show", "svg", "texts"]


class Column(NamedTuple):
    """A column of a table.

    Members
    -------
    head : its title.
    form : how a value is written, perhaps with a unit, such as ``"{:,.0f} um2"``.
    better : figures that are better, for fronts: ``less`` or ``more``; empty if neither is.
    bar : figure of which a page draws a full bar, such as 1 for shares; 0 for no bars.
    """

    head: str
    form: str = "{}"
    better: str = ""
    bar: float = 0.0

    @property
    def figure(self) -> str:
        """The form without its unit."""
        return "".join(re.findall(r"\{.*?\}", self.form))

    @property
    def unit(self) -> str:
        """What the form writes beside the figure."""
        return re.sub(r"\{.*?\}", "", self.form).strip()

    @property
    def title(self) -> str:
        """The title, with the unit of the form, as for an axis."""
        return f"{self.head}, {self.unit}" if self.unit else self.head


@dataclass(frozen=True)
class Section:
    """A table of figures and texts.

    Members
    -------
    title : may be empty.
    columns : each a :class:`Column`, its members as a tuple, or its title alone.
    rows : a value for each column: a number, formatted by the column; a text, shown as it is; or
        None, shown as a dash.
    names : number of left columns that are names, not figures.
    totals : number of last rows that sum up the others, and stay last.
    """

    title: str
    columns: Sequence[Sequence[Any]]
    rows: Sequence[Sequence[Any]]
    names: int = 1
    totals: int = 0

    @property
    def kinds(self) -> list[Column]:
        """The columns, each as :class:`Column`."""
        return [Column(one) if isinstance(one, str) else Column(*one) for one in self.columns]

    @property
    def heads(self) -> list[str]:
        """Titles of the columns."""
        return [kind.head for kind in self.kinds]

    @property
    def lines(self) -> list[list[str]]:
        """The rows, one text per column."""
        return [texts(row, self.kinds) for row in self.rows]

    def only(self, heads: Collection[str]) -> "Section":
        """Select columns by their titles, in the table's order."""
        places = [index for index, head in enumerate(self.heads) if head in heads]
        rows = [[row[index] for index in places] for row in self.rows]
        names = sum(index < self.names for index in places)
        columns = [self.columns[index] for index in places]
        return Section(self.title, columns, rows, names, self.totals)


def show(console: Console, section: Section) -> None:
    """Print a table."""
    view = Table(title=_plain(section.title) or None, title_justify="left", header_style="bold")
    for number, head in enumerate(section.heads):
        named = number < section.names
        view.add_column(head, justify="left" if named else "right", overflow="fold")
    for line in section.lines:
        view.add_row(*map(_plain, line))
    console.print(view)


def say(console: Console, lines: Iterable[str]) -> None:
    """Print lines of text as they are, perhaps with names from outside."""
    for line in lines:
        console.print(shown(line, 4000), highlight=False, markup=False, soft_wrap=True)


def markdown(section: Section) -> list[str]:
    """Format a table as lines of Markdown, with an empty line at the end."""
    lines = [f"## {shown(section.title)}", ""] if section.title else []
    lines += ["| " + " | ".join(section.heads) + " |", "|" + " --- |" * len(section.heads)]
    lines += ["| " + " | ".join(map(_cell, line)) + " |" for line in section.lines]
    return [*lines, ""]


def document(report: Mapping[str, Any], sections: Iterable[Section], says: Iterable[str]) -> str:
    """Format a report of a model as Markdown: its name, the command, tables, and sentences."""
    command = shown(report["command"], 10_000).replace("`", "'")
    lines = [f"# {_cell(report['model'])}", "", f"`{command}`", ""]
    for section in sections:
        lines += markdown(section)
    return "\n".join([*lines, *(f"- {line}" for line in says), ""])


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


def texts(values: Sequence[Any], columns: Sequence[Column]) -> list[str]:
    """Format values by their columns; text unchanged, a dash for None."""
    return [
        value if isinstance(value, str) else "-" if value is None else column.form.format(value)
        for value, column in zip(values, columns, strict=True)
    ]


def svg(figure: Any) -> bytes:
    """Write a figure of matplotlib's as SVG, and close it; the same figure gives the same bytes."""
    import matplotlib

    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "carrysave", "svg.fonttype": "none"}):
        figure.savefig(picture, format="svg", metadata={"Date": None})
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close(figure)
    return picture.getvalue()
