"""The cache of carrysave's computed results."""

import atexit
import contextlib
import errno
import functools
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from hw.emit import folders

__all__ = ["digest", "entry", "folder", "recall", "remembered", "write"]


def folder() -> Path:
    """Return the cache directory: ``$CARRYSAVE_CACHE``, else ``carrysave`` in the XDG cache."""
    if given := os.environ.get("CARRYSAVE_CACHE"):
        return Path(given).expanduser().resolve()
    xdg = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(xdg).expanduser().resolve() / "carrysave"


def digest(parts: Iterable[str | bytes]) -> str:
    """Return the SHA-256 of the parts, in hexadecimal; ("ab", "c") differs from ("a", "bc")."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def write(path: Path, text: str | bytes) -> Path:
    """Write a file atomically: readers see the old contents or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not of its name, which may be as long as a name can be.
    folders.sweep(str(path.parent), _LEFT_FILE)
    temporary = path.with_name(f".{os.getpid()}.{os.urandom(8).hex()}")
    temporary.write_bytes(text.encode() if isinstance(text, str) else text)
    temporary.replace(path)
    return path


def entry(
    room: str,
    parts: Iterable[str | bytes],
    make: Callable[[Path], None],
    *,
    most: int | None = None,
) -> Path:
    """Return a folder that was made of the same `parts`, or make it.

    It comes into being whole, and has digests of its files, which are compared whenever it is asked
    for: one that was damaged is made again, and a line on stderr says so.

    Parameters
    ----------
    room : what kind of thing it is: a folder of the cache.
    parts : all that its content depends on.
    make : puts files into a folder that it is given.
    most : entries of the room; those that were asked for longest ago go. None: all stay.
    """
    path = _path(room, parts)
    if _whole(path):
        if most is not None:
            with contextlib.suppress(OSError):  # it is another's, or gone
                os.utime(path)
        return path
    if path.exists():
        print(f"carrysave: {path} is damaged, and made again", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        try:
            work = stack.enter_context(_new_folder(path))
        except OSError as error:
            if error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}:
                raise
            # A cache that cannot be written is only slower.
            path = _own_folder() / room / path.name
            if _whole(path):
                return path
            work = stack.enter_context(_new_folder(path))
        make(work)
        (work / _SUMS).write_text(_sums(work))
        work.chmod(0o755)
        _place(work, path)
    if most is not None:
        _thin(path.parent, most)
    return path


def _path(room: str, parts: Iterable[str | bytes]) -> Path:
    return folder() / room / digest([_LAYOUT, *parts])[:32]


_LAYOUT = "2"  # of an entry
_LEFT_ENTRY = r"\.[0-9a-f]{32}\.[a-z0-9_]{8}"
_LEFT_FILE = r"\.[0-9]+\.[0-9a-f]{16}"
"""Names of what is half made, which a run that was killed leaves."""
_SUMS = "SHA256SUMS"
_known: dict[Path, list[tuple[str, int, int, int]]] = {}
"""Entries that were compared in this process, and what is to be seen of their files."""


def _sums(path: Path) -> str:
    """Return the digests of the files of an entry, as `sha256sum` writes them."""
    lines = []
    for file in sorted(path.iterdir()):
        if file.name != _SUMS:
            with file.open("rb") as content:
                lines.append(f"{hashlib.file_digest(content, 'sha256').hexdigest()}  {file.name}")
    return "".join(f"{line}\n" for line in lines)


def _whole(path: Path) -> bool:
    """Return whether an entry is there, and as it was made."""
    try:
        facts = [(file, file.stat()) for file in sorted(path.iterdir())]
        seen = [(file.name, f.st_size, f.st_mtime_ns, f.st_ino) for file, f in facts]
        if _known.get(path) == seen:
            return True
        if (path / _SUMS).read_text() != _sums(path):
            return False
    except (OSError, UnicodeDecodeError):
        return False
    _known[path] = seen
    return True


@contextlib.contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with folders.temporary(path.parent, f".{path.name}.", kin=_LEFT_ENTRY) as work:
        yield work


def _place(work: Path, path: Path) -> None:
    """Give an entry its name, unless another process was faster."""
    try:
        work.rename(path)
    except OSError:
        if not _whole(path):
            with _new_folder(path) as damaged:
                with contextlib.suppress(OSError):
                    path.rename(damaged / path.name)
                work.rename(path)


def _thin(room: Path, most: int) -> None:
    """Take away the entries that were asked for longest ago; another process may do so, too."""
    with contextlib.suppress(OSError):
        known = [path for path in room.iterdir() if not path.name.startswith(".")]
        known.sort(key=lambda path: path.stat().st_mtime_ns)
        for path in known[: max(len(known) - most, 0)]:
            with _new_folder(path) as old:
                path.rename(old / path.name)


@functools.cache
def _own_folder() -> Path:
    """Return a cache of this process alone."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(folders.temporary(tempfile.gettempdir()))


def remembered(room: str, parts: Iterable[str | bytes], make: Callable[[], Any]) -> Any:
    """Return plain data that was kept for the same `parts`, or make it and keep it as JSON."""

    def write_value(path: Path) -> None:
        (path / "value.json").write_text(json.dumps(make()))

    return json.loads((entry(room, parts, write_value) / "value.json").read_text())


def recall(room: str, parts: Iterable[str | bytes]) -> Any | None:
    """Return what :func:`remembered` kept for the same `parts`; None if there is nothing whole."""
    path = _path(room, parts)
    return json.loads((path / "value.json").read_text()) if _whole(path) else None
