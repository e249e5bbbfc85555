"""Workers of this machine: threads, each of which has a process of its own do its orders."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from carrysave.jobs.child import Answer, Order
from carrysave.jobs.children import CHILDREN
from carrysave.jobs.outcome import Failure

__all__ = ["Threads"]


class Threads:
    """As many workers as `count` in this process, for :class:`carrysave.jobs.window.Window`.

    What they run is in processes of their own (:mod:`carrysave.jobs.children`).
    """

    dashboard = None

    def __init__(self, count: int) -> None:
        self._count = count
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="carrysave-job")
        self._unwanted: dict[Future[Answer], threading.Event] = {}

    def slots(self) -> int:
        """Return how many jobs can run at a time."""
        return self._count

    def submit(
        self, order: Order, attempt: int, done: Callable[[Future[Answer]], None]
    ) -> Future[Answer]:
        """Hand an order out; `done` is called in another thread."""
        unwanted = threading.Event()
        future = self._executor.submit(CHILDREN.run, order, unwanted.is_set)
        self._unwanted[future] = unwanted
        future.add_done_callback(done)
        return future

    def answer(self, future: Future[Answer]) -> Answer:
        """Return what became of an order."""
        self._unwanted.pop(future, None)
        try:
            return future.result()
        except Exception as error:  # that no process could be started, or given the order
            text = " ".join(str(error).split())
            return Answer(failure=Failure(type(error).__name__, text))

    def check(self) -> None:
        """Raise nothing: they are gone only with this process."""

    def cancel(self, futures: Iterable[Future[Answer]]) -> None:
        """Take back what is not wanted any more; what runs is killed within half a second."""
        for future in futures:
            if not future.cancel() and (unwanted := self._unwanted.get(future)) is not None:
                unwanted.set()
            self._unwanted.pop(future, None)

    def close(self) -> None:
        """End all that is under way."""
        for unwanted in self._unwanted.values():
            unwanted.set()
        CHILDREN.close()
        self._executor.shutdown(cancel_futures=True)
