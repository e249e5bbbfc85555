"""Reads the text of Liberty files: groups and attributes."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hw.emit.spans import spans
from hw.emit.user_files import shown

__all__ = ["Group", "parse", "read"]

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


@dataclass
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
    text, masked = _uncommented(text)
    root = Group("", "")
    stack = [root]
    skipped = 0  # open braces inside a group that is passed over
    kept = position = 0
    last: Group | None = None
    lines = _Lines(text, first_line)
    while True:
        found = _STATEMENT.match(masked, position)
        if found is None:
            # The next after the cell that this is in.
            end = _end(masked, position, len(stack) - 2 + skipped) if len(stack) > 2 else -1
            if end < 0 or stack[2].kind != "cell":
                break
            stack[2].broken = f"line {lines.at(position, masked)} is not Liberty"
            stack[2].end = position = end
            del stack[2:]
            skipped = 0
            continue
        if len(stack) + skipped > _DEPTH or kept > _STATEMENTS:
            raise ValueError(
                f"Liberty text must be groups at most {_DEPTH} deep and {_STATEMENTS:,} statements"
                f" at most, not more at line {lines.at(position)}"
            )
        if len(stack) == 1 and root.groups and (found["name"] or found["close"]):
            # Behind the library's end: a brace too many in its last cell, or what is no Liberty.
            if last is None or not (found["close"] or (found["open"] and found["name"] == "cell")):
                break
            last.broken = "it has a brace too many"
            last.end = found.start("close" if found["close"] else "name")
            stack.append(root.groups[0])
        elif len(stack) == 1 and not found["open"] and (found["name"] or found["close"]):
            break
        position = found.end()
        # A part that is not there is at (-1, -1).
        name, args, value = (text[slice(*found.span(part))] for part in ("name", "args", "value"))
        if name == "cell" and found["open"] and len(stack) > 2 and stack[2].kind == "cell":
            stack[2].end = found.start("name")
            stack[2].broken = f"it has no end before the next cell, {shown(args.strip())}"
            del stack[2:]
            skipped = 0
        if found["close"]:
            if skipped:
                skipped -= 1
            else:
                stack.pop().end = position
        elif skipped or name in skipped_kinds:
            skipped += bool(found["open"])
        elif found["open"]:
            kept += 1
            start = found.start("name")
            group = Group(name, args.replace('"', "").strip(), start=start, line=lines.at(start))
            if name == "cell" and len(stack) == 2:
                last = group
            stack[-1].groups.append(group)
            stack.append(group)
        elif name:
            kept += 1
            value = value or args
            stack[-1].attributes.setdefault(name, value.strip().strip('"').strip())
    libraries = list(root.all("library"))
    if text[position:].strip() or len(stack) > 1 or len(libraries) != 1:
        line = _Lines(text, first_line).at(position, masked)
        raise ValueError(f"Liberty text must be one library group, not broken at line {line}")
    return text, libraries[0]


def _end(masked: str, position: int, depth: int) -> int:
    """Return the place behind the brace that closes so many groups; -1 if there is none."""
    while depth:
        found = _BRACE.search(masked, position)
        if found is None:
            return -1
        depth += 1 if found[0] == "{" else -1
        position = found.end()
    return position


class _Lines:
    """Counts the lines of a text, going forward, so that all of it is counted once."""

    def __init__(self, text: str, first: int) -> None:
        self._text = text
        self._position, self._line = 0, first

    def at(self, position: int, masked: str = "") -> int:
        """Return the line of a place; given `masked`, of the first that is no space from there."""
        word = _WORD.search(masked, position)
        position = word.start() if word else position
        self._line += self._text.count("\n", self._position, position)
        self._position = position
        return self._line


def _uncommented(text: str) -> tuple[str, str]:
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
