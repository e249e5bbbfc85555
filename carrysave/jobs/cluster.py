"""Workers of a cluster of dask.distributed that stands."""

import contextlib
import logging
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from carrysave.errors import ArgumentError, UsageError, installed, needs
from carrysave.jobs.child import Answer, Order
from carrysave.jobs.children import CHILDREN
from carrysave.jobs.files import files_of, with_files, without_files
from carrysave.jobs.job import File, base_versions, tool_named, tool_versions
from carrysave.jobs.outcome import Failure

if TYPE_CHECKING:
    from distributed import Future

__all__ = ["Cluster"]

_ANSWER = 10.0  # seconds within which a scheduler must answer
_FILES = 32  # that stay with a cluster for jobs to come
_SETTINGS = {
    # What it says of restarts and lost connections, outcomes say better.
    "logging": {"distributed": "critical"},
    # Files of jobs travel as tasks of their own, once per worker, and may be large.
    "distributed.admin.large-graph-warning-threshold": "1TiB",
}
_SAME = ("python", "distributed", "dask", "msgpack", "cloudpickle")
"""Packages whose versions the parts of a cluster must share to understand each other."""


class Cluster:
    """Workers elsewhere that do orders, for :class:`carrysave.jobs.window.Window`.

    Raises
    ------
    UsageError
        If dask.distributed is not installed, the scheduler does not answer, or workers have other
        versions.
    """

    def __init__(self, address: str) -> None:
        needs("distributed")
        import dask

        dask.config.set(_SETTINGS)
        from distributed import Client

        self.address = address
        self._files: dict[str, Future] = {}
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions, which are compared below
                self._client = Client(address, timeout=_ANSWER, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            raise ArgumentError(
                "{scheduler} {address}: it does not answer: {reason}",
                address=address,
                reason=reason,
            ) from None
        self._versions = base_versions()
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        """Refuse workers that would not understand what they are given, or do something else."""
        reported = self._client.get_versions()
        ours = _packages(reported["client"])
        others = {"scheduler": reported["scheduler"], **reported["workers"]}
        for where, theirs in others.items():
            for name, version in _packages(theirs).items():
                if version != ours[name]:
                    raise self._differs(where, f"{name} {version}, here {ours[name]}")
        try:
            answers = self._client.run(base_versions)
        except Exception as error:
            raise ArgumentError(
                "{scheduler} {address}: its workers cannot load this carrysave: {value}",
                address=self.address,
                value=" ".join(str(error).split()),
            ) from None
        for where, versions in answers.items():
            if differs := _difference(self._versions, versions):
                raise self._differs(where, differs)

    def _differs(self, where: str, text: str) -> UsageError:
        return ArgumentError(
            "{scheduler} {address}: versions differ: {where} has {text}",
            address=self.address,
            where=where,
            text=text,
        )

    @property
    def dashboard(self) -> str | None:
        """The address of the dashboard, if there is one."""
        if not installed("bokeh"):
            return None
        with contextlib.suppress(Exception):
            return str(self._client.dashboard_link)
        return None

    def slots(self) -> int:
        """Return how many jobs can run at a time just now."""
        with contextlib.suppress(OSError, ValueError):
            return sum(self._client.nthreads().values())
        return 0

    def submit(self, order: Order, attempt: int, done: Callable[["Future"], None]) -> "Future":
        """Hand an order out; `done` is called in another thread."""
        files = {file.sha: file for file in files_of(order.arguments)}
        data = [self._file(sha, file) for sha, file in files.items()]
        order = replace(
            order,
            versions={**self._versions, **tool_versions(map(tool_named, order.tools))},
            files=tuple((file.path.name, sha) for sha, file in files.items()),
            arguments=without_files(order.arguments),
        )
        future = self._client.submit(
            perform, order, *data, key=f"carrysave-{order.key}-{attempt}", pure=False, retries=0
        )
        future.add_done_callback(done)
        return future

    def _file(self, sha: str, file: File) -> "Future":
        """Return a file as a task: kept by dask while a job needs it; a few stay for others."""
        future = self._files.pop(sha, None)
        if future is None:
            future = self._client.submit(_same, file.path.read_bytes(), key=f"carrysave-file-{sha}")
        self._files[sha] = future
        if len(self._files) > _FILES:
            del self._files[next(iter(self._files))]
        return future

    def answer(self, future: "Future") -> Answer:
        """Return what became of an order.

        Raises
        ------
        RuntimeError
            If the scheduler is gone.
        UsageError
            If the worker has other versions.
        """
        try:
            answer: Answer = future.result()
        except CancelledError as error:
            if self._client.status != "running":
                raise self._gone() from None
            return Answer(failure=Failure("Crash", f"its worker was lost: {error}"))
        except Exception as error:
            if self._client.status != "running":
                raise self._gone() from None
            text = " ".join(str(error).split())
            return Answer(failure=Failure(type(error).__name__, text))
        finally:
            future.release()
        if answer.differs:
            raise self._differs(answer.who, answer.differs)
        return answer

    def _gone(self) -> RuntimeError:
        return RuntimeError(
            f"the scheduler at {self.address} is gone; what is done is kept, and the same command"
            " goes on from there"
        )

    def check(self) -> None:
        """Raise RuntimeError if the scheduler is gone."""
        if self._client.status not in {"running", "connecting"}:
            raise self._gone()

    def cancel(self, futures: list["Future"]) -> None:
        """Take back what is not wanted any more."""
        with contextlib.suppress(Exception):
            self._client.cancel(futures)

    def close(self) -> None:
        """Leave it; what others have there goes on."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)


def perform(order: Order, *data: bytes) -> Answer:
    """Do an order in a worker: the task of dask's."""
    from distributed.worker import get_worker, thread_state

    ours = base_versions() | tool_versions(map(tool_named, order.tools))
    if differs := _difference(order.versions, ours):
        return Answer(differs=differs, who=str(get_worker().address))
    if data:
        stored = {
            sha: File.keep(name, content)
            for (name, sha), content in zip(order.files, data, strict=True)
        }
        order = replace(order, arguments=with_files(order.arguments, stored), files=())
    worker, key = get_worker(), thread_state.key

    def cancelled() -> bool:
        # Nobody stops the thread of a task that its client has given up, or that died.
        task = worker.state.tasks.get(key)
        return task is None or task.state not in {"executing", "long-running"}

    return CHILDREN.run(order, cancelled)


def _same(data: bytes) -> bytes:
    return data


def _packages(versions: Mapping[str, Any]) -> dict[str, Any]:
    reported = {**versions.get("host", {}), **versions.get("packages", {})}
    return {name: str(reported[name]) for name in _SAME if name in reported}


def _difference(expected: Mapping[str, str | None], versions: Mapping[str, str | None]) -> str:
    """Say which versions are others; empty if none is."""
    return "; ".join(
        f"{name} {versions.get(name)}, here {version}"
        for name, version in expected.items()
        if versions.get(name) != version
    )
