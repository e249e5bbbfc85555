"""Tests that passed with nothing changed since are not run again by `make test`.

A stamp is the name of a test that passed, kept with a digest of everything that a test could
depend on: each file of the checkout, the packages, tools and variables around it. Any change
makes all stamps void. They are for whole runs on a developer's machine: with CI in the environment,
with `-m`, `-k` or the name of a test, and with `--fresh`, every test runs.
"""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from carrysave import cache
from carrysave.asic.liberty.cells import OSU018

__all__ = ["Stamps", "deselect", "everything", "wanted", "whole_run"]

_OWN = "stamps"
_IGNORED = {"build", "dist", "__pycache__", "node_modules"}
_HIDDEN = {".ci", ".github", ".gitignore", ".pre-commit-config.yaml"}
"""Of the names that begin with a dot, those that tests read."""
_TOOLS = ("c++", "cc", "gcc", "g++", "clang", "make", "ar", "iverilog", "vvp", "sta", "git")
_VARIABLES = ("CARRYSAVE", "PYTHON", "PYTEST", "COCOTB", "VERILATOR", "LC_", "LANG", "LD_")
_OTHERS = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "PATH", "HOME", "XDG_CACHE_HOME")
_OFTEN = 500
"""Tests after which stamps are written."""
_STATES = 8
"""States of checkouts of which stamps are kept; the oldest go."""
_ALWAYS = "verif/test_tree.py"
"""Runs whatever is kept, so that no run is empty."""


def whole_run(config: pytest.Config) -> bool:
    """Return whether this is a run of all short tests."""
    options = config.option
    everywhere = config.args_source is not pytest.Config.ArgsSource.ARGS
    return everywhere and not (
        options.keyword or options.deselect or options.markexpr != "not prove"
    )


def wanted(config: pytest.Config) -> bool:
    """Return whether this is a whole run of the short tests, outside continuous integration."""
    return whole_run(config) and not os.environ.get("CI")


def everything(root: Path) -> str:
    """Return the digest of all that a test could depend on."""
    return cache.digest([
        sys.version,
        sys.prefix,
        platform.platform(),
        *sorted(f"{each.name} {each.version}" for each in metadata.distributions()),
        *(f"{name}={value}" for name, value in sorted(os.environ.items()) if _counts(name)),
        *map(_identity, (*_tools(), *OSU018)),
        *_contents(root),
    ])


def _counts(name: str) -> bool:
    """Return whether a variable of the environment may change what a test finds."""
    own = name in ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_VERSION")
    return (name.startswith(_VARIABLES) or name in _OTHERS) and not own


def _tools() -> Iterator[Path]:
    """Yield the programs that are no Python packages, and the list of Debian's packages."""
    yield Path("/var/lib/dpkg/status")
    for name in _TOOLS:
        found = shutil.which(name)
        yield Path(found or name)


def _identity(path: Path) -> str:
    """Tell one version of a file from another without reading it."""
    try:
        found = path.resolve().stat()
    except OSError:
        return f"{path} is not there"
    return f"{path} {path.resolve()} {found.st_size} {found.st_mtime_ns}"


def _contents(root: Path) -> Iterator[str | bytes]:
    """Yield name and contents of each file of the checkout, in order."""
    for path in sorted(root.iterdir()):
        if path.name.startswith(".") and path.name not in _HIDDEN:
            continue
        if path.is_dir() and path.name not in _IGNORED:
            yield from _contents(path)
        elif path.is_file():
            yield f"{path} {path.stat().st_mode}"
            yield path.read_bytes()


class Stamps:
    """The plug-in: what is kept, and what passes now.

    Parameters
    ----------
    root : the checkout.
    fresh : take nothing as kept, but keep what passes.
    """

    def __init__(self, root: Path, *, fresh: bool) -> None:
        self.root = root
        self.key = everything(root)
        self.folder = cache.folder() / _OWN / self.key[:24]
        self.kept: set[str] = set()
        if fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
        for file in self.folder.glob("*.txt"):
            self.kept.update(file.read_text().splitlines())
        self._passed: list[str] = []
        self._failed: set[str] = set()
        self._file = self.folder / f"{os.getpid()}-{os.urandom(4).hex()}.txt"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        """Tell a worker of xdist what is kept, the same to each."""
        node.workerinput["kept"] = sorted(self.kept)  # type: ignore[attr-defined]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that passed, its set-up and its tear-down too."""
        if not report.passed:
            self._failed.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._failed:
            self._passed.append(report.nodeid)
            if len(self._passed) % _OFTEN == 0:
                self._write()

    def pytest_sessionfinish(self) -> None:
        """Keep the last ones."""
        if self._passed:
            self._write()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many were not run."""
        if self.kept:
            terminalreporter.write_line(
                f"{len(self.kept)} tests passed before, and nothing has changed since: kept, not"
                " run again (--fresh runs them)"
            )

    def _write(self) -> None:
        """Keep what passed, unless something was changed meanwhile."""
        if everything(self.root) == self.key:
            cache.write(self._file, "\n".join(self._passed) + "\n")
            folders = sorted(self.folder.parent.iterdir(), key=lambda path: path.stat().st_mtime)
            for old in folders[:-_STATES]:
                shutil.rmtree(old, ignore_errors=True)


def deselect(config: pytest.Config, items: list[pytest.Item], kept: set[str]) -> None:
    """Leave out the tests that are kept."""
    left = [item for item in items if item.nodeid not in kept or item.nodeid.startswith(_ALWAYS)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(left)])
    items[:] = left
