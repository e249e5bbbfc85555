"""Temporary folders: private, removed at the end, and found by the next run if that does not come.

Each is locked by the process that made it. The lock ends with the process, however that ends: a
folder that nobody holds was left behind, by ``kill -9`` or when the power went.
"""

import contextlib
import fcntl
import functools
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["FOLDER", "LEFT", "PREFIX", "sweep", "temporary"]

PREFIX = "carrysave-work-"
"""What the name of a folder begins with."""
_RANDOM = "[a-z0-9_]{8}"
"""What Python's tempfile puts behind a prefix."""
FOLDER = re.escape(PREFIX) + _RANDOM
"""The name of a folder, as a regular expression."""
LEFT = 60.0
"""Seconds after which what nobody holds is taken for left: one is made before it is locked."""


@contextlib.contextmanager
def temporary(
    parent: Path | str, prefix: str = PREFIX, *, kin: str | None = None
) -> Iterator[Path]:
    """Make a folder that only its user may enter, and remove it at the end, wherever it is.

    The first one of a process removes those of its kin that were left in the same place.

    Parameters
    ----------
    parent : where it is.
    prefix : what its name begins with.
    kin : regular expression of the names of those that are removed if they were left; by default
        of those with this prefix.
    """
    sweep(str(parent), kin or re.escape(prefix) + _RANDOM)
    with TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True) as name:
        held = _hold(name)
        try:
            yield Path(name)
        finally:
            if held is not None:
                os.close(held)


@functools.cache
def sweep(parent: str, names: str) -> None:
    """Remove folders and files of this user that were left in a place, once in a process.

    Parameters
    ----------
    names : regular expression of their whole names.
    """
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            if re.fullmatch(names, entry.name, re.ASCII):
                with contextlib.suppress(OSError):
                    _remove_left(entry)


def _remove_left(entry: "os.DirEntry[str]") -> None:
    facts = entry.stat(follow_symlinks=False)
    if entry.is_symlink() or facts.st_uid != os.getuid() or time.time() - facts.st_mtime < LEFT:
        return
    held = _hold(entry.path)
    if held is None:
        return
    try:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            Path(entry.path).unlink()
    finally:
        os.close(held)


def _hold(path: str) -> int | None:
    """Lock a folder or a file, as long as what is returned is open; None if another process does.

    None, too, where a file system has no locks: what lies there is not removed by others.
    """
    try:
        held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held
