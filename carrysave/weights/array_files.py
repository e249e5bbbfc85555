"""NumPy's files, .npy and .npz, of which nothing is believed, and no pickles."""

import io
import math
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from hw.emit import user_files
from hw.emit.user_files import TENSORS, FileError, members, parsing, shown

__all__ = ["SUFFIXES", "check_all_used", "read_arrays"]

SUFFIXES = (".npy", ".npz")

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_arrays(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """Read the array of an .npy file, or those of an .npz file by name.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileError
        As :func:`hw.emit.user_files.read`; or if it holds anything but arrays, whole ones.
    """
    if path.suffix != ".npz":
        return _array(path, user_files.read(path, TENSORS))
    arrays: dict[str, np.ndarray] = {}
    for member, data in members(path).items():
        name, where = member.removesuffix(".npy"), f"member '{shown(member)}'"
        if name in arrays or not member.endswith(".npy"):
            raise FileError(path, "must be an array (.npy), and there once", where)
        arrays[name] = _array(path, data, where)
    return arrays


def check_all_used(path: Path, what: str, names: Iterable[str], used: Collection[str]) -> None:
    """Refuse a file with contents that nothing used: they may change what is computed.

    Parameters
    ----------
    what : what they are called, such as ``tensor``.
    names, used : what is there, and what was taken or changes nothing.

    Raises
    ------
    FileError
        With the name of the first.
    """
    for name in names:
        if name not in used:
            text = "is not known here and may not be left out"
            raise FileError(path, text, f"{what} '{shown(name)}'")


def _array(path: Path, data: bytes, where: str = "") -> np.ndarray:
    """Return the array of the bytes of an .npy file.

    NumPy takes memory for the shape before it looks for the data, and counts modulo 2^64.
    """
    if not data.startswith(np.lib.format.MAGIC_PREFIX):
        raise FileError(path, "must be an array of NumPy's (.npy)", where)
    with parsing(path, where), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old files, which are read, and of odd ones
        stream = io.BytesIO(data)
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise FileError(path, f"format must be 1.0 or 2.0, not {version}", where)
        shape, fortran, dtype = _HEADERS[version](stream)
        if dtype.kind not in "biufc":
            raise FileError(path, f"must be numbers, not {dtype.name}", where)
        here, wanted = len(data) - stream.tell(), math.prod(shape) * dtype.itemsize
        if here != wanted or min(shape, default=0) < 0:
            raise FileError(path, f"shape {shape} must be {wanted:,} bytes, not {here:,}", where)
        flat = np.frombuffer(data, dtype, offset=stream.tell())
        # A copy can be written to, and lies where processors want it.
        return np.array(flat.reshape(shape, order="F" if fortran else "C"))
