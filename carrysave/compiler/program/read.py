"""Reads a program's folder, as :mod:`.write` has written it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.program.write import FORMAT
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Parameter
from hw.catalog import Design
from hw.emit import user_files
from hw.emit.user_files import FileError, parsing

__all__ = ["Stored", "read"]


@dataclass(frozen=True, eq=False)
class Stored:
    """A program of a folder.

    Members
    -------
    path : of the manifest.
    manifest : what it says.
    memory : as it is before the first run, uint8.
    target : the co-processor.
    parameters : what is chosen for each run.
    """

    path: Path
    manifest: dict[str, Any]
    memory: np.ndarray
    target: Target
    parameters: tuple[Parameter, ...]

    def output(self, name: str, memory: np.ndarray) -> np.ndarray:
        """Return the numbers of an output, in place."""
        found = [one for one in self.manifest["outputs"] if one["name"] == name]
        if len(found) != 1:
            raise FileError(self.path, f"must have one output {name!r}")
        with parsing(self.path, f"output {name!r}"):
            kind, at = np.dtype(found[0]["type"]), int(found[0]["address"])
            return np.ndarray(found[0]["shape"], kind, memory, at, found[0]["strides"])


def read(folder: Path) -> Stored:
    """Read a program.

    Raises
    ------
    FileNotFoundError, FileError
        There is none; another version, or files that are no program's, or do not fit together.
    """
    path = folder / "program.json"
    with parsing(path):
        manifest = json.loads(user_files.read_text(path))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        found = manifest.get("format") if isinstance(manifest, dict) else None
        raise FileError(path, f"format must be {FORMAT}, not {found!r}")
    with parsing(path):
        size = int(manifest["bytes"])
        target = Target(Design.parse("coprocessor", dict(manifest["target"])))
        parameters = tuple(
            Parameter(**{**one, "words": tuple((at, factor) for at, factor in one["words"])})
            for one in manifest["parameters"]
        )
        starts = [int(start) for start in manifest["sections"]]
    memory = np.frombuffer(
        bytearray(user_files.read(folder / "memory.bin", user_files.TENSORS)), np.uint8
    )
    if len(memory) != size or not all(0 <= start < size for start in starts):
        raise FileError(folder / "memory.bin", f"must be of {size} bytes, not {len(memory)}")
    return Stored(path, manifest, memory, target, parameters)
