"""Reads what users bring: files that may be damaged, endless, far too large, or made to harm."""

import codecs
import contextlib
import gzip
import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "LIMIT_VARIABLE", "TENSORS", "TEXTS", "FileError", "limit_of", "members", "parsing", "part",
    "raised", "read", "read_part", "read_text", "shown", "within",
]  # fmt: skip

TENSORS = 4 << 30
"""Bytes that a file of tensors may have, and what it unpacks to."""
TEXTS = 128 << 20
"""Bytes that any other file may have, and what it unpacks to."""
LIMIT_VARIABLE = "CARRYSAVE_MAX_SIZE"
"""Environment variable with another limit for all files, such as ``16G``."""

_PIECE = 1 << 20
_MEMBERS = 10_000
_GZIP = b"\x1f\x8b"


class FileError(ValueError):
    """A file is not what it should be; one line with file, place in it, and reason.

    Parameters
    ----------
    path : of the file.
    reason : what is wrong, in any words; shown as one line, see :func:`shown`.
    where : where in the file, if that is known.
    """

    def __init__(self, path: Path, reason: object, where: str = ""):
        parts = [str(path), *([where] if where else []), " ".join(str(reason).split())]
        super().__init__(": ".join(shown(part, 3000) for part in parts))


def shown(text: str, most: int = 200) -> str:
    r"""Return a name from outside as a terminal may have it, on one line.

    Whatever is not printable (control characters, line ends, marks that turn the direction of
    writing, halves of characters) becomes an escape as in Python, such as ``\x1b``.

    Parameters
    ----------
    text : the name, or a text with such names.
    most : characters that are kept of it; the others become ``...``.
    """
    cut = text if len(text) <= most else f"{text[:most]}..."
    if cut.isprintable():
        return cut
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in cut)


@contextlib.contextmanager
def parsing(path: Path, where: str = "") -> Iterator[None]:
    """Make a :class:`FileError` of whatever a library raises that takes a file apart.

    Only for the call of the library: inside, a fault of ours would look like one of the file.

    Parameters
    ----------
    path, where : as of :class:`FileError`.
    """
    try:
        yield
    except FileError:
        raise
    except Exception as error:  # any: a parser may raise anything for bytes it did not expect
        # EOFError and MemoryError may have no words.
        short = isinstance(error, EOFError)
        reason = str(error) or ("ends too early" if short else "must be less deep, or smaller")
        raise FileError(path, reason, where) from None


def read(path: Path, limit: int = TEXTS, *, unzip: bool = False, text: bool = False) -> bytes:
    """Read a file, at once and once.

    Parameters
    ----------
    path : of a regular file, or a link to one; not a pipe, a device or a folder.
    limit : bytes that it, and what it unpacks to, may have, unless `LIMIT_VARIABLE` is set.
    unzip : return what it unpacks to, if it is compressed by gzip.
    text : leave out the byte order mark of UTF-8 that some editors begin a text with.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileError
        If it is of another kind, too large, damaged, or cannot be read.
    """
    limit = limit_of(limit)
    with _opened(path, limit) as (file, size):
        data = file.read(size + 1)
    if data is None or len(data) != size:
        raise FileError(path, f"must stay as it is while it is read, not change from {size} bytes")
    if unzip and data.startswith(_GZIP):
        with parsing(path, "gzip"), gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            data = _unpacked(path, stream, limit)
    return data.removeprefix(codecs.BOM_UTF8) if text else data


def read_part(path: Path, start: int, count: int | None, limit: int = TENSORS) -> bytes:
    """Read a part of a file, and no more of it.

    Parameters
    ----------
    path, limit : as of :func:`read`.
    start, count : first byte, and how many; None: all to the end.

    Raises
    ------
    FileNotFoundError, FileError
        As :func:`read`.
    ValueError
        A part that is beyond the end.
    """
    with _opened(path, limit_of(limit)) as (file, size):
        end = size if count is None else start + count
        if start <= end <= size:
            file.seek(start)
            data = file.read(end - start)
    end = _end(path, start, count, size)
    if data is None or len(data) != end - start:
        raise FileError(path, f"must stay as it is while it is read, not change from {size} bytes")
    return data


def part(path: Path, start: int, count: int | None, limit: int = TENSORS) -> int:
    """Check that a part of a file is there, as of :func:`read_part`; return its bytes."""
    with _opened(path, limit_of(limit)) as (_, opened):
        size = opened
    return _end(path, start, count, size) - start


