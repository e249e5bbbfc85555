"""What changed between two reports of synthesis: Markdown for comments on changes, and data."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from carrysave.report.figures import FIGURES, Figure
from hw.emit.user_files import FileError, parsing, read_text, shown

__all__ = ["Change", "changes", "conditions", "data", "markdown", "pairs"]

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """A figure of two reports, of which at least one has it.

    Members
    -------
    figure : which one.
    before, after : its values; None: the report has none.
    placed : it is one with wires.
    """

    figure: Figure
    before: float | None
    after: float | None
    placed: bool = False

    @property
    def share(self) -> float | None:
        """The change, of the value before; None if one is missing."""
        if self.before is None or self.after is None:
            return None
        if self.before == 0:
            return 0.0 if self.after == 0 else inf
        return (self.after - self.before) / self.before

    def is_worse(self, threshold: float) -> bool:
        """Return whether it is worse by more than a share of the value before, or gone."""
        share = self.share
        if share is None:
            return self.after is None
        return (share if self.figure.better == "less" else -share) > threshold


def pairs(before: Path, after: Path) -> Iterator[tuple[str, Report | None, Report | None]]:
    """Yield the reports that belong together, with a name: those of two files, or of two folders.

    In folders those of the same file name belong together; one of the two may be missing.

    Raises
    ------
    FileError
        A file is no report of synthesis, there is none, or two are of different targets.
    """
    if before.is_dir() != after.is_dir():
        folder = before if before.is_dir() else after
        raise FileError(folder, "must be a file, as the other one is, or both must be folders")
    if not before.is_dir():
        old, new = _report(before), _report(after)
        yield _alike(after, old, new), old, new
        return
    reports = [{path.name: path for path in folder.glob("*.json")} for folder in (before, after)]
    for folder, files in zip((before, after), reports, strict=True):
        if not files:
            raise FileError(folder, "must have a report of synthesis, .json, not none")
    for name in sorted(reports[0] | reports[1]):
        one, two = ((_report(files[name]) if name in files else None) for files in reports)
        yield _alike(after / name, one, two), one, two


def _report(path: Path) -> Report:
    """Read a report, and check what is read of it."""
    text = read_text(path)
    with parsing(path):
        report = json.loads(text)
    if not isinstance(report, dict) or not all(
        isinstance(report.get(key), str) for key in ("module", "target")
    ):
        raise FileError(path, "must be what carrysave synth writes, with module and target")
    placed = report.get("placed")
    if placed is not None and not isinstance(placed, dict):
        raise FileError(path, f"must be an object, not {placed!r}", "placed")
    for prefix, part in (("", report), ("placed.", placed or {})):
        for figure in FIGURES:
            value = part.get(figure.key) if figure.better else None
            if value is not None and not _is_figure(value):
                reason = f"must be a number from 0 to {_MOST:g}, not {value!r:.40}"
                raise FileError(path, reason, f"{prefix}{figure.key}")
    return report


_MOST = 1e30  # of what any figure is in its unit, and what a ratio of can be shown


def _is_figure(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= _MOST


def _alike(path: Path, old: Report | None, new: Report | None) -> str:
    """Return a name for two reports, of the same target."""
    if old and new and old["target"] != new["target"]:
        raise FileError(path, f"target must be {old['target']}, as before, not {new['target']}")
    one = new or old or {}
    return f"{one['module']} on {one['target']}"


def changes(before: Report, after: Report) -> list[Change]:
    """Return the figures of two reports that can be better or worse."""
    result = []
    parts = ((before, after, False), (before.get("placed"), after.get("placed"), True))
    for old, new, placed in parts:
        for figure in FIGURES:
            one, two = ((part or {}).get(figure.key) for part in (old, new))
            if figure.better and not (one is None and two is None):
                result.append(Change(figure, one, two, placed))
    return result


_CONDITIONS = ("activity", "recipe", "hierarchy_mode", "device", "library", "versions")


def conditions(before: Report, after: Report) -> list[str]:
    """Name what else differs, as figures may differ by it."""
    return [key for key in _CONDITIONS if before.get(key) != after.get(key)]


def markdown(
    name: str, before: Report | None, after: Report | None, threshold: float
) -> tuple[str, bool]:
    """Return a section of Markdown for two reports, and whether anything in it is worse.

    Parameters
    ----------
    name : of the section.
    before, after : reports; one of them may be missing.
    threshold : share of a figure that it may be worse by.
    """
    lines = [f"### {_plain(name)}", ""]
    if before is None or after is None:
        lines.append("New: nothing to compare with." if before is None else "**Gone.**")
        return "\n".join([*lines, ""]), after is None
    changed = changes(before, after)
    lines += ["| figure | before | after | change | |", "| --- | ---: | ---: | ---: | --- |"]
    for change in changed:
        label = f"{change.figure.name.strip()}{', placed' if change.placed else ''}"
        values = (value_text(change.figure, one) for one in (change.before, change.after))
        verdict = "**worse**" if change.is_worse(threshold) else ""
        lines.append(f"| {label} | {' | '.join(values)} | {share_text(change)} | {verdict} |")
    if differ := conditions(before, after):
        lines += ["", f"Not the same in both: {', '.join(differ)}."]
    return "\n".join([*lines, ""]), any(change.is_worse(threshold) for change in changed)


def data(
    before: Report | None, after: Report | None, threshold: float
) -> tuple[dict[str, Any], bool]:
    """Return what :func:`markdown` writes as plain values, and whether anything in it is worse.

    ``state`` is ``both``, ``new`` or ``gone``; ``share`` of a figure is None where the value before
    is 0, or one is missing.
    """
    one: Report = after or before or {}
    changed = changes(before, after) if before is not None and after is not None else []
    rows = [
        {
            "figure": change.figure.key,
            "placed": change.placed,
            "better": change.figure.better,
            "before": change.before,
            "after": change.after,
            "share": None if change.share == inf else change.share,
            "worse": change.is_worse(threshold),
        }
        for change in changed
    ]
    worse = after is None or any(row["worse"] for row in rows)
    differ = conditions(before, after) if before is not None and after is not None else []
    return {
        "module": one["module"],
        "target": one["target"],
        "state": "new" if before is None else "gone" if after is None else "both",
        "worse": worse,
        "figures": rows,
        "conditions": differ,
    }, worse


def value_text(figure: Figure, value: float | None) -> str:
    return "-" if value is None else figure.form.format(value)


def share_text(change: Change) -> str:
    share = change.share
    if share is None:
        return "gone" if change.after is None else "new"
    return "from 0" if share == inf else f"{share:+.2%}"


def _plain(text: str) -> str:
    """Return a name of a file's as Markdown that is this name alone."""
    return "".join(f"\\{one}" if one in "\\`*[]<>#|!&@" else one for one in shown(text))
