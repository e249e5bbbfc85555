"""One piece of evidence, and what came of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from carrysave.jobs import Outcome

__all__ = ["FAILED", "IMPOSSIBLE", "NOT_RUN", "OUTCOMES", "PASSED", "Part", "failed", "plain"]

PASSED, FAILED, IMPOSSIBLE, NOT_RUN = OUTCOMES = ("passed", "failed", "not possible", "not run")
_LACKS = ("MissingToolError", "ModuleNotFoundError")
"""Failures of jobs that say what this machine has not."""


@dataclass(frozen=True)
class Part:
    """What became of one piece of evidence.

    Members
    -------
    name : one of :data:`carrysave.signoff.stage.PARTS`.
    outcome : one of :data:`OUTCOMES`; ``not possible`` has its reason in `why`.
    why : in words.
    facts : plain data, such as holes.
    """

    name: str
    outcome: str
    why: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def failed(name: str, outcome: Outcome) -> Part | None:
    """Return the part of a job that has no result; None if it has one."""
    if outcome.failure is None:
        return None
    lacks = outcome.failure.kind in _LACKS
    return Part(name, IMPOSSIBLE if lacks else FAILED, str(outcome.failure))


def plain(part: Part) -> dict[str, Any]:
    """Return a part as JSON has it."""
    return asdict(part)
