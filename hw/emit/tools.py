"""Runs other programs, cleans up after them, and gives them paths that every tool accepts."""

import contextlib
import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hw.emit import folders
from hw.emit.naming import hidden

__all__ = ["Finished", "MissingToolError", "ending", "find", "kill_all", "run", "workplace"]

_PLAIN = re.compile(r"[\w./+-]+", re.ASCII)
_PACKAGES = {
    "sta": "opensta",
    "c++": "g++",
    "make": "make",
    "ar": "binutils",
    "openFPGALoader": "openfpgaloader",
    "vvp": "iverilog",
}
"""Debian's package of each program that pip does not bring."""
_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
"""Bytes of data that a program may have: what it is given to read may ask for any number."""


class MissingToolError(RuntimeError):
    """A program is not installed; the text has the command that installs it."""


@dataclass(frozen=True)
class Finished:
    """A program that ended: its exit code, None if it was killed for its time; what it printed.

    Of files in a :func:`workplace` it has the names, without the folder.
    """

    code: int | None
    output: str


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Make a :func:`~hw.emit.folders.temporary` folder, with a path of ``A-z 0-9 _ . / + -`` only.

    Yosys, ABC, Tcl, make and the shell each take a path apart at marks of their own, and some of
    them run what they find there. In such a folder, with file names of ours, nothing needs quotes.

    Raises
    ------
    OSError
        If no folder for temporary files has such a path.
    """
    given = tempfile.gettempdir()
    for candidate in (given, "/tmp", "/var/tmp", "/dev/shm"):
        path = os.path.realpath(candidate)
        if _PLAIN.fullmatch(path) and os.access(path, os.W_OK | os.X_OK):
            break
    else:
        raise OSError(f"TMPDIR must be a folder to write in, of letters and digits, not {given!r}")
    with folders.temporary(path) as folder:
        yield folder


def find(program: str) -> str:
    """Return where a program is.

    Raises
    ------
    MissingToolError
        If it is not installed.
    """
    path = shutil.which(program)
    if path is None:
        package = _PACKAGES.get(program, program)
        raise MissingToolError(f"{program} is not installed: run `sudo apt-get install {package}`")
    return path


_running: set[int] = set()
_ending = threading.Event()
_starting = False
"""Whether the main thread is about to have a child, and must not be torn out of that."""


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | str,
    environment: Mapping[str, str] | None = None,
    input: str | None = None,
    log: Path | None = None,
    deadline: float = float("inf"),
    poll: Callable[[], None] | None = None,
) -> Finished:
    """Run a program as a group of processes, and kill what is left of it when this ends.

    Parameters
    ----------
    command : the program and its arguments; no shell sees them.
    cwd : its working folder, and where it has its temporary files if that is a :func:`workplace`.
    environment : its environment; this process's by default.
    input : text for its standard input, which is empty by default.
    log : file to which all is appended that it prints, instead of `output`.
    deadline : seconds after which it is killed.
    poll : called a few times a second.

    Raises
    ------
    MissingToolError
        If there is no such program.
    """
    variables = dict(os.environ if environment is None else environment)
    if _PLAIN.fullmatch(str(cwd)):
        variables["TMPDIR"] = str(cwd)
    words = [str(word) for word in command]
    if os.sep not in words[0]:
        words[0] = find(words[0])
    _check_ending()
    with contextlib.ExitStack() as stack:
        given = stack.enter_context(tempfile.TemporaryFile())
        given.write((input or "").encode())
        given.seek(0)
        if log is None:
            output: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
        else:
            output = stack.enter_context(log.open("ab"))
        process = _begin(words, given, output, cwd, variables)
        try:
            _check_ending()
            code = _wait(process, deadline, poll)
        finally:
            if process.poll() is None:
                _kill(process.pid)
                process.wait()
                _gone(process.pid)
            _running.discard(process.pid)
        _check_ending()
        _check_space(cwd)
        text = ""
        if log is None:
            output.seek(0)
            text = hidden(output.read().decode(errors="replace"))
        return Finished(code, text)


def _check_ending() -> None:
    """Stop where this process is about to end."""
    if _ending.is_set():
        raise KeyboardInterrupt


def _begin(
    words: list[str],
    given: IO[bytes],
    output: IO[bytes],
    cwd: Path | str,
    variables: dict[str, str],
) -> "subprocess.Popen[bytes]":
    """Start a program in a group of its own, and record it before anything else happens."""
    with _start():
        process = subprocess.Popen(
            words,
            stdin=given,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=variables,
            start_new_session=True,
        )
        _running.add(process.pid)
        _bound(process.pid)
    return process


def _check_space(folder: Path | str) -> None:
    """Fail if the disk is full: what programs wrote is cut off, and would pass for an error in it.

    Not all programs say so themselves.
    """
    if _full(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(Path(folder).parent))


def _wait(
    process: "subprocess.Popen[bytes]", deadline: float, poll: Callable[[], None] | None
) -> int | None:
    """Wait for a program; return its exit code, None if it does not end in time."""
    if poll is None and deadline == float("inf"):
        return process.wait()
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        try:
            return process.wait(timeout=min(0.2, max(0.0, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            if poll is not None:
                poll()
    return None


def _bound(process: int) -> None:
    """Limit the memory of a process, and of those that it will start."""
    with contextlib.suppress(ProcessLookupError, AttributeError):  # macOS has no `prlimit`
        limits = resource.prlimit(process, resource.RLIMIT_DATA)
        bounded = [_MEMORY if limit == resource.RLIM_INFINITY else limit for limit in limits]
        resource.prlimit(process, resource.RLIMIT_DATA, (bounded[0], limits[1]))


def _gone(group: int) -> None:
    """Wait for the last of a group that was killed: it may be about to write a file."""
    with contextlib.suppress(ProcessLookupError):
        for _ in range(100):
            os.killpg(group, 0)
            time.sleep(0.02)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


@contextlib.contextmanager
def _start() -> Iterator[None]:
    """Defer interrupts until the new child is recorded."""
    global _starting
    main = threading.current_thread() is threading.main_thread()
    _starting = _starting or main
    try:
        yield
    finally:
        _starting = _starting and not main


def _full(folder: Path | str) -> bool:
    space = os.statvfs(folder)
    return space.f_blocks > 0 and space.f_bavail * space.f_frsize < 1 << 16


def kill_all() -> bool:
    """End all that runs, in whatever thread, and let nothing new begin: the user wants to stop.

    For a handler of signals.

    Returns
    -------
    Whether the main thread starts a program just now, and raises KeyboardInterrupt by itself.
    """
    _ending.set()
    for group in list(_running):
        _kill(group)
    return _starting


def ending() -> bool:
    """Return whether the user wants to stop, see :func:`kill_all`."""
    return _ending.is_set()
