"""What became of a job: its result, or why there is none."""

from dataclasses import dataclass
from typing import Any

from carrysave.jobs.job import Job

__all__ = ["Failure", "Outcome"]


@dataclass(frozen=True)
class Failure:
    """Why there is no result.

    Members
    -------
    kind : the name of the exception's class; ``TimeLimit``, ``MemoryLimit`` or ``Crash``.
    text : what it says, in one line.
    log : the end of what the job and its tools printed, and where it happened.
    final : whether another attempt would end alike: the arguments are refused, a limit is met, or
        the exception has a true attribute ``final``.
    error : the exception, if it can be passed on.
    """

    kind: str
    text: str
    log: str = ""
    final: bool = False
    error: BaseException | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a job.

    Members
    -------
    value : what the function returned, as JSON has it; None if there is a `failure`.
    seconds : of wall time that it took, where and whenever it was done.
    who : user@host that did it.
    machine, revision : the processor, and the source; empty where that was not recorded.
    cached : whether it was done before.
    attempts : how often it was tried now.
    """

    job: Job
    key: str
    value: Any = None
    failure: Failure | None = None
    seconds: float = 0.0
    who: str = ""
    machine: str = ""
    revision: str = ""
    cached: bool = False
    attempts: int = 0

    def get(self) -> Any:
        """Return the value; raise what the job raised, or RuntimeError, if it failed."""
        if self.failure is None:
            return self.value
        if self.failure.error is not None:
            raise self.failure.error
        raise RuntimeError(f"{self.job.text}: {self.failure.text}")
