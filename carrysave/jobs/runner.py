"""Runs lists of jobs: looks up what is done, hands out the rest, keeps every result at once."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from carrysave import cache
from carrysave.errors import UsageError
from carrysave.jobs.child import Answer, Order, compute, inside
from carrysave.jobs.job import Job, Outcome, name_of
from carrysave.jobs.store import Store, default_path
from carrysave.progress import Tally

if TYPE_CHECKING:
    from distributed import Future

    from carrysave.jobs.cluster import Cluster

__all__ = ["ATTEMPTS", "Options", "Tally", "cores", "run", "session"]

ATTEMPTS = 3
_AHEAD = 4  # jobs that wait at the scheduler for each that runs: enough that no worker idles
_LEAST = 16
_LOOK = 1.0  # seconds between looks at how many workers there are
_SECONDS = 4 * 3600.0
_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4


@dataclass(frozen=True, kw_only=True)
class Options:
    """How jobs are run.

    Parameters
    ----------
    jobs : how many at a time in this machine. [default: a core each]
    scheduler : address of a scheduler of dask's, ``tcp://HOST:PORT``; this machine alone if None.
    store : file of the store. [default: in the cache]
    seconds, memory : limits of a job, its own ones excepted; bytes, all its processes together.
    progress : called with a :class:`carrysave.progress.Tally` whenever something changes, and each
        second: :meth:`carrysave.progress.Steps.jobs`.
    """

    jobs: int | None = None
    scheduler: str | None = None
    store: Path | None = None
    seconds: float = _SECONDS
    memory: int = _MEMORY
    progress: Callable[[Tally], None] | None = None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"--jobs must be at least 1, not {self.jobs}")
        if self.jobs is not None and self.scheduler is not None:
            raise UsageError("--jobs is for this machine, and a --scheduler knows its workers")
        if not self.seconds > 0:
            raise UsageError(f"--job-seconds must be greater than 0, not {self.seconds:g}")


class Session:
    """A store, and workers from the first job on that is not done yet."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._cluster: Cluster | None = None
        self._store: Store | None = None
        if inside():
            return
        try:
            self._store = Store(options.store or default_path())
        except UsageError:
            if options.store is not None or os.access(cache.folder(), os.W_OK):
                raise
            # As with any cache that cannot be written: all works, and nothing is kept.
        try:
            if options.scheduler is not None:
                self.cluster()
        except BaseException:
            self.close()
            raise

    def cluster(self, most: int = 1) -> "Cluster":
        """Return the workers; start them if there are none yet, for so many jobs at least."""
        if self._cluster is None:
            from carrysave.jobs.children import CHILDREN

            count = self.options.jobs or cores()
            if self.options.scheduler is None:
                CHILDREN.start(min(count, most))
            from carrysave.jobs.cluster import Cluster

            try:
                self._cluster = Cluster(self.options.scheduler, count)
            except BaseException:
                CHILDREN.close()
                raise
        return self._cluster

    def close(self) -> None:
        """End what is under way, the workers of this machine, and close the store."""
        try:
            if self._cluster is not None:
                self._cluster.close()
        finally:
            if self._store is not None:
                self._store.close()

    def run(
        self, jobs: Iterable[Job], progress: Callable[[Tally], None]
    ) -> Generator[tuple[int, Outcome], None, None]:
        """Yield the outcome of each job as it comes, with the job's place in the list."""
        total = len(jobs) if isinstance(jobs, Sized) else None
        state = _State(progress, Tally(total=total, slots=self.options.jobs or cores()))
        most = 1 << 30 if total is None else total
        unlimited = self.options.seconds == _SECONDS and self.options.memory == _MEMORY
        held: tuple[int, Job] | None = None  # the first that is not done
        work: _Work | None = None
        try:
            for place, job in enumerate(jobs):
                if (found := self._before(job)) is not None:
                    yield place, state.came(found)
                elif inside():
                    # A job that has jobs does them itself: there is nobody else to do them.
                    yield place, state.came(self._here(job))
                elif (
                    work is None and held is None and self.options.scheduler is None
                    and unlimited and job.seconds is None and job.memory is None
                ):  # fmt: skip
                    held = place, job
                else:
                    work = work or _Work(self.cluster(most), self.options, state)
                    for each in filter(None, (held, (place, job))):
                        work.add(*each)
                    held = None
                    while work.full:
                        yield from self._came(work, state)
            if held is not None:
                # One alone needs no workers.
                state.runs(1)
                yield held[0], state.came(self._here(held[1]))
            while work is not None and work.running:
                yield from self._came(work, state)
        finally:
            if work is not None:
                work.give_up()

    def _came(self, work: "_Work", state: "_State") -> Iterator[tuple[int, Outcome]]:
        """Wait a little, and yield what came."""
        for places, outcome in work.wait():
            self._keep(outcome)
            for place, job in places:
                yield place, state.came(replace(outcome, job=job))

    def _keep(self, outcome: Outcome) -> None:
        if self._store is not None:
            self._store.add(outcome)

    def _before(self, job: Job) -> Outcome | None:
        """Return the outcome of a job that was done before; None if it was not."""
        if self._store is not None and (row := self._store.find(job.key)) is not None:
            return Outcome(job=job, key=job.key, cached=True, **row)
        if (row := cache.recall("jobs", [job.key])) is None:
            return None
        found = Outcome(job=job, key=job.key, cached=True, **row)
        self._keep(found)
        return found

    def _here(self, job: Job) -> Outcome:
        """Do a job in this process."""
        order = Order(
            key=job.key, function=name_of(job.function), arguments=dict(job.arguments),
            seconds=self.options.seconds, memory=self.options.memory,
        )  # fmt: skip
        outcome = _outcome(job, compute(order), 1)
        self._keep(outcome)
        return outcome


