"""Results of a simulation: the tests that ran."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["Case", "cases"]

_STOPPED = "RegressionTerminated"
"""What cocotb calls the failure of tests that it left out after one that failed."""


@dataclass(frozen=True)
class Case:
    """A test that ran, or was skipped.

    Members
    -------
    name : of the test.
    outcome : ``passed``, ``failed`` or ``skipped``.
    seconds : that it took.
    start, stop : simulated time, ns; None if the simulation ended before.
    why : the reason of a failure, one line; may be empty.
    """

    name: str
    outcome: str
    seconds: float
    start: float | None
    stop: float | None
    why: str


def cases(xml: Path) -> list[Case]:
    """Read the tests in a file of JUnit's format, as cocotb writes it; none if there is no file."""
    if not xml.exists():
        return []
    return [_case(element) for element in ElementTree.parse(xml).getroot().iter("testcase")]


def _case(element: ElementTree.Element) -> Case:
    facts = {
        child.get("name", ""): child.get("value", "")
        for child in element.iterfind("properties/property")
    }
    start, stop = (
        float(facts[name]) if facts.get("sim_time_unit") == "ns" and name in facts else None
        for name in ("sim_time_start", "sim_time_stop")
    )
    wrong = next((child for tag in ("failure", "error") for child in element.iterfind(tag)), None)
    why, outcome = "", "passed"
    stopped = wrong is not None and wrong.get("type") == _STOPPED
    if stopped or element.find("skipped") is not None:
        outcome = "skipped"
    elif wrong is not None:
        said = (wrong.get("message") or wrong.text or "").strip().splitlines() or [""]
        # Without a message it is a traceback, which ends with the reason.
        outcome, why = "failed", said[-1 if said[0].startswith("Traceback") else 0]
    seconds = float(element.get("time") or 0)
    return Case(element.get("name", "?"), outcome, seconds, start, stop, why)
