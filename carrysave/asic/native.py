"""Loops in C++, compiled at their first use."""

import ctypes
import shutil
from pathlib import Path

from carrysave import cache
from carrysave.sim import verilator_install
from hw.emit import tools

__all__ = ["compiled"]


def compiled(source: Path, what: str) -> ctypes.CDLL:
    """Return a compiled library, from the cache if possible.

    Parameters
    ----------
    source : a file of C++20.
    what : it is, for errors.

    Raises
    ------
    RuntimeError
        The compiler refuses it; says why.
    """
    text, compiler = source.read_bytes(), verilator_install.compiler()
    options = ["-O2", "-std=c++20", "-shared", "-fPIC"]
    library = f"{source.stem}.so"

    def make(folder: Path) -> None:
        with tools.workplace() as work:
            (work / source.name).write_bytes(text)
            done = tools.run(["c++", *options, "-o", library, source.name], cwd=work)
            if done.code:
                raise RuntimeError(f"cannot build {what}: {done.output.strip()}")
            shutil.copy(work / library, folder)

    return ctypes.CDLL(str(cache.entry(source.stem, [text, compiler, *options], make) / library))
