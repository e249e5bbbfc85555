"""Options of the command line and of settings files, checked before any work is done."""

import json
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from carrysave.api.design import Design
from carrysave.api.explicit_design import check_once
from carrysave.api.result import Result
from carrysave.errors import UsageError, check_positive, needs
from carrysave.progress import Tally
from hw.catalog import CATALOG
from hw.emit.user_files import FileError, parsing, read_text, shown

if TYPE_CHECKING:
    from carrysave.report.page import Page

__all__ = [
    "ALL_CORES",
    "BY_DEFAULT",
    "TABLES",
    "Choice",
    "Config",
    "Folder",
    "Html",
    "Json",
    "Name",
    "Running",
    "Sets",
    "StoreFile",
    "View",
    "check_page",
    "console",
    "errors",
    "output_folder",
    "present",
    "print_outcome",
    "read_settings",
    "settings",
    "write_page",
]

console = Console()
errors = Console(stderr=True)

Name = Annotated[str | None, Parameter(help="A design of `carrysave list`.")]
Sets = Annotated[
    list[str] | None,
    Parameter(name=["--parameter", "-p"], help="A parameter, `KEY=VALUE`; repeatable."),
]
Folder = Annotated[
    Path | None, Parameter(name=["--output", "-o"], help="Folder for all files. [default: build]")
]
Config = Annotated[
    Path | None,
    Parameter(help="TOML file with `design`, `output`, `library` and a table `[parameters]`."),
]
Json = Annotated[
    bool,
    Parameter(name="--json", show_default=False, help="Print only JSON to stdout."),
]
Html = Annotated[
    Path | None,
    Parameter(help="Also write a page for browsers, of one file: tables, charts, pictures."),
]


def check_page(html: Path | None, *, charts: bool = True) -> None:
    """Refuse a page that cannot be written.

    Parameters
    ----------
    html : its file; None: no page.
    charts : it may have charts.

    Raises
    ------
    ModuleNotFoundError
        The library that draws charts is not installed.
    """
    if html is None:
        return
    if html.is_dir():
        raise UsageError(f"--html must be a file, not the folder {str(html)!r}")
    for path in html.parents:
        if path.exists() and not path.is_dir():
            raise UsageError(f"--html must be in a folder, not in the file {str(path)!r}")
    if charts:
        needs("vl_convert")


def write_page(
    html: Path | None, make: "Callable[[dict[str, Any]], Page]", facts: dict[str, Any]
) -> list[str]:
    """Write the page of what was found, if one is asked for; return the names of all files."""
    if html is None:
        return facts["files"]
    from carrysave.report import page  # slow to load, and rarely used

    return [*facts["files"], str(page.write(html, make(facts)))]


def present(result: Result, html: Path | None, raw: bool, folder: Path | None = None) -> None:
    """Save a result, write its page if one is asked for, and print it, as JSON or as tables.

    Parameters
    ----------
    folder : where files of the result go; None: it has none, or has written them.
    """
    result.command = shlex.join(["carrysave", *sys.argv[1:]])
    if folder is not None:
        result.save(folder)
    if html is not None:
        from carrysave.report import page  # slow to load, and rarely used

        result.add_file(page.write(html, result.page()))
    if raw:
        print(result.to_json())
    else:
        result.show(console)


StoreFile = Annotated[
    str | Path | None,  # in this order: a path has no two slashes
    Parameter(help="File of all results, or `postgresql://...`. [default: one in the cache]"),
]


@Parameter(name="*", group="Jobs")
@dataclass(frozen=True, kw_only=True)
class Running:
    """How a command runs its jobs."""

    jobs: Annotated[
        int | None, Parameter(help="Jobs at a time on this machine. [default: one per core]")
    ] = None
    scheduler: Annotated[
        str | None,
        Parameter(help="Scheduler of a dask cluster that stands, `tcp://HOST:PORT`."),
    ] = None
    store: StoreFile = None
    job_seconds: Annotated[
        float | None, Parameter(help="Kill a job after this many seconds. [default: 4 hours]")
    ] = None
    job_memory: Annotated[
        float | None,
        Parameter(help="Kill a job that takes this many MB. [default: 3/4 of the machine's]"),
    ] = None

    def session(
        self, progress: Callable[[Tally], None] | None = None
    ) -> AbstractContextManager[object]:
        """Return a session of :mod:`carrysave.jobs` with these options, for a ``with``."""
        from carrysave import jobs

        check_positive("--job-seconds", self.job_seconds, " s")
        check_positive("--job-memory", self.job_memory, " MB")
        limits: dict[str, Any] = {}
        if self.job_seconds is not None:
            limits["seconds"] = self.job_seconds
        if self.job_memory is not None:
            limits["memory"] = int(self.job_memory * (1 << 20))
        options = jobs.Options(
            jobs=self.jobs, scheduler=self.scheduler, store=self.store, progress=progress, **limits
        )
        return jobs.session(options)


