"""Files of language models in GGUF: facts by name, and tensors, of which nothing is believed."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.weights.file_part import FilePart, stamp_of
from carrysave.weights.gguf_tensor import KINDS, OTHERS, GgufTensor, bytes_of
from hw.emit import user_files
from hw.emit.user_files import TENSORS, FileError, shown

__all__ = ["GgufFile", "read_gguf"]

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_NUMBERS = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    7: "?",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
_STRING, _ARRAY = 8, 9
_MOST_AXES = 4
_PIECE = 1 << 20
"""Bytes of the header that are read at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GgufFile:
    """What a file says.

    Members
    -------
    path, tensors : of it; the latter by name, in the file's order.
    facts : numbers, texts, truths, and arrays of these: of numbers numpy's, of texts lists.
    """

    path: Path
    facts: Mapping[str, Any]
    tensors: Mapping[str, GgufTensor]


def read_gguf(path: Path) -> GgufFile:
    """Read what a file says; bytes of its tensors are read when they are needed.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileError
        As :func:`hw.emit.user_files.read`; or if it is no GGUF of version 2 or 3 in little endian,
        ends too early, or has tensors that are not within it.
    """
    reader = _Reader(path)
    if reader.size < len(_MAGIC) or reader.take(len(_MAGIC)) != _MAGIC:
        raise FileError(path, "must be a GGUF file, which begins with 'GGUF'")
    version = reader.number("<u4")
    if version not in _VERSIONS:
        raise FileError(path, f"version must be 2 or 3, little endian, not {version}")
    tensors, facts = reader.count(24), reader.count(13)
    metadata: dict[str, Any] = {}
    for _ in range(facts):
        name = reader.text()
        if name in metadata:
            raise FileError(path, "must be there once, not twice", f"fact '{shown(name)}'")
        metadata[name] = reader.value(reader.number("<u4"))
    infos = [reader.info() for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 8 or alignment & alignment - 1:
        raise FileError(path, f"alignment must be a power of two, 8 or more, not {alignment!r}")
    start = -(-reader.at // alignment) * alignment
    by_name: dict[str, GgufTensor] = {}
    for name, shape, number, offset in infos:
        if name in by_name:
            raise FileError(path, "must be there once, not twice", f"tensor '{shown(name)}'")
        by_name[name] = _tensor(reader.file, name, shape, number, (start, offset, alignment))
    return GgufFile(path=path, facts=metadata, tensors=by_name)


def _tensor(
    file: FilePart, name: str, shape: tuple[int, ...], number: int, where: tuple[int, int, int]
) -> GgufTensor:
    """Return a tensor of the file's bytes, which must all be there."""
    path = file.path
    what = f"tensor '{shown(name)}'"
    kind = KINDS.get(number)
    if kind is None:
        listed = ", ".join(KINDS.values())
        other = OTHERS.get(number, f"of number {number}")
        raise FileError(path, f"must be one of {listed}, not {other}", what)
    try:
        wanted = bytes_of(kind, shape)
    except ValueError as error:
        raise FileError(path, error, what) from None
    start, offset, alignment = where
    here = len(file) - start - offset
    if offset % alignment or here < wanted:
        raise FileError(
            path,
            f"must be {wanted:,} bytes from a multiple of {alignment} on, within the file, "
            f"not from {offset:,} of {max(len(file) - start, 0):,}",
            what,
        )
    part = file[start + offset : start + offset + wanted]
    return GgufTensor(name=name, shape=shape, kind=kind, data=part)


class _Reader:
    """Takes one thing after the other, and reads of the file what that takes."""

    def __init__(self, path: Path):
        self.path = path
        self.size = user_files.part(path, 0, None, TENSORS)
        self.file = FilePart(
            path=path, start=0, size=self.size, stamp=stamp_of(path), limit=TENSORS
        )
        self.at = 0
        self._data, self._first = b"", 0

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        if size > self.size - self.at:
            raise FileError(self.path, f"ends too early: {size:,} bytes are wanted at {self.at:,}")
        first = self.at - self._first
        if first + size > len(self._data):
            self._first, first = self.at, 0
            self._data = bytes(self.file[self.at : self.at + max(size, _PIECE)].read())
        self.at += size
        return self._data[first : first + size]

    def number(self, dtype: str) -> Any:
        """Return a number."""
        return np.frombuffer(self.take(np.dtype(dtype).itemsize), dtype)[0].item()

    def count(self, least: int) -> int:
        """Return a number of things, each of so many bytes at least, all still in the file."""
        count = struct.unpack("<Q", self.take(8))[0]
        if count * least > self.size - self.at:
            raise FileError(self.path, f"ends too early: {count:,} items from {self.at:,} on")
        return count

    def text(self) -> str:
        """Return a text."""
        where = f"byte {self.at:,}"
        try:
            return self.take(self.count(1)).decode()
        except UnicodeDecodeError:
            raise FileError(self.path, "text must be UTF-8", where) from None

    def value(self, kind: int) -> Any:
        """Return the value of a fact."""
        if kind == _STRING:
            return self.text()
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind != _ARRAY:
            raise FileError(self.path, f"kind must be 0..12, not {kind}", f"byte {self.at:,}")
        inner = self.number("<u4")
        if inner == _STRING:
            return [self.text() for _ in range(self.count(8))]
        if inner not in _NUMBERS:
            raise FileError(self.path, f"array must be of numbers or texts, not {inner}")
        dtype = np.dtype(_NUMBERS[inner])
        return np.frombuffer(self.take(self.count(dtype.itemsize) * dtype.itemsize), dtype)

    def info(self) -> tuple[str, tuple[int, ...], int, int]:
        """Return name, shape, number of the kind, and place of a tensor."""
        name = self.text()
        axes = self.number("<u4")
        if not 1 <= axes <= _MOST_AXES:
            raise FileError(self.path, f"axes must be 1..4, not {axes}", f"tensor '{shown(name)}'")
        shape = tuple(self.number("<u8") for _ in range(axes))
        if 0 in shape:
            raise FileError(self.path, "must not be empty", f"tensor '{shown(name)}'")
        return name, shape[::-1], self.number("<u4"), self.number("<u8")
