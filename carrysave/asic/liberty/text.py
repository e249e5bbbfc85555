"""Reads the text of Liberty files: groups, attributes, Boolean functions."""

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

__all__ = ["Group", "compile_function", "parse"]

_STATEMENT = re.compile(
    r"""\s*(?:
        (?P<close>\})
      | (?P<name>[A-Za-z_][\w.]*)\s*(?:
            :\s*(?P<value>"(?:[^"\\]|\\.)*"|[^;\n{}]*)
          | \((?P<args>(?:[^()"]|"(?:[^"\\]|\\.)*")*)\)\s*(?P<open>\{)?)
        \s*;?
      | ;)""",
    re.X | re.S,
)
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//[^\n]*|\\\r?\n', re.S)
# What timing analysis reads and the facts below do not: passed over without a tree.
_SKIPPED = frozenset({"timing", "internal_power", "leakage_power", "pg_pin", "test_cell"})


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
        With the line of the first text that is not Liberty.
    """
    text = _COMMENT.sub(_uncomment, text)
    root = Group("", "")
    stack = [root]
    skipped = 0  # open braces inside a group that is passed over
    position = 0
    while (found := _STATEMENT.match(text, position)) is not None:
        position = found.end()
        name, args = found["name"], found["args"]
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
            stack[-1].groups.append(Group(name, args.replace('"', "").strip()))
            stack.append(stack[-1].groups[-1])
        elif name:
            value = found["value"] if args is None else args
            stack[-1].attributes.setdefault(name, value.strip().strip('"').strip())
    libraries = list(root.all("library"))
    if text[position:].strip() or len(stack) > 1 or len(libraries) != 1:
        line = text.count("\n", 0, position) + 1
        raise ValueError(f"Liberty text must be one library group, not broken at line {line}")
    return libraries[0]


def _uncomment(found: re.Match[str]) -> str:
    """Keep strings; leave the line breaks of comments, so that line numbers stay true."""
    return found[0] if found[0].startswith('"') else "\n" * found[0].count("\n")


Evaluate = Callable[[dict[str, int]], int]


@functools.cache
def compile_function(function: str, names: frozenset[str]) -> Evaluate | None:
    """Return an evaluator of a Liberty Boolean expression; None if a name is not an input."""
    tokens = re.findall(r"[A-Za-z_][\w\[\]]*|[01]|[!'&*|+^()]", function)
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
        if token == "!":
            inner, at = one(at + 1)
            return functools.partial(lambda x, v: 1 - x(v), inner), at
        if token == "(":
            result, at = either(at + 1)
        elif token in "01":
            result = functools.partial(lambda x, v: x, int(token))
        else:
            result = functools.partial(lambda x, v: v[x], token)
        at += 1
        while at < len(tokens) and tokens[at] == "'":
            result, at = functools.partial(lambda x, v: 1 - x(v), result), at + 1
        return result, at

    try:
        return either(0)[0]
    except IndexError:
        return None
