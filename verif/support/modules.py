"""The modules of the tree, and what they import."""

import ast
from collections.abc import Iterator
from pathlib import Path

import hw

__all__ = ["ROOT", "imports", "modules"]

ROOT = Path(hw.__file__).parents[1]


def modules(folder: str) -> list[Path]:
    """Files of a package, as paths from the root."""
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files, folder
    return [path.relative_to(ROOT) for path in files]


def imports(path: Path) -> Iterator[tuple[str, str | None]]:
    """Modules that a file imports, each with the name taken from it."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = list(path.parent.parts)[: len(path.parent.parts) + 1 - node.level]
            base = [*above, node.module] if node.level else [node.module]
            yield from ((".".join(filter(None, base)), alias.name) for alias in node.names)
