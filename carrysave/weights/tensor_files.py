"""Files of tensors: NumPy's .npy and .npz, and .safetensors, also with formats NumPy lacks."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from carrysave.errors import ArgumentError, UsageError
from carrysave.weights import array_files
from golden.formats.names import minifloat
from hw.emit import user_files
from hw.emit.user_files import TENSORS, FileError, parsing, shown

__all__ = ["FLOATS", "SUFFIXES", "Tensor", "dump", "read"]

SUFFIXES = (*array_files.SUFFIXES, ".safetensors")

# Formats of floats by their names in safetensors: ours, and the integers that hold the codes.
_FLOATS = {
    "F64": (None, "<f8"),
    "F32": ("fp32", "<u4"),
    "F16": ("fp16", "<u2"),
    "BF16": ("bf16", "<u2"),
    "F8_E4M3": ("e4m3", "u1"),
    "F8_E5M2": ("e5m2", "u1"),
}
_INTEGERS = {
    "I8": "i1",
    "U8": "u1",
    "I16": "<i2",
    "U16": "<u2",
    "I32": "<i4",
    "U32": "<u4",
    "I64": "<i8",
    "U64": "<u8",
    "BOOL": "?",
}
_WRITTEN = {
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
_DTYPES = {form: kind for kind, (form, _) in _FLOATS.items() if form is not None}
FLOATS = tuple(_DTYPES)
"""Formats of floats in files, but doubles."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tensor:
    """A tensor: integers, doubles, or the codes of a format of floats.

    Members
    -------
    array : its contents.
    format : of floats but doubles, such as fp16, whose codes `array` holds; else None.
    """

    array: np.ndarray
    format: str | None = None

    @property
    def is_float(self) -> bool:
        """It holds floats."""
        return self.format is not None or self.array.dtype.kind == "f"

    def values(self) -> np.ndarray:
        """Return floats as doubles, exactly."""
        if self.format is None:
            return self.array.astype(np.float64)
        return minifloat(self.format).to_float(self.array)


def read(path: Path) -> dict[str, Tensor]:
    """Read all tensors of a file; of .npy the one, by the file's name.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    UsageError, FileError
        If it is no such file, damaged or too large.
    """
    if path.suffix not in SUFFIXES:
        raise UsageError(f"file must be one of *{', *'.join(SUFFIXES)}, not {str(path)!r}")
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    loaded = array_files.read_arrays(path)
    arrays = loaded if isinstance(loaded, dict) else {path.stem: loaded}
    return {name: _from_numpy(path, name, array) for name, array in arrays.items()}


def dump(tensors: Mapping[str, Tensor], suffix: str) -> bytes:
    """Return a file's bytes, .npz or .safetensors; the same for the same tensors."""
    if suffix == ".safetensors":
        return _dump_safetensors(tensors)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, tensor in tensors.items():
            if not name.isprintable() or name.startswith("/") or ".." in name.split("/"):
                raise ArgumentError(
                    "{to} must be safetensors, as '{value}' is no name in an .npz",
                    value=shown(name),
                )
            # The default date of an entry is constant, unlike that of numpy.savez.
            part = io.BytesIO()
            np.save(part, _to_numpy(name, tensor))
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue())
    return buffer.getvalue()


def _from_numpy(path: Path, name: str, array: np.ndarray) -> Tensor:
    """Take a numpy array."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind in "iub" or (kind == "f" and size == 8):
        return Tensor(array=array)
    formats = {2: "fp16", 4: "fp32"}
    if kind == "f" and size in formats:
        native = array.astype(array.dtype.newbyteorder("="))
        return Tensor(array=native.view(f"u{size}"), format=formats[size])
    reason = f"must be integers or floats of 16..64 bits, not {array.dtype}"
    raise FileError(path, reason, f"tensor '{shown(name)}'")


def _to_numpy(name: str, tensor: Tensor) -> np.ndarray:
    """Return a numpy array."""
    if tensor.format is None:
        return tensor.array
    if tensor.format not in ("fp16", "fp32"):
        raise ArgumentError(
            "{to} must be safetensors, as {name} is of {format}, not npz",
            name=name,
            format=tensor.format,
        )
    width = minifloat(tensor.format).width
    return tensor.array.astype(f"u{width // 8}").view(f"f{width // 8}")


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    """Read raw tensors, since numpy lacks some of their formats."""
    import safetensors

    data = user_files.read(path, TENSORS)
    with parsing(path):
        tensors = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
    result = {}
    for name, facts in tensors:
        kind = facts["dtype"]
        if kind in _FLOATS:
            form, dtype = _FLOATS[kind]
        elif kind in _INTEGERS:
            form, dtype = None, _INTEGERS[kind]
        else:
            known = ", ".join((*_FLOATS, *_INTEGERS))
            raise FileError(path, f"must be of {known}, not {kind}", f"tensor '{shown(name)}'")
        with parsing(path, f"tensor '{shown(name)}'"):
            array = np.frombuffer(facts["data"], dtype=dtype).reshape(facts["shape"])
        result[name] = Tensor(array=array, format=form)
    return result


def _dump_safetensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Write raw tensors."""
    import safetensors

    arrays = {}
    for name, tensor in tensors.items():
        if tensor.format is None:
            arrays[name] = (np.ascontiguousarray(tensor.array), tensor.array.dtype.name)
        else:
            kind = _DTYPES[tensor.format]
            arrays[name] = (np.ascontiguousarray(tensor.array, _FLOATS[kind][1]), _WRITTEN[kind])
    # Addresses are valid as long as `arrays` is.
    specs = {
        name: safetensors.TensorSpec(
            dtype=dtype, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes
        )
        for name, (array, dtype) in arrays.items()
    }
    return bytes(safetensors.serialize(specs, None))
