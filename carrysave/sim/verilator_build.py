"""Compiles simulators by Verilator: what a design takes beside its run-time library, and that.

It is what cocotb's runner does for Verilator, without a process that imports cocotb, and with it
pytest, only to start another.
"""

import contextlib
import functools
import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from filelock import FileLock

from carrysave import cache
from carrysave.sim.verilator_install import (
    compiler,
    environment,
    libraries,
    root,
    verilator_folder,
)
from carrysave.sim.verilator_sources import ARGUMENTS, INSIDE, Sources, control
from hw.emit import tools
from hw.emit.naming import renamed

__all__ = ["make", "versions"]


# -Os takes twice as long to compile and runs no faster, cocotb being the slower side.
_FAST = "-O1"
_GCC = "-fdisable-rtl-combine"
"""GCC's combiner takes time that is quadratic in the size of a function: 83 of 87 seconds for the
compressors of one requantiser of 33 bits."""
_LOG = "build.log"
_ARCHIVE, _HEADERS = "runtime.a", "runtime.h"
_OBJECTS = ("verilated.o", "verilated_dpi.o", "verilated_vpi.o", "verilated_threads.o")
_WAVES, _COVERAGE = "verilated_vcd_c.o", "verilated_cov.o"
"""Of the run-time library; what records waves or counts is one more each."""
_INCLUDES = """\
#include "verilated.h"
#include "verilated_dpi.h"
#include "verilated_vpi.h"
"""
"""What every C++ file includes: precompiled once, with GCC, for all designs. A small design then
compiles in a third of the time, of which these headers took the rest."""
_EMPTY = b"module empty(input i); endmodule\n"


def make(sources: Sources) -> Path:
    """Return the folder of a simulator, built or from the cache.

    Raises
    ------
    RuntimeError
        If Verilator or the C++ compiler refuses; names the log.
    """
    parts: list[str | bytes] = [*versions(), sources.top, str(sources.waves), *sources.texts]
    if sources.coverage:
        parts.append("coverage")
    if sources.included or sources.inner or sources.inside:
        facts = [list(sources.included), dict(sources.inner), sources.inside]
        parts += [json.dumps(facts), *sources.included.values()]

    def fill(folder: Path) -> None:
        with tools.workplace() as work:
            runtime = _runtime(waves=sources.waves, coverage=sources.coverage)
            _link(work, {"runtime": runtime})
            sources.write(work)
            _run(sources, sources.commands, work, runtime=True)
            _copy([work / sources.top, work / _LOG], folder)

    with _alone(parts):
        return cache.entry("simulate", parts, fill)


def _runtime(*, waves: bool = False, coverage: bool = False) -> Path:
    """Return the folder of Verilator's run-time library and headers, compiled once for all designs.

    They take several seconds to compile, a small design well under one. The library with waves, or
    with counts, is that without, and one object more each.
    """
    parts = [*versions(), str(waves), "runtime", *(["coverage"] if coverage else [])]
    more = [*([_WAVES] if waves else []), *([_COVERAGE] if coverage else [])]
    plain = _runtime() if more else None
    sources = Sources(top="empty", texts=[_EMPTY], waves=waves, coverage=coverage)

    def fill(folder: Path) -> None:
        if plain is not None:
            shutil.copy(plain / _ARCHIVE, folder)
        with tools.workplace() as work:
            _link(work)
            sources.write(work)
            headers = [work / f"{_HEADERS}{end}" for end in ("", ".fast", ".slow")]
            for path in headers:
                path.write_text(_INCLUDES)
            translate, compile_ = sources.commands
            compile_ += more or _OBJECTS
            if _precompiles():
                compile_ += [f"{_HEADERS}.{speed}.gch" for speed in ("fast", "slow")]
            _run(sources, (translate, compile_), work, runtime=False)
            objects = sorted(path.name for path in work.glob("verilated*.o"))
            (work / "archive").symlink_to(folder)
            tools.run(["ar", "rcs", f"archive/{_ARCHIVE}", *objects], cwd=work)
            _copy([*headers, *work.glob(f"{_HEADERS}.*.gch"), work / _LOG], folder)

    with _alone(parts):
        return cache.entry("simulate", parts, fill)


def _link(work: Path, more: Mapping[str, Path] | None = None) -> None:
    """Link all that is outside: neither Verilator's makefiles nor the shell take any path."""
    links = {
        "python": Path(sys.executable),
        "verilator": verilator_folder(),
        "cocotb": libraries().parent,
    }
    for name, path in {**links, **(more or {})}.items():
        (work / name).symlink_to(path)


def _run(sources: Sources, commands: Sequence[Sequence[str]], work: Path, *, runtime: bool) -> None:
    """Run the commands of a build."""
    log = work / _LOG
    variables = _make_variables(runtime).items()
    flags = " ".join(f"{key}={_escape(value)}" for key, value in variables)
    whole_environment = environment() | root("./verilator") | {"MAKEFLAGS": flags}
    for command in commands:
        if tools.run(command, cwd=work, environment=whole_environment, log=log).code:
            text = renamed(log.read_text(errors="replace"), sources.names)
            lines = text.splitlines()
            errors = [line for line in lines if re.search(r"%Error|\berror\b", line)]
            first = (errors or lines or ["?"])[0]
            copy = cache.write(cache.folder() / "simulate" / f"{sources.top}.log", text)
            raise RuntimeError(f"cannot build {sources.top}: {first}; see {copy}")


def _copy(files: Sequence[Path], folder: Path) -> None:
    for path in files:
        shutil.copy(path, folder)


def _precompiles() -> bool:
    """Return whether headers are precompiled once for all designs, which clang does its own way."""
    return "clang" not in compiler()


def _make_variables(runtime: bool) -> dict[str, str]:
    """Return make's variables for the compiler, and for the run-time library if there is one."""
    variables = {"PYTHON3": "./python", "OPT_FAST": _FAST, "OPT_SLOW": ""}
    if runtime:
        archive = f"runtime/{_ARCHIVE}"
        variables |= {"VM_GLOBAL_FAST": "", "VM_GLOBAL_SLOW": "", "USER_LDLIBS": archive}
    if not _precompiles():
        # The wheel leaves this empty, and designs of several C++ files then fail to compile.
        return variables | {"CFG_CXXFLAGS_PCH_I": "-include"}
    variables["OPT_FAST"] += f" {_GCC}"
    include = "-include Vtop__pch.h"
    variables |= {"VK_PCH_H": _HEADERS, "VK_PCH_I_FAST": include, "VK_PCH_I_SLOW": include}
    if not runtime:
        return variables | {"VM_PARALLEL_BUILDS": "1"}  # without, headers are not precompiled
    for speed in ("fast", "slow"):
        variables[f"OPT_{speed.upper()}"] += f" -include runtime/{_HEADERS}.{speed}"
    return variables | {"VK_PCH_H": f"runtime/{_HEADERS}"}


@functools.cache
def versions() -> tuple[str, ...]:
    """Name everything beside the Verilog that a build depends on."""
    return (
        metadata.version("verilator"),
        metadata.version("cocotb"),
        compiler(),
        sys.prefix,
        json.dumps([ARGUMENTS, INSIDE, control("", {}), _INCLUDES, _make_variables(False)]),
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


def _escape(value: str) -> str:
    """Quote a value for MAKEFLAGS, which splits at spaces."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ").replace("$", "$$")
