"""Verilator with cocotb: simulators built once and cached, runs that cannot hang."""

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from carrysave.sim.verilator_build import make
from carrysave.sim.verilator_install import environment, libraries, root, verilator_folder
from carrysave.sim.verilator_sources import Sources
from hw.emit import tools, user_files

__all__ = ["COVERAGE", "LOG", "Build", "build", "simulate", "source_text", "verilator"]

LOG = "simulation.log"
COVERAGE = "coverage.dat"
"""What a simulator that counts writes, in the folder of the run."""
_HEADERS = (".vh", ".svh", ".h")
"""Suffixes of files that others include."""
_REWRITTEN = "tb_*.py test_*.py verif/*.py carrysave/*.py"
"""Files of which pytest makes a failed assertion say what it compared; else it takes all, numpy
too, and each is loaded more slowly."""


@dataclass(frozen=True)
class Build:
    """A simulator executable, `directory`/`top`; `waves` if it can record waves.

    Members
    -------
    program : what runs it, with its options; empty if it is a program itself, as Verilator's are.
    names : the sources, by the names that the simulator has for them.
    """

    top: str
    directory: Path
    waves: bool
    program: tuple[str, ...] = ()
    names: Mapping[str, Path] = field(default_factory=dict, compare=False)


def build(
    verilog_files: Sequence[Path],
    top: str,
    *,
    waves: bool = False,
    coverage: bool = False,
    inner: Mapping[str, Sequence[str]] = MappingProxyType({}),
    inside: bool = False,
) -> Build:
    """Build a simulator of module `top`, or take it from the cache.

    Parameters
    ----------
    verilog_files : sources; their text, and not their names, decides whether a build is new. One
        that ends with .vh, .svh or .h is for the others to include.
    top : name of the top module.
    waves : build a simulator that can record waves; it is slower.
    coverage : build one that counts lines, branches and toggles of bits: :data:`COVERAGE`.
    inner : generated modules somewhere below the top, each with ports that the bench reads.
    inside : the bench reads more of the top module than its ports.

    Raises
    ------
    RuntimeError : if Verilator or the C++ compiler refuses; names the log.
    """
    included = {file.name: source_text(file) for file in verilog_files if file.suffix in _HEADERS}
    files = [file for file in verilog_files if file.suffix not in _HEADERS]
    names = {f"source{number}.v": file for number, file in enumerate(files)}
    sources = Sources(
        top=top,
        texts=[source_text(file) for file in files],
        waves=waves,
        coverage=coverage,
        included=included,
        inner=inner,
        inside=inside,
        names=names,
    )
    return Build(top=top, directory=make(sources), waves=waves, names=names)


def source_text(file: Path) -> bytes:
    """Read a source as simulators are given it."""
    return user_files.read(file, user_files.TENSORS, text=True)


def verilator(*arguments: str) -> tools.Finished:
    """Run Verilator itself, for lint."""
    with tools.workplace() as work:
        command = [str(verilator_folder() / "bin" / "verilator_bin"), *arguments]
        return tools.run(command, cwd=work, environment=environment() | root())


def simulate(
    simulator: Build,
    bench: str,
    arguments: Sequence[str],
    more: Mapping[str, str],
    *,
    directory: Path,
    deadline: float,
    poll: Callable[[], None] | None = None,
    folders: Sequence[Path] = (),
) -> int | None:
    """Run a simulator with a cocotb bench in `directory`; return its exit code, if it ended.

    Parameters
    ----------
    simulator : what to run.
    bench : the module of cocotb tests.
    arguments : of the simulator's command line.
    more : environment variables that this run has beside ours and cocotb's.
    directory : the working directory; all that is printed is in :data:`LOG` there.
    deadline : seconds after which it is killed, with all processes that it started.
    poll : called a few times a second.
    folders : where Python looks for modules first.
    """
    library, entry, folder = _cocotb()
    variables = environment() | {
        "LD_LIBRARY_PATH": os.pathsep.join(
            filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")])
        ),
        "PYTHONPATH": os.pathsep.join([
            *map(str, folders),
            *(path or str(Path.cwd()) for path in sys.path),
        ]),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{library};{entry}",
        "COCOTB_TOPLEVEL": simulator.top,
        "COCOTB_TEST_MODULES": bench,
        "TOPLEVEL_LANG": "verilog",
        # Icarus does not apply them when cocotb expects it.
        **({} if simulator.program else {"COCOTB_TRUST_INERTIAL_WRITES": "1"}),
        "COCOTB_ANSI_OUTPUT": "0",
        "COCOTB_REWRITE_ASSERTION_FILES": _REWRITTEN,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **more,
    }
    command = [*simulator.program, str(simulator.directory / simulator.top), *arguments]
    return tools.run(
        command,
        cwd=directory,
        environment=variables,
        log=directory / LOG,
        deadline=deadline,
        poll=poll,
    ).code


@functools.cache
def _cocotb() -> tuple[str, str, Path]:
    """Return Python as a library, cocotb's entry into it, and the folder of cocotb's libraries."""
    import cocotb_tools.config  # slow to load, and not all that load this module simulate
    import find_libpython

    library = os.environ.get("LIBPYTHON_LOC") or find_libpython.find_libpython()
    if library is None:
        raise RuntimeError("Python must be there as a shared library for cocotb, and is not")
    return library, cocotb_tools.config.pygpi_entry_point(), libraries()
