"""Nothing that Python 3.11.2, which Debian 12 has, does not do, or does wrongly."""

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import carrysave

ROOT = Path(carrysave.__file__).parents[1]
ROOMS = ("carrysave", "examples", "golden", "hw", "packages", "scripts", "verif")
FILES = [ROOT / "hatch_build.py", *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))]
WRONG = {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
"""What `re` matches wrongly before 3.11.5."""
MARKS = re.compile(rb"[*+?}]\+|\(\?>")
"""What such an expression has, and few other texts."""
CALLS = {"extract", "extractall", "unpack_archive"}
"""Their `filter` came with 3.11.4."""


def trees(marks: "re.Pattern[bytes]") -> Iterator[tuple[str, ast.AST]]:
    """Yield the files that have one of some marks, by their paths, but for this one."""
    for path in FILES:
        text = path.read_bytes()
        if path != Path(__file__) and marks.search(text):
            yield path.relative_to(ROOT).as_posix(), ast.parse(text)


def operators(parsed: Any) -> Iterator[str]:
    """Yield the names of an expression's operators, also of those inside."""
    if isinstance(parsed, list | tuple):
        for one in parsed:
            yield from operators(one)
    elif hasattr(parsed, "data"):
        yield from operators(parsed.data)
    else:
        yield str(parsed)


def wrong(text: str | bytes) -> set[str]:
    """Return what a text has that matches wrongly, if it is a regular expression."""
    found: set[str] = set()
    if not MARKS.search(text.encode() if isinstance(text, str) else text):
        return found
    for flags in (0, re.VERBOSE):
        # Much is no expression, and much of that reads like an odd one.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                parsed = _parser.parse(text, flags)
            except (re.error, ValueError, OverflowError, RecursionError):
                continue
        found |= WRONG.intersection(operators(parsed))
    return found


def texts(tree: ast.AST) -> Iterator[tuple[int, str | bytes]]:
    """Yield lines and texts that may be expressions: not the words that say what code does."""
    words = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "x" for one in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and id(node) not in words:
            if isinstance(node.value, str):
                yield node.lineno, re.sub(r"\b[cg]\+\+", "", node.value)
            elif isinstance(node.value, bytes):
                yield node.lineno, node.value


@pytest.mark.parametrize("text", ["a++", "a*+", "a?+", "a{2}+", "(?>a)", "[(]((?P<b>a)|c++)"])
def test_it_is_seen(text: str) -> None:
    assert wrong(text)
    assert wrong(text.encode())
    assert not wrong("a+[*+]b?[+]")


def test_no_expression_matches_wrongly_before_3_11_5() -> None:
    found = [
        (path, line, text)
        for path, tree in trees(MARKS)
        for line, text in texts(tree)
        if wrong(text)
    ]
    assert found == []


def test_no_call_has_what_came_later() -> None:
    found = [
        (path, node.lineno)
        for path, tree in trees(re.compile(rb"\bfilter="))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in CALLS and any(word.arg == "filter" for word in node.keywords)
    ]
    assert found == []
