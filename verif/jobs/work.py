"""Jobs for the tests of :mod:`carrysave.jobs`."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from carrysave import jobs
from carrysave.jobs import children

__all__ = [
    "add",
    "end",
    "hang",
    "hoard",
    "hoard_together",
    "leave",
    "nested",
    "read",
    "refuse",
    "slow",
    "sometimes",
    "version",
]


def version() -> str:
    return "1.0"


def add(a: int, b: int) -> dict[str, Any]:
    return {"sum": a + b, "parameters": {"a": a, "b": b}, "design": "adder"}


def slow(a: int, seconds: float, log: str) -> dict[str, Any]:
    """Say in a file that it began, and take its time."""
    with Path(log).open("a") as file:
        file.write(f"{a} {os.getpid()}\n")
    time.sleep(seconds)
    return {"square": a * a, "parameters": {"a": a}}


def refuse(a: int) -> None:
    raise ValueError(f"a must be 0, not {a}")


def end(how: int) -> None:
    """Die, as a tool does that crashes."""
    print("about to die")
    sys.stdout.flush()
    os.kill(os.getpid(), how)
    time.sleep(10)


def sometimes(folder: str) -> int:
    """Die at the first two attempts."""
    tried = len(list(Path(folder).iterdir()))
    (Path(folder) / str(tried)).touch()
    if tried < 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return tried


def hang(log: str) -> None:
    """Start a program in a session of its own, as tools are, and never end."""
    program = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    Path(log).write_text(str(program.pid))
    time.sleep(1000)


def hoard(size: int) -> int:
    return len(bytearray(size))


def hoard_together(size: int, log: str) -> None:
    """Take too much in two processes, each of which may have what it takes."""
    fill = f"taken = bytearray({size}); taken[::4096] = b'1' * len(taken[::4096])"
    code = f"import time; {fill}; time.sleep(99)"
    program = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    Path(log).write_text(str(program.pid))
    taken = bytearray(size)
    taken[::4096] = b"1" * len(taken[::4096])
    time.sleep(1000)


def nested(count: int) -> list[Any]:
    """Have jobs of its own, in this process."""
    wanted = [jobs.Job(function=add, arguments={"a": a, "b": 1}) for a in range(count)]
    found = list(jobs.run(wanted, ordered=True))
    return [[one.get()["sum"] for one in found], not children.CHILDREN.processes()]


def read(file: Path) -> str:
    return file.read_text()


def leave() -> object:
    return object()
