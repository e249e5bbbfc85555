"""How jobs are run."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from carrysave.errors import ArgumentError
from carrysave.progress import Tally

__all__ = ["Options", "cores"]

_SECONDS = 4 * 3600.0
_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4


@dataclass(frozen=True, kw_only=True)
class Options:
    """How jobs are run.

    Parameters
    ----------
    jobs : how many at a time in this machine. [default: a core each]
    scheduler : address of a scheduler of dask's, ``tcp://HOST:PORT``; this machine alone if None.
    store : file of the store, or ``postgresql://...``. [default: a file in the cache]
    seconds, memory : limits of a job, its own ones excepted; bytes, all its processes together.
    progress : called with a :class:`carrysave.progress.Tally` whenever something changes, and each
        second: :meth:`carrysave.progress.Steps.jobs`.
    """

    jobs: int | None = None
    scheduler: str | None = None
    store: Path | str | None = None
    seconds: float = _SECONDS
    memory: int = _MEMORY
    progress: Callable[[Tally], None] | None = None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise ArgumentError("{jobs} must be at least 1, not {value}", value=self.jobs)
        if self.jobs is not None and self.scheduler is not None:
            raise ArgumentError("{jobs} is for this machine, and a {scheduler} knows its workers")
        if not self.seconds > 0:
            raise ArgumentError(
                "{job_seconds} must be greater than 0, not {seconds:g}", seconds=self.seconds
            )

    @property
    def limited(self) -> bool:
        """Whether somebody has set a limit."""
        return self.seconds != _SECONDS or self.memory != _MEMORY


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS
