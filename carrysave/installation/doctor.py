"""``carrysave doctor``: what is there, and what each command still needs."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import carrysave
from carrysave.errors import UsageError
from carrysave.installation import parts
from carrysave.installation.parts import Part
from carrysave.installation.ways import WAYS, Way

__all__ = ["examine", "show"]


def examine(commands: Sequence[str] = ()) -> dict[str, Any]:
    """Look at the installation.

    Parameters
    ----------
    commands : those that shall work; all by default.

    Returns
    -------
    ``ok``: each command can be used as it is used most; ``version system python core programs
    extras commands``, of which the last has for each command its ``state`` (``ready``, ``partly``,
    ``no``) and ``ways``, each with what it lacks.
    """
    for name in commands:
        if name not in WAYS:
            raise UsageError(f"command must be one of {', '.join(WAYS)}, not {name!r}")
    python, core = parts.python(), parts.core()
    system, extras = parts.system(), parts.extras()
    known = {
        part.name: part
        for part in (*system, *(one for packages in extras.values() for one in packages))
    }
    basic = [part.name for part in (python, *core) if not part.ok]
    rows = [_command(name, WAYS[name], known, basic) for name in dict.fromkeys(commands or WAYS)]
    return {
        "ok": all(row["ways"][0]["ok"] for row in rows),
        "version": carrysave.__version__,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": _plain(python),
        "core": [_plain(part) for part in core],
        "programs": [_plain(part) for part in system],
        "extras": {
            extra: [_plain(part) for part in packages] for extra, packages in extras.items()
        },
        "commands": rows,
    }


def _plain(part: Part) -> dict[str, Any]:
    return {**asdict(part), "ok": part.ok}


def _command(
    name: str, ways: Iterable[Way], known: Mapping[str, Part], basic: Sequence[str]
) -> dict[str, Any]:
    """Say of a command which of its ways are open, and what brings what they lack."""
    described = []
    for way in ways:
        lacks = [*basic, *(part for part in dict.fromkeys(way.needs) if not known[part].ok)]
        described.append({"way": way.text, "ok": not lacks, "lacks": lacks})
    open_ = [way["ok"] for way in described]
    state = "ready" if all(open_) else "partly" if open_[0] else "no"
    return {"command": name, "state": state, "ways": described}


def show(console: Console, report: Mapping[str, Any]) -> None:
    """Print what was found, and what to do."""

    def line(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    line(f"carrysave {report['version']}, Python {report['python']['version']}, {report['system']}")
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for part in _packages_table(report):
        said = escape(part["version"]) if part["ok"] else f"[bold]{escape(part['problem'])}[/bold]"
        table.add_row(part["name"], said)
    console.print(table, highlight=False)
    for extra, packages in report["extras"].items():
        missing = [part["name"] for part in packages if not part["ok"]]
        state = "complete" if not missing else f"lacks {', '.join(missing)}"
        line(f"extra {extra}: {state}")
    for row in report["commands"]:
        line(f"carrysave {row['command']}: {_state(row)}")
    remedies = _remedies(report)
    if remedies:
        line("to have all of these:")
    for remedy in remedies:
        line(f"  {remedy}")


def _packages_table(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the parts that are shown one by one: of the core's packages what is wrong."""
    wrong = [part for part in (report["python"], *report["core"]) if not part["ok"]]
    right = sum(part["ok"] for part in report["core"])
    core = {
        "name": "packages",
        "ok": True,
        "version": f"{right} of {len(report['core'])} are there",
    }
    return [core, *wrong, *report["programs"]]


def _state(row: Mapping[str, Any]) -> str:
    """Say in words what of a command works."""
    first, *others = row["ways"]
    closed = [f"{way['way']} needs {', '.join(way['lacks'])}" for way in others if not way["ok"]]
    if row["state"] == "ready":
        return "ready"
    if row["state"] == "partly":
        return f"ready; {'; '.join(closed)}"
    open_ = [way["way"] for way in others if way["ok"]]
    rest = f"; {', '.join(open_)} can be used" if open_ else ""
    return f"needs {', '.join(first['lacks'])}{rest}"


def _remedies(report: Mapping[str, Any]) -> list[str]:
    """List what brings what the commands lack, each once."""
    every = (
        report["python"],
        *report["core"],
        *report["programs"],
        *(part for parts in report["extras"].values() for part in parts),
    )
    lacking = {name for row in report["commands"] for way in row["ways"] for name in way["lacks"]}
    wrong = [part for part in every if not part["ok"] and part["name"] in lacking]
    return [*dict.fromkeys(part["remedy"] for part in wrong)]
