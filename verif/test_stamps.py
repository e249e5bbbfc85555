"""Stamps of tests that passed: never where anything changed, and never of a failure."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CONFTEST = """
from verif.conftest import pytest_addoption, pytest_collection_modifyitems, pytest_configure
"""
SETTINGS = """
[tool.pytest.ini_options]
testpaths = ["own"]
addopts = ["-q", "-m", "not prove"]
markers = ["prove"]
"""
TESTS = """
import pytest
from pathlib import Path

def test_one():
    pass

def test_two():
    assert Path(__file__).with_name("data").read_text() == "right"

@pytest.fixture
def torn():
    yield
    raise ValueError

def test_three(torn):
    pass

@pytest.mark.prove
def test_four():
    pass
"""
Tried = Callable[..., str]


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    """Return what runs the tests of a small checkout, and gives the last line of the outcome."""
    own = tmp_path / "checkout" / "own"
    own.mkdir(parents=True)
    (own / "conftest.py").write_text(CONFTEST)
    (own / "test_own.py").write_text(TESTS)
    (own / "data").write_text("right")
    (own.parent / "pyproject.toml").write_text(SETTINGS)
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(own.parent)

    def call(*arguments: str, **variables: str) -> str:
        found = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return found.stdout.splitlines()[-1].partition(" in ")[0]

    return call


@pytest.mark.prove
def test_stamps_keep_what_passed_in_workers(tried: Tried) -> None:
    first = tried("-n", "2")
    assert first.startswith("3 passed")
    assert "1 error" in first
    # Its tear-down failed, so it is not kept.
    assert tried("-n", "2").startswith("1 passed")


EVERYTHING = "3 passed, 1 deselected, 1 error"


def test_stamps_hold_for_what_they_were_made_of(tried: Tried) -> None:
    assert tried() == EVERYTHING
    assert tried() == "1 passed, 3 deselected, 1 error"
    assert tried(CI="true") == EVERYTHING
    Path("own/data").write_text("wrong")
    assert tried() == "1 failed, 2 passed, 1 deselected, 1 error"
    Path("own/data").write_text("right")
    assert tried() == "1 passed, 3 deselected, 1 error"


@pytest.mark.prove
def test_stamps_are_for_all_tests_as_they_are(tried: Tried) -> None:
    assert tried() == EVERYTHING
    assert tried("own/test_own.py") == EVERYTHING
    assert tried("-k", "test") == EVERYTHING
    assert tried("-m", "prove") == "1 passed, 3 deselected"
    assert tried("--fresh") == EVERYTHING
    assert tried(PYTHONHASHSEED="5") == EVERYTHING
    Path("own/data").write_text("wrong")
    assert tried() == "1 failed, 2 passed, 1 deselected, 1 error"
    assert tried() == "1 failed, 1 passed, 2 deselected, 1 error"