ALL_CORES = Running()
"""How jobs are run if nothing is said."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Choice:
    """What chooses a design, and where its files go."""

    parameter: Sets = None
    output: Folder = None
    config: Config = None

    @property
    def given(self) -> bool:
        """Whether parameters are given."""
        return bool(self.parameter) or self.config is not None

    def choose(self, name: str | None) -> tuple[Design, Path]:
        """Return the design and the folder; the command line goes before the settings file."""
        chosen = read_settings(self.config) if self.config is not None else {}
        name = name or chosen.get("design")
        if name is None:
            raise UsageError(f"name a design (`carrysave list` says more): {', '.join(CATALOG)}")
        texts = {key: str(value) for key, value in chosen.get("parameters", {}).items()}
        design = Design.parse(name, texts | settings(self.parameter))
        # A file's name is bytes, and those that it is here are those of the settings' text.
        folder = Path(os.fsdecode(chosen.get("output", "build").encode()))
        return design, output_folder(self.output or folder)


BY_DEFAULT = Choice()
"""No parameters, the folder by default."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class View:
    """How a result is shown."""

    html: Html = None
    json_: Json = False

    def present(self, result: Result, folder: Path | None = None) -> None:
        """Show a result; see :func:`present`."""
        present(result, self.html, self.json_, folder)


TABLES = View()
"""As tables."""


def settings(sets: Sequence[str] | None, option: str = "--parameter") -> dict[str, str]:
    """Parse parameters, `KEY=VALUE` each, that an option gives."""
    texts = {}
    for text in sets or ():
        key, equals, value = map(str.strip, text.partition("="))
        if not equals:
            raise UsageError(f"{option} must be KEY=VALUE, not {text!r}")
        if key in texts:
            raise UsageError(f"{option} {key} must be given once, not twice")
        texts[key] = value
    check_once(texts.get("engine", ""), texts)
    return texts


_LONGEST = 1 << 13  # bytes of settings; dotted keys take memory by the square of their length
_SETTINGS: dict[str, tuple[type, str]] = {
    "design": (str, "a string"),
    "output": (str, "a string"),
    "parameters": (dict, "a table"),
    "library": (list, "a string, or a list of them"),
}


def read_settings(config: Path) -> dict[str, Any]:
    """Read a settings file."""
    try:
        text = read_text(config, _LONGEST)
        with parsing(config):
            chosen = tomllib.loads(text)
    except FileNotFoundError as error:
        raise UsageError(f"--config {config}: {error.strerror}") from None
    except FileError as error:
        raise UsageError(f"--config {error}") from None
    if unknown := ", ".join(sorted(set(chosen) - set(_SETTINGS))):
        keys = ", ".join(_SETTINGS)
        raise UsageError(f"--config {config}: keys must be {keys}, not {unknown}")
    for key, value in chosen.items():
        kind, what = _SETTINGS[key]
        if key == "library":
            chosen[key] = value = [value] if isinstance(value, str) else value
        texts = value if key == "library" and isinstance(value, list) else [""]
        if not isinstance(value, kind) or not all(isinstance(text, str) for text in texts):
            raise UsageError(f"--config {config}: {key} must be {what}, not {value!r}")
    return chosen


def output_folder(output: Path | None) -> Path:
    """Return the folder for all files; fail early if it cannot be created."""
    folder = output or Path("build")
    for path in (folder, *folder.parents):
        if path.exists() and not path.is_dir():
            raise UsageError(f"--output must be a folder, not the file {str(path)!r}")
    return folder


def print_outcome(
    facts: dict[str, Any], show: Callable[[Console, dict[str, Any]], None], raw: bool
) -> None:
    """Print results, as JSON or as tables, and the files written, if any."""
    if raw:
        print(json.dumps(facts, indent=2))
        return
    show(console, facts)
    for file in facts.get("files", ()):
        console.print(f"wrote {shown(file, 4000)}", highlight=False, markup=False, soft_wrap=True)
