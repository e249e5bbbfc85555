"""The process that runs jobs, one after the other, for the process that started it.

It is not forked, since simulators and Yosys in Python do not survive that, and runs many jobs, as
it takes a second to load what they need. When its parent dies, however that happens, it ends all
that it started, and itself.
"""

import importlib
import os
import pickle
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from types import FrameType
from typing import TYPE_CHECKING, Any

from carrysave import cache
from carrysave.errors import UsageError
from carrysave.jobs.job import File, Job, name_of, resolve, tool_name
from carrysave.jobs.outcome import Failure
from carrysave.jobs.provenance import machine, revision, who
from hw.emit import tools
from hw.emit.tools import MissingToolError

if TYPE_CHECKING:
    import psutil

__all__ = [
    "GRACE",
    "MARK",
    "Answer",
    "Order",
    "compute",
    "end_marked",
    "inside",
    "main",
    "order_of",
]

MARK = "CARRYSAVE_JOB"
"""Variable of the environment by which everything that a job started is found."""
GRACE = 2.0
"""Seconds that a job has to remove what it has half written, before it is killed."""
_IDLE = 300.0  # seconds after which a process without work ends
_REFUSED = (ValueError, TypeError, LookupError, ImportError, MissingToolError, UsageError)
"""Errors that another attempt would only repeat."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A job as it travels: names and plain data; limits in seconds and bytes."""

    key: str
    function: str
    arguments: dict[str, Any]
    seconds: float
    memory: int
    tools: tuple[str, ...] = ()
    versions: dict[str, str | None] = field(default_factory=dict)
    """What must be the same where it is done; empty in this machine."""
    files: tuple[tuple[str, str], ...] = ()
    """Name and digest of each file that travels with it."""


def order_of(job: Job, seconds: float, memory: int) -> Order:
    """Return a job as it travels, with limits in seconds and bytes."""
    return Order(
        key=job.key,
        function=name_of(job.function),
        arguments=dict(job.arguments),
        seconds=seconds,
        memory=memory,
        tools=tuple(map(tool_name, job.tools)),
    )


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What became of an order."""

    value: Any = None
    failure: Failure | None = None
    seconds: float = 0.0
    who: str = ""
    machine: str = ""
    revision: str = ""
    differs: str = ""
    """Which versions are others here: nothing was done."""


def inside() -> bool:
    """Return whether this process runs a job."""
    return MARK in os.environ


def compute(order: Order) -> Answer:
    """Do a job in this process; its value is in the cache before anybody hears of it."""

    def make() -> dict[str, Any]:
        function = resolve(order.function)  # the first of a module takes a second to load
        start = time.monotonic()
        value = function(**_opened(order.arguments))
        return {
            "value": value,
            "seconds": time.monotonic() - start,
            "who": who(),
            "machine": machine(),
            "revision": revision(),
        }

    start = time.monotonic()
    try:
        return Answer(**cache.remembered("jobs", [order.key], make))
    except Exception as error:
        return Answer(failure=_failure(error), seconds=time.monotonic() - start, who=who())


def _opened(value: Any) -> Any:
    """Return arguments with paths in place of files."""
    if isinstance(value, File):
        return value.path
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in value.items()}
    return [_opened(item) for item in value] if isinstance(value, list | tuple) else value


def _failure(error: Exception) -> Failure:
    text = " ".join(str(error).split()) or type(error).__name__
    passed: Exception | None = error
    try:
        # What no other process could read, such as of a class within a function, stays here.
        passed = pickle.loads(pickle.dumps(error))
    except Exception:
        passed = None
    final = isinstance(error, (*_REFUSED, MemoryError)) or bool(getattr(error, "final", False))
    log = "".join(traceback.format_exception(error))
    return Failure(type(error).__name__, text, log, final, passed)


def end_marked(mark: str) -> None:
    """Kill every other process that has a mark in its environment, and those that these start."""
    import psutil

    this = os.getpid()
    for _ in range(100):
        running = False
        for process in psutil.process_iter():
            try:
                # Of one that has ended, but is not waited for yet, there is no more to read.
                variables = {} if process.pid == this else process.environ()
                if variables.get(MARK) == mark:
                    process.kill()
                elif variables or process.pid == this or not _starts(process):
                    continue
            except (psutil.Error, OSError):
                continue
            running = True
        if not running:
            return
        time.sleep(0.01)


def _starts(process: "psutil.Process") -> bool:
    """Return whether a process without an environment is so new that it may get one yet."""
    import psutil

    age = time.time() - process.create_time()
    return process.status() != psutil.STATUS_ZOMBIE and age < 1


@contextmanager
def _bounded(memory: int) -> Iterator[None]:
    """Limit the bytes of data of this process, and of each that it starts meanwhile."""
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def _watch(life: int) -> None:
    """End everything as soon as nobody holds the other end of a pipe."""
    os.read(life, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    end_marked(os.environ[MARK])
    os._exit(1)


def _end(number: int, frame: FrameType | None) -> None:
    """Leave what is under way, so that it removes what it has half written."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not tools.kill_all():
        raise KeyboardInterrupt


def main(orders: int, life: int, path: list[str]) -> None:
    """Do what is asked for by one descriptor until the other is closed, or there is no work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = 1
    try:
        signal.signal(signal.SIGTERM, _end)
        sys.path[:] = path
        importlib.invalidate_caches()
        threading.Thread(target=_watch, args=(life,), daemon=True).start()
        _serve(Connection(orders))
        code = 0
    except (KeyboardInterrupt, OSError):
        end_marked(os.environ[MARK])
    finally:
        # Threads of what a job has loaded may be at work, and nobody waits for them.
        os._exit(code)


def _serve(connection: "Connection[Any, Any]") -> None:
    """Do what is asked for until nobody asks any more."""
    connection.send("ready")
    while connection.poll(_IDLE):
        try:
            order = connection.recv()
        except EOFError:
            return
        with _bounded(order.memory):
            answer = compute(order)
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(answer)