class _State:
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
class _Running:
    """A job that was handed out, for each place of the list where it is."""

    places: list[tuple[int, Job]]
    order: Order
    attempt: int
    future: "Future | None" = None


class _Work:
    """Jobs that were handed out: a window of a list, so that no scheduler holds all of it."""

    def __init__(self, cluster: "Cluster", options: Options, state: _State) -> None:
        self.cluster = cluster
        self.running: dict[str, _Running] = {}
        self._options = options
        self._state = state
        self._came: SimpleQueue[_Running] = SimpleQueue()
        self._slots, self._looked = cluster.slots(), time.monotonic()
        state.runs(0, slots=self._slots, dashboard=cluster.dashboard)

    @property
    def full(self) -> bool:
        """Whether enough jobs wait for workers."""
        return len(self.running) >= max(_LEAST, _AHEAD * self._slots)

    def add(self, place: int, job: Job) -> None:
        """Hand a job out, once however often it is in the list."""
        if (same := self.running.get(job.key)) is not None:
            same.places.append((place, job))
            return
        order = self.cluster.order(
            job, job.seconds or self._options.seconds, job.memory or self._options.memory
        )
        self._hand_out(_Running([(place, job)], order, 1))

    def _hand_out(self, one: _Running) -> None:
        self.running[one.order.key] = one
        one.future = self.cluster.submit(one.order, one.attempt, lambda _: self._came.put(one))

    def wait(self) -> Iterator[tuple[list[tuple[int, Job]], Outcome]]:
        """Wait for a job, or a little; yield what became of it, and its places."""
        try:
            one = self._came.get(timeout=_LOOK)
        except Empty:
            one = None
        if one is not None and one.future is not None:
            answer = self.cluster.answer(one.future)
            one.future = None
            del self.running[one.order.key]
            failure = answer.failure
            if failure is not None and not failure.final and one.attempt < ATTEMPTS:
                self._hand_out(replace(one, attempt=one.attempt + 1))
            else:
                yield one.places, _outcome(one.places[0][1], answer, one.attempt)
        if time.monotonic() - self._looked > _LOOK:
            self._slots, self._looked = self.cluster.slots(), time.monotonic()
            self.cluster.check()
            self._state.runs(min(len(self.running), self._slots), slots=self._slots)

    def give_up(self) -> None:
        """Take back what was handed out and is not done."""
        self.cluster.cancel([one.future for one in self.running.values() if one.future])
        self.running.clear()


def _said(outcome: Outcome) -> str:
    """Say of a job that it ended, and how."""
    if outcome.failure is not None:
        times = f" at {outcome.attempts} attempts" if outcome.attempts > 1 else ""
        return f"{outcome.job.text}: failed{times}: {outcome.failure}"
    how = "known before" if outcome.cached else f"{outcome.seconds:.1f} s"
    return f"{outcome.job.text}: {how}"


def _outcome(job: Job, answer: Answer, attempts: int) -> Outcome:
    return Outcome(
        job=job, key=job.key, value=answer.value, failure=answer.failure, seconds=answer.seconds,
        who=answer.who, attempts=attempts,
    )  # fmt: skip


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


_current: ContextVar[Session | None] = ContextVar("session", default=None)


@contextmanager
def session(options: Options | None = None) -> Iterator[Session]:
    """Have the lists of jobs that are run within share workers and a store.

    Within another session it is that one, and its options hold.
    """
    if (outer := _current.get()) is not None:
        yield outer
        return
    own = Session(options or Options())
    token = _current.set(own)
    try:
        yield own
    finally:
        _current.reset(token)
        own.close()


def run(
    jobs: Iterable[Job],
    *,
    ordered: bool = False,
    progress: Callable[[Tally], None] | None = None,
) -> Iterator[Outcome]:
    """Run jobs, and yield the outcome of each: as they come, or in the order of the list.

    Jobs are taken from an iterator as workers get free, somewhat ahead. Those that were done before
    are not done again. One alone, without limits that somebody set, is done in this process, and so
    are those of a job. A job that fails is tried :data:`ATTEMPTS` times, unless its arguments are
    refused or it meets a limit; its outcome has the failure then, and the rest goes on.

    Parameters
    ----------
    progress : called with a :class:`Tally`; that of the session's options by default.

    Raises
    ------
    UsageError
        If the store or the scheduler cannot be used, or a worker has other versions.
    RuntimeError
        If the scheduler goes away.
    """
    with session() as own:
        tell = progress or own.options.progress or (lambda tally: None)
        found = own.run(jobs, tell)
        try:
            if not ordered:
                yield from (outcome for _, outcome in found)
                return
            early: dict[int, Outcome] = {}
            following = 0
            for place, outcome in found:
                early[place] = outcome
                while following in early:
                    yield early.pop(following)
                    following += 1
        finally:
            found.close()
