"""Runs each job in a process that can be killed with all that it started."""

import contextlib
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from multiprocessing.connection import Pipe
from signal import Signals
from tempfile import TemporaryFile

import psutil

from carrysave.jobs.child import GRACE, MARK, Answer, Order, end_marked
from carrysave.jobs.outcome import Failure
from carrysave.jobs.provenance import who

__all__ = ["Children", "CHILDREN"]

_LOOK = 0.5  # seconds between looks at the time, and at whether a job is still wanted
_WEIGH = 2.0  # seconds between looks at its memory, for which all processes are looked through
_START = 120.0  # seconds until a process is there at last
_LOG = 4000  # bytes of a log that are kept


class Children:
    """The processes of jobs that this process has, as many as run at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()

    def start(self, count: int) -> None:
        """Have so many at hand soon: they load what they need while others do so, too."""
        with self._lock:
            self._idle += [_Child() for _ in range(count - len(self._idle))]

    def run(self, order: Order, cancelled: Callable[[], bool] = lambda: False) -> Answer:
        """Have a job done, within its limits; a thread may call this while others do.

        `cancelled` is asked twice a second; the job is killed when it says so.
        """
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else _Child()
                self._busy.add(child)
            answer = None
            try:
                answer = child.run(order, cancelled)
            finally:
                with self._lock:
                    self._busy.discard(child)
                    if child.alive and answer is not None:
                        self._idle.append(child)
                if not child.alive or answer is None:
                    child.close()
            if answer is not None:
                return answer

    def close(self) -> None:
        """Kill all of them, and what they do."""
        with self._lock:
            idle, busy = list(self._idle), list(self._busy)
            self._idle.clear()
        for child in (*idle, *busy):
            child.process.terminate()  # all at once
        for child in idle:
            child.close()
        for child in busy:
            child.kill()  # and whoever waits for it closes it

    def processes(self) -> list[int]:
        """Return the process numbers of those at work."""
        with self._lock:
            return [child.process.pid for child in self._busy]


class _Child:
    """One such process."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex
        self._log = TemporaryFile()  # noqa: SIM115  # until `close`
        self._connection, theirs = Pipe()
        life, self._life = os.pipe()
        self._killing = threading.Lock()
        self._ready = False
        self.alive = True
        arguments = f"{theirs.fileno()}, {life}, {sys.path!r}"
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", f"from carrysave.jobs.child import main; main({arguments})"],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                env={**os.environ, MARK: self._mark},
                pass_fds=(theirs.fileno(), life),
                start_new_session=True,
            )
        finally:
            theirs.close()
            os.close(life)

    def run(self, order: Order, cancelled: Callable[[], bool]) -> Answer | None:
        """Have a job done; None if the process ended for want of work before it got this."""
        self._log.seek(0)
        self._log.truncate()
        start = time.monotonic()
        if not self._ready:
            self._ready = self._connection.poll(_START) and self._readies()
            start = time.monotonic()

        def failed(kind: str, text: str, *, final: bool) -> Answer:
            self.kill()
            failure = Failure(kind, text, self._printed(), final)
            return Answer(failure=failure, seconds=time.monotonic() - start, who=who())

        weighed = start
        try:
            self._connection.send(order)
            while not self._connection.poll(_LOOK):
                if cancelled():
                    return failed("Cancelled", "it is not wanted any more", final=True)
                if time.monotonic() - start > order.seconds:
                    text = f"it took longer than {order.seconds:g} s"
                    return failed("TimeLimit", text, final=True)
                if time.monotonic() - weighed < _WEIGH:
                    continue
                weighed = time.monotonic()
                if (taken := _resident(self.process.pid)) > order.memory:
                    text = f"it took {taken >> 20} MB of memory, of {order.memory >> 20}"
                    return failed("MemoryLimit", text, final=True)
            answer: Answer = self._connection.recv()
        except (EOFError, OSError):
            code = self.process.wait()
            if code == 0:
                self.kill()
                return None
            ended = f"by {Signals(-code).name}" if code < 0 else f"with code {code}"
            return failed("Crash", f"its process was ended {ended}", final=False)
        if answer.failure is not None:
            log = f"{self._printed()}\n{answer.failure.log}".strip()
            failure = answer.failure
            named = Failure(failure.kind, failure.text, log, failure.final, failure.error)
            return Answer(failure=named, seconds=answer.seconds, who=answer.who)
        return answer

    def _readies(self) -> bool:
        """Take the message by which the process says that it has loaded what it needs."""
        try:
            self._connection.recv()
        except (EOFError, OSError):
            return False  # what became of it shows as soon as it is sent something
        return True

    def _printed(self) -> str:
        """Return the end of what it printed in this job."""
        try:
            size = os.fstat(self._log.fileno()).st_size
            return os.pread(self._log.fileno(), _LOG, max(size - _LOG, 0)).decode(errors="replace")
        except (OSError, ValueError):
            return ""

    def kill(self) -> None:
        """Kill it and all that it started; any thread may."""
        with self._killing:
            if not self.alive:
                return
            self.alive = False
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
            self.process.kill()
            end_marked(self._mark)
            self.process.wait()
            os.close(self._life)

    def close(self) -> None:
        """Kill it and let go of all that belongs to it: for its owner, when nobody waits for it."""
        self.kill()
        self._connection.close()
        self._log.close()


def _resident(process: int) -> int:
    """Return the bytes of memory that a process and all below it take."""
    total = 0
    try:
        first = psutil.Process(process)
        for each in (first, *first.children(recursive=True)):
            try:
                total += each.memory_info().rss
            except psutil.Error:
                continue
    except psutil.Error:
        pass
    return total


CHILDREN = Children()
"""Those of this process."""
