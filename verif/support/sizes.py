"""Sizes that the tree keeps to, and what is larger still: files, functions, lists of parameters."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

__all__ = ["LIMITS", "ROOMS", "larger", "listed"]

ROOMS = ("hw", "golden", "verif", "carrysave", "scripts")
LIMITS = {"file_lines": 250, "function_lines": 60, "parameters": 8}
"""Lines with docstrings; parameters without ``self``.

What is longer in ``hw``: ``row_lane`` and ``_plan`` of the packer are one step of a pipeline each,
where every line takes what the one before has made; ``result_addresses`` walks over blocks, and its
registers have their next values from each other's.
The tests that are longer follow one thing from end to end, or go through one list of refusals.
"""
_LIST = Path(__file__).with_name("sizes.json")


def listed() -> dict[str, dict[str, int]]:
    """Return what may be larger still, and how large."""
    return json.loads(_LIST.read_text())


def larger(root: Path) -> dict[str, dict[str, int]]:
    """Return what is larger than it shall be, by kind and name, and how large it is."""
    found: dict[str, dict[str, int]] = {kind: {} for kind in LIMITS}
    for kind, name, size in _sizes(root):
        if size > LIMITS[kind]:
            found[kind][name] = max(size, found[kind].get(name, 0))
    return found


def _sizes(root: Path) -> Iterator[tuple[str, str, int]]:
    """Yield kind, name and size of all files and functions."""
    for path in sorted(file for room in ROOMS for file in (root / room).rglob("*.py")):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        yield "file_lines", name, text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield "function_lines", f"{name}:{node.name}", node.end_lineno - node.lineno + 1
                yield "parameters", f"{name}:{node.name}", _parameters(node.args)


def _parameters(arguments: ast.arguments) -> int:
    """Count parameters; a method's own object is none."""
    by_place = [*arguments.posonlyargs, *arguments.args]
    own = bool(by_place) and by_place[0].arg in ("self", "cls")
    others = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return len(by_place) + len(arguments.kwonlyargs) + len(others) - own
