"""Pieces of pages, in Markdown as MyST reads it."""

from collections.abc import Iterable, Sequence

__all__ = ["autodoc", "cell", "code", "table", "toctree"]


def cell(text: object) -> str:
    """Return a text as a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table."""
    lines = [heads, ["---"] * len(heads), *([cell(one) for one in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str, language: str = "text") -> str:
    """Write a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def toctree(names: Iterable[str], *options: str) -> str:
    """List pages below this one."""
    lines = [*(f":{option}:" for option in options), *([""] if options else []), *names]
    return "```{toctree}\n" + "\n".join(lines) + "\n```"


def autodoc(kind: str, name: str, *options: str) -> str:
    """Have Sphinx document an object from its docstring."""
    lines = [f".. auto{kind}:: {name}", *(f"   :{option}:" for option in options)]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"
