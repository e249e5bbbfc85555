"""A model's outputs in a file: by names that no program takes for a path."""

import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

__all__ = ["archive", "array_names", "folder_name", "npy"]

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def array_names(outputs: Iterable[str]) -> dict[str, str]:
    """Return the name in the file of each output: its own, if that is plain, or a number."""
    names = list(outputs)
    plain = {name for name in names if _PLAIN.fullmatch(name)}
    names_of = {}
    for number, name in enumerate(names):
        array_name = name
        if name not in plain:
            array_name = f"output{number}"
            while array_name in plain:
                array_name += "_"
        names_of[name] = array_name
    return names_of


def folder_name(model: Path) -> str:
    """Return a model's name for a folder of results."""
    return model.stem if model.stem.strip(".") else "model"


def archive(outputs: Mapping[str, np.ndarray]) -> bytes:
    """Write outputs as an .npz; the same outputs give the same bytes."""
    # numpy.savez takes an array called `file` for another argument.
    names = array_names(outputs)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, array in outputs.items():
            file.writestr(zipfile.ZipInfo(f"{names[name]}.npy"), npy(array))
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    """Write an array as an .npy."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()
