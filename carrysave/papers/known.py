"""Papers by name, and what of each is here: docs/papers.md, and ``carrysave reproduce --list``."""

import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rich.console import Console

from carrysave.report import tables

__all__ = ["STATUSES", "Paper", "find", "markdown", "print_list", "read"]

STATUSES = {
    "done": "what the paper asks of hardware or of arithmetic is built, and a command shows it",
    "in part": "a part of it is; the last column says what is missing",
    "not here": "nothing of it is built",
}
"""What is here of a paper, and what that means."""

_WIDE = 150
"""Characters that titles need."""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper, and what of it is here.

    Members
    -------
    group : the subject.
    short, title : its short name, unlike all others, and its title.
    status : of :data:`STATUSES`.
    theirs, ours : what it says, and what is here, Markdown with links of docs/papers.md.
    command : what shows it, a shell command; empty if nothing does.
    why : why both differ, or what is missing.
    """

    group: str
    short: str
    title: str
    status: str
    theirs: str
    ours: str
    command: str
    why: str

    @property
    def table(self) -> str | None:
        """Name of its table, that of ``carrysave reproduce``; None if it has none."""
        words = shlex.split(self.command)
        return words[2] if words[:2] == ["carrysave", "reproduce"] else None

    def is_named(self, text: str) -> bool:
        """Tell whether a text is its short name or its title, in letters of any case."""
        return text.casefold() in (self.short.casefold(), self.title.casefold())


@cache
def read() -> tuple[Paper, ...]:
    """Read all papers, those of a group one after the other."""
    text = (files(__package__ or "") / "papers.toml").read_text(encoding="utf-8")
    groups = tomllib.loads(text)["group"]
    return tuple(Paper(group=one["name"], **paper) for one in groups for paper in one["paper"])


def find(name: str) -> Paper | None:
    """Return the paper of a short name or title, or of part of one, if just one has it."""
    wanted = name.casefold()
    whole = [paper for paper in read() if paper.is_named(name)]
    parts = [p for p in read() if wanted in p.short.casefold() or wanted in p.title.casefold()]
    matches = whole or parts
    return matches[0] if wanted and len(matches) == 1 else None


def print_list(console: Console, _: object) -> None:
    """Print all papers without prose; narrow terminals get no titles."""
    heads = ("paper", "status", "command", "title")[: 3 + (console.width >= _WIDE)]
    rows = [
        [paper.short, paper.status, paper.command or None, paper.title][: len(heads)]
        for paper in read()
    ]
    tables.show(console, tables.Section("", heads, rows, len(heads)))
    tables.say(console, [f"{status}: {meaning}." for status, meaning in STATUSES.items()])


def markdown() -> str:
    """Return the tables of docs/papers.md, one for each group."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    group = None
    for paper in read():
        if paper.group != group:
            group = paper.group
            yield from ("", f"## {group}", "")
            yield "| paper | status | the paper says | here | why they differ |"
            yield "| --- | --- | --- | --- | --- |"
        shown = f"`{paper.command}`" if paper.command else ""
        here = "; ".join(filter(None, (paper.ours, shown))) or "-"
        cells = (_name(paper), paper.status, paper.theirs, here, paper.why)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _name(paper: Paper) -> str:
    """Return both names, or the title alone where it begins with the short one."""
    start, rest = paper.title[: len(paper.short)], paper.title[len(paper.short) :]
    if start.casefold() == paper.short.casefold():
        return f"**{start}**{rest}"
    return f"**{paper.short}**: {paper.title}"