def _end(path: Path, start: int, count: int | None, size: int) -> int:
    """Return the end of a part of a file."""
    end = size if count is None else start + count
    if not start <= end <= size:
        raise ValueError(f"bytes {start}..{end} are beyond the end of {shown(path.name)}")
    return end


@contextlib.contextmanager
def _opened(path: Path, limit: int) -> Iterator[tuple[BinaryIO, int]]:
    """Open a file of a legal kind and size; return its size, too."""
    try:
        # Asked before it is opened: to open a pipe or a device may wait, or do something.
        _size(path, path.stat(), limit)
        with open(path, "rb", opener=_open) as file:
            yield file, _size(path, os.fstat(file.fileno()), limit)
    except (FileNotFoundError, FileError):
        raise
    except (OSError, ValueError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "must fit into memory"
        if "\0" in str(path):
            reason = "must have no zero byte in its name"
        raise FileError(path, reason) from None


def read_text(path: Path, limit: int = TEXTS) -> str:
    """Read a text in UTF-8, whatever the language of the system; the same errors as `read`."""
    data = read(path, limit, text=True)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(path, f"must be UTF-8, not {error.reason}", f"line {line}") from None


def members(path: Path, limit: int = TENSORS) -> dict[str, bytes]:
    """Read all members of a zip archive, by name, in their order.

    Parameters
    ----------
    path, limit : as of :func:`read`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileError
        If it is no such archive, or has members of one name, too many, encrypted ones or such as
        are compressed by anything but deflation.
    """
    data = read(path, limit)
    # The library takes the whole list of members into memory, as objects, before it can be asked.
    if data.count(zipfile.stringCentralDir) > _MEMBERS:  # type: ignore[attr-defined]
        raise FileError(path, f"must have at most {_MEMBERS} members")
    limit = limit_of(limit)
    contents: dict[str, bytes] = {}
    with parsing(path), zipfile.ZipFile(io.BytesIO(data)) as archive:
        # No more is read of a member than it says here.
        if sum(member.file_size for member in archive.infolist()) > limit:
            raise _too_large(path, "unpacked, not more", limit)
        for member in archive.infolist():
            member_name = f"member '{shown(member.filename)}'"
            if member.filename in contents:
                raise FileError(path, "must be there once, not twice", member_name)
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise FileError(path, "must be stored or deflated", member_name)
            with parsing(path, member_name), archive.open(member) as stream:
                contents[member.filename] = stream.read()
    return contents


def within(path: Path, size: int, limit: int = TENSORS) -> None:
    """Refuse a file whose content needs too much memory; arguments as of :func:`read`.

    Parameters
    ----------
    size : bytes that are needed.
    """
    if size > limit_of(limit):
        raise _too_large(path, f"unpacked, not {size:,}", limit_of(limit))


def _open(path: str, flags: int) -> int:
    """Open without waiting, should it have become a pipe meanwhile."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _size(path: Path, facts: os.stat_result, limit: int) -> int:
    """Return the bytes of a file; refuse what has no end, or too many."""
    if not stat.S_ISREG(facts.st_mode):
        kinds = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
        kind = kinds.get(stat.S_IFMT(facts.st_mode), "device")
        raise FileError(path, f"must be a regular file, not a {kind}")
    if facts.st_size > limit:
        raise _too_large(path, f"not {facts.st_size:,}", limit)
    return facts.st_size


def _unpacked(path: Path, stream: gzip.GzipFile, limit: int) -> bytes:
    """Read a stream to its end in pieces: of what is too large not much more than the limit."""
    pieces, total = [], 0
    while piece := stream.read(_PIECE):
        total += len(piece)
        if total > limit:
            raise _too_large(path, "unpacked, not more", limit)
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(path: Path, what: str, limit: int) -> FileError:
    return FileError(path, f"must be at most {limit:,} bytes, {what}; {raised(limit)}")


def raised(limit: int) -> str:
    """Say what raises a limit."""
    larger = 2 ** max(limit.bit_length() - 29, 0)
    return f"{LIMIT_VARIABLE}={larger}G raises this"


def limit_of(default: int) -> int:
    """Return the limit that holds: the one that the user sets, or else the default."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return default
    match = re.fullmatch(r"(\d{1,12})([KMGT]?)", text, re.ASCII)
    if match is None:
        raise ValueError(f"{LIMIT_VARIABLE} must be bytes, such as 500M or 16G, not {text!r}")
    return int(match[1]) << 10 * " KMGT".index(match[2] or " ")
