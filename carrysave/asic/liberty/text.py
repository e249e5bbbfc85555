"""Reads the text of Liberty files: groups, attributes, Boolean functions."""

import functools
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hw.emit.spans import spans

__all__ = ["Group", "compile_function", "parse"]

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
# What timing analysis reads and the facts below do not: passed over without a tree.
_SKIPPED = frozenset({"timing", "internal_power", "leakage_power", "pg_pin", "test_cell"})
_DEPTH = 32
_STATEMENTS = 1 << 20
_TOKENS, _BRACKETS = 256, 32


@dataclass
class Group:
    """One Liberty group: ``kind (name) { attributes and groups }``."""

    kind: str
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def all(self, kind: str) -> Iterator["Group"]:
        """Yield the direct sub-groups of a kind."""
        return (group for group in self.groups if group.kind == kind)


def parse(text: str, skipped_kinds: frozenset[str] = _SKIPPED) -> Group:
    """Return the ``library`` group of a Liberty text.

    Parameters
    ----------
    text : the whole file, or part of it inside a ``library`` group.
    skipped_kinds : groups to pass over; by default timing and power tables.

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
    while (found := _STATEMENT.match(masked, position)) is not None:
        if len(stack) + skipped > _DEPTH or kept > _STATEMENTS:
            raise ValueError(
                f"Liberty text must be groups at most {_DEPTH} deep and {_STATEMENTS:,} statements"
                f" at most, not more at line {_line(text, position)}"
            )
        position = found.end()
        # A part that is not there is at (-1, -1).
        name, args, value = (text[slice(*found.span(part))] for part in ("name", "args", "value"))
        if found["close"]:
            if skipped:
                skipped -= 1
            elif len(stack) == 1:
                break
            else:
                stack.pop()
        elif skipped or name in skipped_kinds:
            skipped += bool(found["open"])
        elif found["open"]:
            kept += 1
            stack[-1].groups.append(Group(name, args.replace('"', "").strip()))
            stack.append(stack[-1].groups[-1])
        elif name:
            kept += 1
            value = value or args
            stack[-1].attributes.setdefault(name, value.strip().strip('"').strip())
    libraries = list(root.all("library"))
    if text[position:].strip() or len(stack) > 1 or len(libraries) != 1:
        line = _line(text, position)
        raise ValueError(f"Liberty text must be one library group, not broken at line {line}")
    return libraries[0]


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


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
            raise ValueError(f"Liberty text must close its string of line {_line(text, start)}")
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


Evaluate = Callable[[dict[str, int]], int]


@functools.cache
def compile_function(function: str, names: frozenset[str]) -> Evaluate | None:
    """Return an evaluator of a Liberty Boolean expression.

    None if a name is not an input, or if it is no expression, or longer than any gate's.
    """
    tokens = re.findall(r"[A-Za-z_][\w\[\]]*|[01]|[!'&*|+^()]|\S", function)
    # The functions below call each other as deeply as brackets are nested.
    if len(tokens) > _TOKENS or tokens.count("(") > _BRACKETS:
        return None
    for token in tokens:
        if token[0].isalpha() and token not in names:
            return None

    def either(at: int) -> tuple[Evaluate, int]:
        left, at = both(at)
        while at < len(tokens) and tokens[at] in "|+":
            right, at = both(at + 1)
            left = functools.partial(lambda x, y, v: x(v) | y(v), left, right)
        return left, at

    def both(at: int) -> tuple[Evaluate, int]:
        left, at = differ(at)
        while at < len(tokens) and tokens[at] not in "|+)":
            right, at = differ(at + (tokens[at] in "&*"))
            left = functools.partial(lambda x, y, v: x(v) & y(v), left, right)
        return left, at

    def differ(at: int) -> tuple[Evaluate, int]:
        left, at = one(at)
        while at < len(tokens) and tokens[at] == "^":
            right, at = one(at + 1)
            left = functools.partial(lambda x, y, v: x(v) ^ y(v), left, right)
        return left, at

    def one(at: int) -> tuple[Evaluate, int]:
        token = tokens[at]
        if token not in names and token not in ("!", "(", "0", "1"):
            raise IndexError
        if token == "!":
            inner, at = one(at + 1)
            return functools.partial(lambda x, v: 1 - x(v), inner), at
        if token == "(":
            result, at = either(at + 1)
            if tokens[at] != ")":
                raise IndexError
        elif token in "01":
            result = functools.partial(lambda x, v: x, int(token))
        else:
            result = functools.partial(lambda x, v: v[x], token)
        at += 1
        while at < len(tokens) and tokens[at] == "'":
            result, at = functools.partial(lambda x, v: 1 - x(v), result), at + 1
        return result, at

    try:
        result, at = either(0)
    except IndexError:
        return None
    return result if at == len(tokens) else None
