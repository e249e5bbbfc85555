"""Reads the text of Liberty files: groups and attributes."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hw.emit.spans import spans
from hw.emit.user_files import shown

__all__ = ["Group", "parse", "read", "uncommented"]

# Of a text whose strings are masked, so that nothing in it needs to be tried in two ways: the time
# is linear, also where it does not match.
_STATEMENT = re.compile(
    r"""\s*(?:
        (?P<close>\})
      | (?P<name>[A-Za-z_][\w.]*)\s*(?:
            :\s*(?P<value>"\0*|[^";\n{}]*)
          | \((?P<args>[^()]*)\)\s*(?P<open>\{)?)
        \s*;?
      | ;)""",
    re.X,
)
_CONTINUED = re.compile(r"\\\r?\n")
_WORD = re.compile(r"\S")
_BRACE = re.compile(r"[{}]")
# What timing analysis reads and the facts below do not: passed over without a tree.
_SKIPPED = frozenset({"timing", "internal_power", "leakage_power", "pg_pin", "test_cell"})
_DEPTH = 32
_STATEMENTS = 1 << 20


@dataclass(slots=True)
class Group:
    """One Liberty group: ``kind (name) { attributes and groups }``.

    Attributes
    ----------
    start, end : its place in the text without comments, see :func:`read`; `line` that of `start`.
    broken : what in it is not Liberty; empty if all is.
    """

    kind: str
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)
    start: int = 0
    end: int = 0
    line: int = 1
    broken: str = ""

    def all(self, kind: str) -> Iterator["Group"]:
        """Yield the direct sub-groups of a kind."""
        return (group for group in self.groups if group.kind == kind)


def parse(text: str, skipped_kinds: frozenset[str] = _SKIPPED, first_line: int = 1) -> Group:
    """Return the ``library`` group of a Liberty text; arguments and errors of :func:`read`."""
    return read(text, skipped_kinds, first_line)[1]


def read(
    text: str, skipped_kinds: frozenset[str] = _SKIPPED, first_line: int = 1
) -> tuple[str, Group]:
    """Return a Liberty text without comments, with the same lines, and its ``library`` group.

    What is broken inside one cell breaks that cell alone: see :class:`Group`.

    Parameters
    ----------
    text : the whole file, or part of it inside a ``library`` group.
    skipped_kinds : groups to pass over; by default timing and power tables.
    first_line : number of its first line.

    Raises
    ------
    ValueError
        With the line of the first text that is not Liberty, or too deep or too much of it.
    """
    reader = _Reader(*uncommented(text), skipped_kinds, first_line)
    while reader.step():
        pass
    return reader.text, reader.library()


class _Reader:
    """Reads statement by statement.

    Members
    -------
    stack : open groups, the root first.
    skipped : open braces inside a group that is passed over.
    count : statements so far.
    last : the last cell.
    """

    def __init__(
        self, text: str, masked: str, skipped_kinds: frozenset[str], first_line: int
    ) -> None:
        self.text, self.masked, self.skipped_kinds = text, masked, skipped_kinds
        self.first_line = first_line
        self.lines = _Lines(text, first_line)
        self.root = Group("", "")
        self.stack = [self.root]
        self.skipped = self.count = self.position = 0
        self.last: Group | None = None

    def step(self) -> bool:
        """Read a statement; return whether there was one."""
        stack = self.stack
        statement = _STATEMENT.match(self.masked, self.position)
        if statement is None:
            return self._leave_cell()
        if len(stack) + self.skipped > _DEPTH or self.count > _STATEMENTS:
            raise ValueError(
                f"Liberty text must be groups at most {_DEPTH} deep and {_STATEMENTS:,} statements"
                f" at most, not more at line {self.lines.at(self.position)}"
            )
        if len(stack) == 1 and self.root.groups and (statement["name"] or statement["close"]):
            # Behind the library's end: a brace too many in its last cell, or what is no Liberty.
            cell = statement["open"] and statement["name"] == "cell"
            if self.last is None or not (statement["close"] or cell):
                return False
            self.last.broken = "it has a brace too many"
            self.last.end = statement.start("close" if statement["close"] else "name")
            stack.append(self.root.groups[0])
        elif (
            len(stack) == 1 and not statement["open"] and (statement["name"] or statement["close"])
        ):
            return False
        self._take(statement)
        return True

    def _leave_cell(self) -> bool:
        """Skip the rest of a cell with a broken statement; return whether there is a cell."""
        stack, masked = self.stack, self.masked
        depth = len(stack) - 2 + self.skipped
        end = _end(masked, self.position, depth) if len(stack) > 2 else -1
        if end < 0 or stack[2].kind != "cell":
            return False
        stack[2].broken = f"line {self.lines.at(self.position, masked)} is not Liberty"
        stack[2].end = self.position = end
        del stack[2:]
        self.skipped = 0
        return True

    def _take(self, statement: re.Match[str]) -> None:
        """Take a statement: the begin of a group, its end, or an attribute."""
        stack, self.position = self.stack, statement.end()
        if statement["close"]:
            if self.skipped:
                self.skipped -= 1
            else:
                stack.pop().end = self.position
            return
        # A part that is not there is at (-1, -1).
        text, span = self.text, statement.span
        name, args, value = (
            text[slice(*span("name"))], text[slice(*span("args"))], text[slice(*span("value"))]
        )  # fmt: skip
        if name == "cell" and statement["open"] and len(stack) > 2 and stack[2].kind == "cell":
            stack[2].end = statement.start("name")
            stack[2].broken = f"it has no end before the next cell, {shown(args.strip())}"
            del stack[2:]
            self.skipped = 0
        if self.skipped or name in self.skipped_kinds:
            self.skipped += bool(statement["open"])
        elif statement["open"]:
            self._open(name, args, statement.start("name"))
        elif name:
            self.count += 1
            value = value or args
            stack[-1].attributes.setdefault(name, value.strip().strip('"').strip())

    def _open(self, name: str, args: str, start: int) -> None:
        """Begin a group."""
        self.count += 1
        group = Group(name, args.replace('"', "").strip(), start=start, line=self.lines.at(start))
        if name == "cell" and len(self.stack) == 2:
            self.last = group
        self.stack[-1].groups.append(group)
        self.stack.append(group)

    def library(self) -> Group:
        """Return the library, if all of the text was read and it has one."""
        libraries = list(self.root.all("library"))
        if self.text[self.position :].strip() or len(self.stack) > 1 or len(libraries) != 1:
            line = _Lines(self.text, self.first_line).at(self.position, self.masked)
            raise ValueError(f"Liberty text must be one library group, not broken at line {line}")
        return libraries[0]


def _end(masked: str, position: int, depth: int) -> int:
    """Return the place behind the brace that closes so many groups; -1 if there is none."""
    while depth:
        brace = _BRACE.search(masked, position)
        if brace is None:
            return -1
        depth += 1 if brace[0] == "{" else -1
        position = brace.end()
    return position


class _Lines:
    """Counts the lines of a text, going forward, so that all of it is counted once."""

    def __init__(self, text: str, first: int) -> None:
        self._text = text
        self._position, self._line = 0, first

    def at(self, position: int, masked: str = "") -> int:
        """Return the line of a place; with `masked`, of the next that is no space."""
        word = _WORD.search(masked, position)
        position = word.start() if word else position
        self._line += self._text.count("\n", self._position, position)
        self._position = position
        return self._line


def uncommented(text: str) -> tuple[str, str]:
    """Return a text without comments, and the same with all but the begin of strings masked.

    Both keep all line breaks, so that line numbers stay true.

    Raises
    ------
    ValueError
        With the line of a string that is not closed.
    """
    plain, masked = io.StringIO(), io.StringIO()
    position = 0
    for kind, start, end in spans(text, lines=False):
        if kind == "open":
            raise ValueError(
                f"Liberty text must close its string of line {_Lines(text, 1).at(start)}"
            )
        between = _CONTINUED.sub("\n", text[position:start])
        plain.write(between)
        masked.write(between)
        if kind == "string":
            plain.write(text[start:end])
            masked.write('"' + "\0" * (end - start - 1))
        else:
            breaks = "\n" * text.count("\n", start, end)
            plain.write(breaks)
            masked.write(breaks)
        position = end
    rest = _CONTINUED.sub("\n", text[position:])
    return plain.getvalue() + rest, masked.getvalue() + rest
