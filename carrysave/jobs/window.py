"""Jobs that were handed out: a window of a list, so that no scheduler holds all of it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from carrysave.jobs.child import Answer, Order, order_of
from carrysave.jobs.job import Job
from carrysave.jobs.options import Options
from carrysave.jobs.outcome import Outcome
from carrysave.progress import Tally
from hw.emit import tools

__all__ = ["ATTEMPTS", "Counts", "Window", "Workers", "outcome_of"]

ATTEMPTS = 3
_AHEAD = 4  # jobs that wait at the scheduler for each that runs: enough that no worker idles
_LEAST = 16
_LOOK = 1.0  # seconds between looks at how many workers there are


class Workers(Protocol):
    """Who does orders: threads of this process, or a cluster. Futures are of the kind they have."""

    @property
    def dashboard(self) -> str | None:
        """The address of a page that shows them, if there is one."""

    def slots(self) -> int:
        """Return how many jobs can run at a time just now."""

    def submit(self, order: Order, attempt: int, done: Callable[[Any], None]) -> Any:
        """Hand an order out, and return its future; `done` is called in another thread."""

    def answer(self, future: Any) -> Answer:
        """Return what became of an order."""

    def check(self) -> None:
        """Raise RuntimeError if they are gone."""

    def cancel(self, futures: list[Any]) -> None:
        """Take back what is not wanted any more."""

    def close(self) -> None:
        """End what this process has under way."""


class Counts:
    """Counts what came, and says so."""

    def __init__(self, progress: Callable[[Tally], None], tally: Tally) -> None:
        self._progress = progress
        self._tally = tally

    def came(self, outcome: Outcome) -> Outcome:
        """Count an outcome."""
        tally = self._tally
        self._tell(
            done=tally.done + (outcome.failure is None),
            failed=tally.failed + (outcome.failure is not None),
            cached=tally.cached + outcome.cached,
            text=_said(outcome),
            log=outcome.failure.log if outcome.failure is not None else "",
        )
        return outcome

    def runs(self, count: int, **facts: Any) -> None:
        """Say how many run now."""
        self._tell(running=count, text="", **facts)

    def _tell(self, **facts: Any) -> None:
        self._tally = replace(self._tally, **facts)
        self._progress(self._tally)


@dataclass
class Running:
    """A job that was handed out, for each place of the list where it is."""

    places: list[tuple[int, Job]]
    order: Order
    attempt: int
    future: Any = None


class Window:
    """Jobs that were handed out: a window of a list, so that no scheduler holds all of it."""

    def __init__(self, workers: Workers, options: Options, state: Counts) -> None:
        self.workers = workers
        self.running: dict[str, Running] = {}
        self._options = options
        self._state = state
        self._came: SimpleQueue[Running] = SimpleQueue()
        self._slots, self._looked = workers.slots(), time.monotonic()
        state.runs(0, slots=self._slots, dashboard=workers.dashboard)

    @property
    def full(self) -> bool:
        """Whether enough jobs wait for workers."""
        return len(self.running) >= max(_LEAST, _AHEAD * self._slots)

    def add(self, number: int, job: Job) -> None:
        """Hand a job out, once however often it is in the list."""
        if (same := self.running.get(job.key)) is not None:
            same.places.append((number, job))
            return
        order = order_of(
            job, job.seconds or self._options.seconds, job.memory or self._options.memory
        )
        self._hand_out(Running([(number, job)], order, 1))

    def _hand_out(self, one: Running) -> None:
        self.running[one.order.key] = one
        one.future = self.workers.submit(one.order, one.attempt, lambda _: self._came.put(one))

    def wait(self) -> Iterator[tuple[list[tuple[int, Job]], Outcome]]:
        """Wait for a job, or a little; yield what became of it, and its places."""
        # Python drops an interrupt that comes while it finalises an object.
        if tools.ending():
            raise KeyboardInterrupt
        try:
            one = self._came.get(timeout=_LOOK)
        except Empty:
            one = None
        if one is not None and one.future is not None:
            answer = self.workers.answer(one.future)
            one.future = None
            del self.running[one.order.key]
            failure = answer.failure
            if failure is not None and not failure.final and one.attempt < ATTEMPTS:
                self._hand_out(replace(one, attempt=one.attempt + 1))
            else:
                yield one.places, outcome_of(one.places[0][1], answer, one.attempt)
        if time.monotonic() - self._looked > _LOOK:
            self._slots, self._looked = self.workers.slots(), time.monotonic()
            self.workers.check()
            self._state.runs(min(len(self.running), self._slots), slots=self._slots)

    def give_up(self) -> None:
        """Take back what was handed out and is not done."""
        self.workers.cancel([one.future for one in self.running.values() if one.future])
        self.running.clear()


def _said(outcome: Outcome) -> str:
    """Say of a job that it ended, and how."""
    if outcome.failure is not None:
        times = f" at {outcome.attempts} attempts" if outcome.attempts > 1 else ""
        return f"{outcome.job.text}: failed{times}: {outcome.failure}"
    how = "known before" if outcome.cached else f"{outcome.seconds:.1f} s"
    return f"{outcome.job.text}: {how}"


def outcome_of(job: Job, answer: Answer, attempts: int) -> Outcome:
    """Return the outcome of a job from what a process said of it."""
    return Outcome(
        job=job,
        key=job.key,
        value=answer.value,
        failure=answer.failure,
        seconds=answer.seconds,
        who=answer.who,
        machine=answer.machine,
        revision=answer.revision,
        attempts=attempts,
    )
