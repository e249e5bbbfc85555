"""Bytes of a file that are read when they are needed, so that none are held meanwhile."""

from dataclasses import dataclass, replace
from pathlib import Path

from hw.emit.user_files import FileError, read_part

__all__ = ["FilePart", "stamp_of"]

Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp:
    """Return what tells whether a file is still the same: its number, bytes, and last change."""
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


@dataclass(frozen=True, kw_only=True)
class FilePart:
    """Some of a file's bytes.

    Members
    -------
    path, start, size : which.
    stamp : of the file, when its beginning was read.
    limit : bytes that the file may have.
    """

    path: Path
    start: int
    size: int
    stamp: Stamp
    limit: int

    def __len__(self) -> int:
        """Return how many bytes there are."""
        return self.size

    def __getitem__(self, where: slice) -> "FilePart":
        """Return a range of the bytes."""
        first, last, _ = where.indices(self.size)
        return replace(self, start=self.start + first, size=max(last - first, 0))

    def read(self) -> memoryview:
        """Return the bytes.

        Raises
        ------
        FileNotFoundError, FileError
            As :func:`hw.emit.user_files.read_part`; or the file is another one by now.
        """
        try:
            data = read_part(self.path, self.start, self.size, self.limit)
        except FileError:
            raise
        except ValueError:
            data = b""
        if len(data) != self.size or stamp_of(self.path) != self.stamp:
            raise FileError(self.path, "must stay as it is while it is read")
        return memoryview(data)
