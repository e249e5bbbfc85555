"""Progress of long work, on stderr: a bar on a terminal, else a line for each step."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console

from hw.emit.user_files import shown

if TYPE_CHECKING:
    from carrysave.progress_bar import Bar

__all__ = ["Steps", "Tally"]


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How far a list of jobs is.

    Members
    -------
    done, failed, running, cached : numbers of jobs; `cached` are those of `done` that were done
        before.
    total : jobs in all; None while nobody knows.
    slots : how many can run at a time; 0 if there is no worker.
    text : the job that ended last, and how; empty if none has since the last tally.
    log : the end of what it printed, if it failed.
    dashboard : address of a page that shows the workers, if there is one.
    """

    done: int = 0
    failed: int = 0
    running: int = 0
    cached: int = 0
    total: int | None = None
    slots: int = 1
    text: str = ""
    log: str = ""
    dashboard: str | None = None


class Steps:
    """Says which step is under way, of how many, and how long the rest will take."""

    def __init__(self, console: Console):
        self._console = console
        self._seconds: list[float] = []
        """How long each planned step takes, relative to the others if nobody knows."""
        self._known = False
        self._number, self._numbers = 0, count(1)  # of steps that threads may begin at a time
        self._share = 0.0
        """How much of the step under way is done."""
        self._text = ""
        self._began = self._step_began = time.monotonic()
        self._bar: Bar | None = None
        self._jobs: Tally | None = None
        if console.is_terminal:
            from carrysave.progress_bar import progress_bar

            self._bar = progress_bar(console, self._times)
            self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> "Steps":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def plan(self, steps: int | Sequence[float]) -> None:
        """Say how many steps will follow, or how many seconds each of them takes on two cores.

        What the first steps take corrects what is said of the rest.
        """
        self._known = not isinstance(steps, int)
        self._seconds = [1.0] * steps if isinstance(steps, int) else list(steps)
        self._number, self._numbers = 0, count(1)
        self._began = self._step_began = time.monotonic()
        if not self._bar:
            left = self.left()
            length = "" if left is None else f", about {_span(left)} on two cores"
            self._line(f"{len(self._seconds)} steps{length}")

    def step(self, text: str) -> None:
        """Say what is done now: the next step of the plan, if there is one."""
        text = shown(text)
        self._step_began = time.monotonic()
        self._number = next(self._numbers)
        self._share = 0.0
        self._text = text
        if self._seconds:
            # More steps than planned are no reason to stop.
            total = max(len(self._seconds), self._number)
            self._text = f"[{self._number}/{total}] {text}"
        if self._bar:
            self._show(self._text)
        elif not self._seconds:
            self._line(f"... {text}")
        elif self._number == 1:
            self._line(self._text)
        else:
            self._line(f"{self._text} ({self._times()})")

    def note(self, text: str) -> None:
        """Say which part of the step is done now."""
        text = shown(text)
        if self._bar:
            self._show(f"{self._text}: {text}" if self._text else text)
        else:
            self._line(f"... {text}")

    def remark(self, text: str) -> None:
        """Say what stays to be read, whatever is done next."""
        self._line(shown(text, 2000))

    def advance(self, done: int, total: int) -> None:
        """Set the progress of the step."""
        self._share = done / total if total else 0.0
        if self._bar:
            self._show(self._text)

    def jobs(self, tally: Tally) -> None:
        """Say how far a list of jobs is: a table on a terminal, else lines, at most one a second.

        Failures are always said.
        """
        before, self._jobs = self._jobs, tally
        ended = tally.done + tally.failed
        if before is None or ended < before.done + before.failed:
            self._began, self._step_began = time.monotonic(), 0.0
        if tally.dashboard and (before is None or not before.dashboard):
            self._line(f"dashboard: {tally.dashboard}")
        if not tally.slots and (before is None or before.slots):
            self._line("no worker yet: waiting for the first")
        left = self._left_of(tally)
        if self._bar:
            self._bar.update(self._task, completed=ended)
            self._bar.tasks[0].total = tally.total
            self._bar.show(
                {}
                if ended == tally.total
                else {
                    "done": str(tally.done),
                    "of": "?" if tally.total is None else str(tally.total),
                    "running": str(tally.running),
                    "failed": str(tally.failed),
                    "known before": str(tally.cached),
                    "time left": "?" if left is None else _span(left),
                },
                ["failed"] if tally.failed else [],
            )
        if not tally.text:
            return
        failed = before is not None and tally.failed > before.failed
        last = ended == tally.total
        if failed or (not self._bar and (last or time.monotonic() - self._step_began >= _OFTEN)):
            self._step_began = time.monotonic()
            number = f"{ended}" if tally.total is None else f"{ended}/{tally.total}"
            times = _span(self.spent()) + ("" if left is None else f", about {_span(left)} to go")
            bad = f", {tally.failed} failed" if tally.failed else ""
            self._line(f"[{number}] {shown(tally.text)} ({times}{bad})")
        if failed:
            for line in tally.log.splitlines()[-_LOG:]:
                self._line(f"    {shown(line)}")

    def _left_of(self, tally: Tally) -> float | None:
        """Return the seconds until the end of a list of jobs; None if nothing is known of them."""
        worked = tally.done + tally.failed - tally.cached
        if tally.total is None or not worked:
            return None
        return self.spent() / worked * (tally.total - tally.done - tally.failed)

    def spent(self) -> float:
        """Return the seconds since the plan was made."""
        return time.monotonic() - self._began

    def left(self) -> float | None:
        """Return the seconds until the end of the plan; None if nothing is known of them."""
        before, now, after = self._parts()
        # A plan in seconds counts as much as some seconds of work; the first step may be short.
        trust = _TRUST if self._known else 0.0
        if not self._seconds or not before + trust:
            return None
        pace = (self._step_began - self._began + trust) / (before + trust)
        since = time.monotonic() - self._step_began
        rest = pace * now * (1 - self._share) if self._share else max(pace * now - since, 0.0)
        return rest + pace * after

    def _parts(self) -> tuple[float, float, float]:
        """Return what the plan says of the steps before, of the one under way, and of the rest."""
        first, end = max(self._number - 1, 0), self._number
        return sum(self._seconds[:first]), sum(self._seconds[first:end]), sum(self._seconds[end:])

    def _times(self) -> str:
        """Say how long it took and will take."""
        left = self.left()
        return _span(self.spent()) + ("" if left is None else f", about {_span(left)} to go")

    def _line(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _show(self, text: str) -> None:
        """Bring the bar up to date: of the plan, else of the step."""
        assert self._bar
        before, now, _ = self._parts()
        done = before + self._share * (now if self._seconds else 1.0)
        self._bar.update(self._task, description=text, completed=done)
        # None, for an unknown length, is what `update` cannot set.
        self._bar.tasks[0].total = sum(self._seconds) or (1.0 if self._share else None)


_TRUST = 20.0
"""Seconds."""
_OFTEN = 1.0
"""Seconds between lines of jobs."""
_LOG = 8
"""Lines of the log of a job that failed; ``carrysave results --failures`` has more."""


def _span(seconds: float) -> str:
    """Write a length of time."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
