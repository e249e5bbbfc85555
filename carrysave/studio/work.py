"""One job at a time, in a process that can be killed, with limits of time and memory."""

import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carrysave.api.design import Design
from carrysave.jobs.child import Answer, Order
from carrysave.jobs.children import Children
from carrysave.jobs.job import name_of
from carrysave.studio.tasks import KINDS, PROGRESS

__all__ = ["MEMORY", "SECONDS", "Busy", "Made", "Worker"]

SECONDS = 300.0
"""That a job may take."""
MEMORY = 4 << 30
"""Bytes that a job's processes may take together."""


class Busy(RuntimeError):
    """Another job is under way."""


@dataclass(frozen=True)
class Made:
    """What a job has made.

    Members
    -------
    file : relative to the folder.
    said : a sentence about it.
    more : another file, relative to the folder; empty if there is none.
    command : line that does the same; empty if it is one of those that the page has anyway.
    """

    file: str
    said: str
    more: str = ""
    command: str = ""


@dataclass
class _Run:
    """A job, and what became of it."""

    kind: str
    design: Design
    began: float
    seconds: float = 0.0
    state: str = "running"
    error: str = ""
    stopped: threading.Event = field(default_factory=threading.Event)


class Worker:
    """Runs jobs of designs, one at a time.

    Parameters
    ----------
    folder : of all files that jobs write.
    seconds : that a job may take.
    """

    def __init__(self, folder: Path, seconds: float = SECONDS) -> None:
        self.folder = folder.resolve()
        self.limit = seconds
        self._children = Children()
        self._lock = threading.Lock()
        self._run: _Run | None = None
        self._thread: threading.Thread | None = None
        self._made: dict[tuple[str, str], Made] = {}
        self._files: set[str] = set()

    def start(self, kind: str, design: Design) -> None:
        """Begin a job.

        Raises
        ------
        Busy
            One is under way.
        """
        with self._lock:
            if self._run is not None and self._run.state == "running":
                raise Busy(f"{self._run.kind} of {self._run.design.module} is under way")
            (self.folder / PROGRESS).unlink(missing_ok=True)
            self._run = run = _Run(kind, design, time.monotonic())
            self._thread = threading.Thread(target=self._do, args=(run,), daemon=True)
            self._thread.start()

    def _do(self, run: _Run) -> None:
        """Have a job done; note what it made, or why it failed."""
        order = Order(
            key=uuid.uuid4().hex,  # files are wanted, not what the cache knows of them
            function=name_of(KINDS[run.kind]),
            arguments={
                "name": run.design.name,
                "parameters": dict(run.design.parameters),
                "folder": str(self.folder),
            },
            seconds=self.limit,
            memory=MEMORY,
        )
        try:
            answer = self._children.run(order, run.stopped.is_set)
        except OSError as error:  # no process, no memory
            with self._lock:
                run.state, run.error = "failed", str(error)
            return
        with self._lock:
            run.seconds = time.monotonic() - run.began
            self._note(run, answer)

    def _note(self, run: _Run, answer: Answer) -> None:
        if answer.failure is not None:
            run.state, run.error = "failed", answer.failure.text
            return
        made = Made(**answer.value)
        self._made[run.kind, run.design.key] = made
        self._files |= {name for name in (made.file, made.more) if name}
        run.state = "done"

    def stop(self) -> None:
        """End the job that is under way, if there is one."""
        with self._lock:
            if self._run is not None:
                self._run.stopped.set()

    def close(self) -> None:
        """End the job, and all processes."""
        self.stop()
        self._children.close()
        if self._thread is not None:
            self._thread.join()

    def status(self) -> Mapping[str, Any]:
        """Return the last job: ``state kind design seconds limit text``; ``idle`` without one."""
        with self._lock:
            run = self._run
            if run is None:
                idle = {"state": "idle", "kind": "", "design": "", "seconds": 0.0, "text": ""}
                return {**idle, "limit": self.limit}
            spent = time.monotonic() - run.began if run.state == "running" else run.seconds
            text = run.error or (self._step() if run.state == "running" else "")
            return {
                "state": run.state,
                "kind": run.kind,
                "design": run.design.module,
                "seconds": round(spent, 1),
                "limit": self.limit,
                "text": text,
            }

    def _step(self) -> str:
        """Return what the job says it does."""
        try:
            lines = (self.folder / PROGRESS).read_text(errors="replace").splitlines()
        except OSError:
            return "starts"
        return lines[-1].removeprefix("... ") if lines else "starts"

    def made(self, kind: str, design: Design) -> Made | None:
        """Return what a job has made of a design since the start; None if none has."""
        return self._made.get((kind, design.key))

    def path(self, name: str) -> Path | None:
        """Return the path of a file that a job has made; None of any other name."""
        return self.folder / name if name in self._files else None
