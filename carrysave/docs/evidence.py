"""What proves a design: its bench, and the tests of the tree that name it."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from carrysave.drawings.sources import ROOT

__all__ = ["KINDS", "kinds_of", "tests_of", "tests_with"]

KINDS = ("cocotb", "netlist", "formal proof", "mutants")
"""What :attr:`hw.catalog.Entry.evidence` speaks of, by a word of it."""


def kinds_of(evidence: tuple[str, ...]) -> list[str]:
    """Return which kinds of evidence a design has."""
    text = "\n".join(evidence)
    return [kind for kind in KINDS if re.search(rf"^.*\b{kind}", text, re.MULTILINE)]


@cache
def _tests() -> dict[Path, str]:
    """Return all files with tests, and their text."""
    paths = sorted((ROOT / "verif").rglob("test_*.py"))
    return {path.relative_to(ROOT): path.read_text() for path in paths}


def tests_of(name: str) -> Iterator[Path]:
    """Yield the files with tests that name a design; none in an installed package."""
    yield from tests_with(rf"[\"'(]{re.escape(name)}[\"'(]")


def tests_with(pattern: str) -> Iterator[Path]:
    """Yield the files with tests in whose text a pattern is found; none in an installed package."""
    known = re.compile(pattern)
    return (path for path, text in _tests().items() if known.search(text))
