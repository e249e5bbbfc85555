"""Examples in docstrings of the hardware run, and print what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

import hw
from hw.catalog import CATALOG

ROOT = Path(hw.__file__).parents[1]
FILES = [path for path in sorted((ROOT / "hw").rglob("*.py")) if ">>> " in path.read_text()]


def test_there_are_examples_in_most_rooms() -> None:
    rooms = {path.relative_to(ROOT).parts[1] for path in FILES}
    assert rooms >= {"arith", "device", "lib", "npe", "pe", "soc", "tpe"}


def test_designs_have_an_example() -> None:
    lacking = {name for name, one in CATALOG.items() if ">>> " not in (one.component.__doc__ or "")}
    assert not lacking


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_hold(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed, found
