"""``carrysave list``."""

import json
import os
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import carrysave
import golden
import hw
from carrysave import cache
from carrysave.cli.options import Json, console
from hw.unknown import nearest

__all__ = ["list_designs"]


def list_designs(
    designs: Annotated[
        list[str] | None, Parameter(help="Show these with their parameters and evidence.")
    ] = None,
    /,
    *,
    json_: Json = False,
) -> int:
    """List the designs; or show what some of them are, their parameters, what verifies them.

    **Examples:**

    - `carrysave list`
    - `carrysave list systolic_os opt1`
    - `carrysave list --json`
    """
    rows = cache.remembered("catalogue", _sources(), _catalogue)
    known = {row["design"]: row for row in rows}
    for name in designs or ():
        if name not in known:
            raise nearest(name, known, "design")
    chosen = [known[name] for name in designs] if designs else rows
    if json_:
        print(json.dumps(chosen, indent=2))
    elif designs:
        from carrysave.report.designs import print_catalogue  # slow to load, and used here only

        print_catalogue(console, chosen)
    else:
        for line in _summaries(chosen):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    return 0


def _summaries(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Say what each design is, in a line, by stage."""
    width = max(len(row["design"]) for row in rows)
    for stage, group in groupby(rows, lambda row: row["stage"]):
        yield f"{stage}:"
        yield from (f"  {row['design']:{width}}  {row['summary']}" for row in group)
    yield ""
    yield "carrysave list DESIGN shows its parameters."


def _catalogue() -> list[dict[str, Any]]:
    """Describe every design, for which every one must be loaded."""
    from carrysave.report.designs import catalogue

    return catalogue()


def _sources() -> list[str]:
    """Say what the catalogue depends on: versions, and each file's size and time."""
    points = entry_points(group="carrysave.designs")
    folders = [os.fspath(package.__path__[0]) for package in (hw, golden)]
    for package in sorted({point.module.partition(".")[0] for point in points}):
        spec = find_spec(package)  # finds, and loads nothing
        folders += (spec and spec.submodule_search_locations) or ()
    files = (
        f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}"
        for folder in folders
        for path in sorted(Path(folder).rglob("*.py"))
    )
    named = (f"{point.name}={point.value}" for point in points)
    return [carrysave.__version__, sys.version, *named, *files]
