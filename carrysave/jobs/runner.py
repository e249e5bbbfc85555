"""Runs lists of jobs: looks up what is done, hands out the rest, keeps every result at once."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from carrysave import cache
from carrysave.errors import UsageError
from carrysave.jobs.child import compute, inside, order_of
from carrysave.jobs.job import Job
from carrysave.jobs.options import Options, cores
from carrysave.jobs.outcome import Outcome
from carrysave.jobs.store import Store
from carrysave.jobs.window import Counts, Window, Workers, outcome_of
from carrysave.progress import Tally

__all__ = ["Session", "run", "session"]


class Session:
    """A store, and workers from the first job on that is not done yet."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._workers: Workers | None = None
        self._store: Store | None = None
        if inside():
            return
        try:
            self._store = Store(options.store)
        except UsageError:
            if options.store is not None or os.access(cache.folder(), os.W_OK):
                raise
            # As with any cache that cannot be written: all works, and nothing is kept.
        try:
            if options.scheduler is not None:
                self.workers()
        except BaseException:
            self.close()
            raise

    def workers(self, most: int = 1) -> Workers:
        """Return the workers; start them if there are none yet, for so many jobs at least."""
        if self._workers is None:
            if self.options.scheduler is not None:
                from carrysave.jobs.cluster import Cluster

                self._workers = Cluster(self.options.scheduler)
            else:
                from carrysave.jobs.children import CHILDREN
                from carrysave.jobs.threads import Threads

                count = self.options.jobs or cores()
                CHILDREN.start(min(count, most))
                self._workers = Threads(count)
        return self._workers

    def close(self) -> None:
        """End what is under way, the workers of this machine, and close the store."""
        try:
            if self._workers is not None:
                self._workers.close()
        finally:
            if self._store is not None:
                self._store.close()

    def run(
        self, jobs: Iterable[Job], progress: Callable[[Tally], None]
    ) -> Generator[tuple[int, Outcome], None, None]:
        """Yield the outcome of each job as it comes, with the job's place in the list."""
        total = len(jobs) if isinstance(jobs, Sized) else None
        state = Counts(progress, Tally(total=total, slots=self.options.jobs or cores()))
        most = 1 << 30 if total is None else total
        held: tuple[int, Job] | None = None  # the first that is not done
        work: Window | None = None
        try:
            for number, job in enumerate(jobs):
                if (outcome := self._before(job)) is not None:
                    yield number, state.came(outcome)
                elif inside():
                    # A job that has jobs does them itself: there is nobody else to do them.
                    yield number, state.came(self._here(job))
                elif (
                    work is None
                    and held is None
                    and self.options.scheduler is None
                    and not self.options.limited
                    and job.seconds is None
                    and job.memory is None
                ):
                    held = number, job
                else:
                    work = work or Window(self.workers(most), self.options, state)
                    for each in filter(None, (held, (number, job))):
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

    def _came(self, work: "Window", state: "Counts") -> Iterator[tuple[int, Outcome]]:
        """Wait a little, and yield what came."""
        for places, outcome in work.wait():
            self._keep(outcome)
            for number, job in places:
                yield number, state.came(replace(outcome, job=job))

    def _keep(self, outcome: Outcome) -> None:
        if self._store is not None:
            self._store.add(outcome)

    def _before(self, job: Job) -> Outcome | None:
        """Return the outcome of a job that was done before; None if it was not."""
        if self._store is not None and (row := self._store.find(job.key)) is not None:
            return Outcome(job=job, key=job.key, cached=True, **row)
        if (row := cache.recall("jobs", [job.key])) is None:
            return None
        outcome = Outcome(job=job, key=job.key, cached=True, **row)
        self._keep(outcome)
        return outcome

    def _here(self, job: Job) -> Outcome:
        """Do a job in this process."""
        order = order_of(job, self.options.seconds, self.options.memory)
        outcome = outcome_of(job, compute(order), 1)
        self._keep(outcome)
        return outcome


_current: ContextVar[Session | None] = ContextVar("session", default=None)


@contextmanager
def session(options: Options | None = None) -> Iterator[Session]:
    """Have the lists of jobs that are run within share workers and a store.

    Within another session it is that one, and its options hold.
    """
    if (outer := _current.get()) is not None:
        yield outer
        return
    current = Session(options or Options())
    token = _current.set(current)
    try:
        yield current
    finally:
        _current.reset(token)
        current.close()


def run(
    jobs: Iterable[Job],
    *,
    ordered: bool = False,
    progress: Callable[[Tally], None] | None = None,
) -> Iterator[Outcome]:
    """Run jobs, and yield the outcome of each: as they come, or in the order of the list.

    Jobs are taken from an iterator as workers get free, somewhat ahead. Those that were done before
    are not done again. One alone, without limits that somebody set, is done in this process, and so
    are those of a job. A job that fails is tried :data:`carrysave.jobs.ATTEMPTS` times, unless its
    arguments are refused or it meets a limit; its outcome has the failure then, and the rest goes
    on.

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
    with session() as current:
        tell = progress or current.options.progress or (lambda tally: None)
        outcomes = current.run(jobs, tell)
        try:
            if not ordered:
                yield from (outcome for _, outcome in outcomes)
                return
            early: dict[int, Outcome] = {}
            following = 0
            for number, outcome in outcomes:
                early[number] = outcome
                while following in early:
                    yield early.pop(following)
                    following += 1
        finally:
            outcomes.close()
