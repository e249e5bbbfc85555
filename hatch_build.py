"""Builds the wheel: everything below ``carrysave``, so that nothing else is at the top.

In a checkout ``hw``, ``golden``, ``verif`` and ``constraints`` lie beside ``carrysave``; in
site-packages other people's packages have these names. So the wheel has them as
``carrysave.hw`` and so on, without tests, and what imports them says so. It is run from the sdist
too, and needs Python's library alone.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

__all__ = ["BuildHook", "rewrite", "tree"]

PACKAGE = "carrysave"
MOVED = ("constraints", "golden", "hw", "verif")
"""Folders of a checkout that the wheel has below the package."""

_NAME = rf"(?:{'|'.join(MOVED)})"
_IN_TEXT = re.compile(rf"(?<=`)(?={_NAME}\.\w)")
"""Where docstrings name a module."""


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the tree of the wheel together; an editable install is a checkout, and needs none."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the tree into a folder, and have that included."""
        if version == "editable":
            return
        self._folder = TemporaryDirectory()
        for path, contents in tree(Path(self.root)):
            file = Path(self._folder.name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(contents)
        build_data["force_include"][str(Path(self._folder.name, PACKAGE))] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if version != "editable":
            self._folder.cleanup()


def tree(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield what the wheel has, paths and contents, from a checkout or an sdist."""
    for folder in (PACKAGE, *MOVED):
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root)
            if path.is_dir() or not _is_shipped(inside):
                continue
            contents = path.read_bytes()
            if path.suffix == ".py":
                contents = rewrite(contents, str(inside))
            yield (inside if folder == PACKAGE else Path(PACKAGE, inside)), contents


def _is_shipped(path: Path) -> bool:
    """Leave out tests, and what is in no commit."""
    if any(part.startswith(".") or part == "__pycache__" for part in path.parts):
        return False
    return path.name != "conftest.py" and not path.match("test_*.py")


def rewrite(source: bytes, name: str = "?") -> bytes:
    """Have a module import what is moved from where the wheel has it.

    Absolute imports change, and names of modules in docstrings; nothing else does. Of
    ``import hw.x``, which binds ``hw``, two imports are made.

    Parameters
    ----------
    source : of a module, in UTF-8.
    name : of the file, for errors.
    """
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    edits: dict[tuple[int, int], str] = {}  # parts of an f-string may have its place
    for node in ast.walk(ast.parse(source, name)):
        if not isinstance(node, (ast.Import, ast.ImportFrom, ast.Constant)):
            continue
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = source[start:end].decode()
        after = _rewritten(node, before)
        if after != before:
            edits[start, end] = after
    for (start, end), after in sorted(edits.items(), reverse=True):
        source = source[:start] + after.encode() + source[end:]
    return source


def _rewritten(node: ast.Import | ast.ImportFrom | ast.Constant, text: str) -> str:
    """Return the text of an import or a constant as the wheel has it."""
    if isinstance(node, ast.Constant):
        return _IN_TEXT.sub(f"{PACKAGE}.", text) if isinstance(node.value, str) else text
    if isinstance(node, ast.ImportFrom):
        if node.level or not _is_moved(node.module or ""):
            return text
        return re.sub(rf"\A(from\s+)(?={_NAME}\b)", rf"\g<1>{PACKAGE}.", text)
    if not any(_is_moved(alias.name) for alias in node.names):
        return text
    return "; ".join(part for alias in node.names for part in _imports(alias))


def _imports(alias: ast.alias) -> Iterator[str]:
    """Yield what ``import NAME`` becomes; it binds the same name to the same module."""
    top, dot, _ = alias.name.partition(".")
    bound = f" as {alias.asname}" if alias.asname else ""
    if not _is_moved(alias.name):
        yield f"import {alias.name}{bound}"
    elif not dot:
        yield f"from {PACKAGE} import {top}{bound}"
    else:
        yield f"import {PACKAGE}.{alias.name}{bound}"
        if not bound:
            yield f"from {PACKAGE} import {top}"


def _is_moved(module: str) -> bool:
    """Tell whether a module is in one of the folders."""
    return module.partition(".")[0] in MOVED
