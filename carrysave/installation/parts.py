"""The parts of an installation: programs, libraries, folders, Python packages."""

import ctypes
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata

from carrysave import cache
from carrysave.errors import EXTRAS, elsewhere, installed, package_of, requirements
from hw.emit import tools

__all__ = ["SYSTEM", "Part", "core", "extras", "python", "system"]

_FREE = 1 << 30
"""Bytes that the cache should have room for: simulators and results."""


@dataclass(frozen=True)
class Part:
    """A part, and what is known of it.

    Members
    -------
    name : as :data:`carrysave.installation.ways.WAYS` has it.
    version : empty if it is not there.
    where : its file or folder, if it has one.
    problem : why it does not serve; empty if it does.
    remedy : what to do about that.
    """

    name: str
    version: str = ""
    where: str = ""
    problem: str = ""
    remedy: str = ""

    @property
    def ok(self) -> bool:
        """Whether it serves."""
        return not self.problem


def python() -> Part:
    """Describe Python itself."""
    wanted = _facts("Requires-Python")
    version = platform.python_version()
    problem = "" if _fits(version, wanted) else f"must be {wanted}, not {version}"
    return Part(
        "python",
        version,
        os.path.realpath(sys.executable),
        problem,
        "install carrysave with another Python" if problem else "",
    )


def system() -> list[Part]:
    """Describe what pip does not bring, in the order of :data:`SYSTEM`."""
    return [_probed(name, probe) for name, probe in SYSTEM.items()]


def core() -> list[Part]:
    """Describe the packages that carrysave cannot do without."""
    packages = [_package(name, text) for name, text, extra in _requirements() if not extra]
    return packages or [
        Part("carrysave", problem="its list of packages is not there", remedy="install it by pip")
    ]


def extras() -> dict[str, list[Part]]:
    """Describe the modules of each extra."""
    wanted = {_plain(name): text for name, text, extra in _requirements() if extra}
    return {
        extra: [_module(module, wanted, extra) for module in modules]
        for extra, modules in EXTRAS.items()
    }


def _probed(name: str, probe: Callable[[], tuple[str, str]]) -> Part:
    """Describe what a function finds: version and place."""
    try:
        version, where = probe()
    except (tools.MissingToolError, FileNotFoundError, RuntimeError, OSError) as error:
        problem, _, remedy = " ".join(str(error).split()).partition(": ")
        return Part(name, problem=problem, remedy=remedy or "see SECURITY.md and README.md")
    return Part(name, version, where)


def _program(name: str, *arguments: str) -> Callable[[], tuple[str, str]]:
    """Return what asks a program for its version."""

    def probe() -> tuple[str, str]:
        path = tools.find(name)
        with tools.workplace() as work:
            done = tools.run([path, *arguments], cwd=work, deadline=30)
        lines = done.output.strip().splitlines()
        if done.code or not lines:
            said = f"ends with {done.code}" if done.code is not None else "does not end"
            raise RuntimeError(f"{path} {' '.join(arguments)} {said}: install it again")
        return lines[0].strip(), path

    return probe


def _opensta() -> tuple[str, str]:
    from carrysave.asic import sta  # slow to load

    path = tools.find("sta")
    return sta.version(), path


def _icarus() -> tuple[str, str]:
    path = tools.find("iverilog")
    tools.find("vvp")
    return _program("iverilog", "-V")()[0], path


def _shared_python() -> tuple[str, str]:
    """Load Python as a library, as cocotb does."""
    import find_libpython

    path = os.environ.get("LIBPYTHON_LOC") or find_libpython.find_libpython()
    short = "{}.{}".format(*platform.python_version_tuple())
    remedy = f"run `sudo apt-get install libpython{short}`, or take another Python"
    if path is None:
        raise RuntimeError(f"Python {short} is not there as a shared library: {remedy}")
    try:
        ctypes.CDLL(path)
    except OSError:
        raise RuntimeError(f"{path} cannot be loaded: {remedy}") from None
    return short, path


def _osu018() -> tuple[str, str]:
    from carrysave.asic.liberty import cells  # slow to load

    path = next((path for path in cells.OSU018 if path.is_file()), None)
    if path is None:
        raise RuntimeError(
            "not there: run `make setup` in a checkout, or `sudo apt-get install"
            " qflow-tech-osu018`, or name a Liberty file"
        )
    return f"{path.stat().st_size:,} bytes", str(path)


def _temporary() -> tuple[str, str]:
    with tools.workplace() as work:
        return "can be written", str(work.parent)


def _cache() -> tuple[str, str]:
    folder = cache.folder()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RuntimeError(
            f"{folder} cannot be written ({error.strerror}): name another in CARRYSAVE_CACHE"
        ) from None
    if free < _FREE:
        raise RuntimeError(f"{folder} has {free >> 20} MB left: 1 GB at least should be free")
    return f"{free >> 30} GB free", str(folder)


SYSTEM: dict[str, Callable[[], tuple[str, str]]] = {
    "c++": _program("c++", "--version"),
    "make": _program("make", "--version"),
    "ar": _program("ar", "--version"),
    "libpython": _shared_python,
    "sta": _opensta,
    "osu018": _osu018,
    "iverilog": _icarus,
    "openFPGALoader": _program("openFPGALoader", "--Version"),
    "temporary folder": _temporary,
    "cache": _cache,
}
"""What pip does not bring, and what finds its version and place."""


def _requirements() -> Iterator[tuple[str, str, str]]:
    """Yield name, legal versions and extra of each package that carrysave asks for.

    Of what is asked for on this Python; what extras take from each other is listed for each.
    """
    for one in requirements():
        here = one.marker is None or one.marker.evaluate({"extra": ""})
        if here:
            yield one.name, str(one.specifier), ""
            continue
        assert one.marker is not None
        for extra in EXTRAS:
            if one.marker.evaluate({"extra": extra}):
                yield one.name, str(one.specifier), extra


def _facts(key: str) -> str:
    try:
        return metadata.metadata("carrysave")[key] or ""
    except (metadata.PackageNotFoundError, KeyError):
        return ""


def _package(name: str, wanted: str, remedy: str | None = None) -> Part:
    """Describe a package, which must have a version of those that are legal."""
    said = f"pip install '{name}{wanted}'" if remedy is None else remedy
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Part(name, problem="not installed", remedy=said)
    if not _fits(version, wanted):
        return Part(name, version, problem=f"must be {wanted}, not {version}", remedy=said)
    return Part(name, version)


def _module(module: str, wanted: dict[str, str], extra: str) -> Part:
    """Describe a module of an extra, by its package."""
    remedy = f"pip install 'carrysave[{extra}]'"
    name = package_of(module)
    if not installed(module):
        if others := elsewhere(name):
            return Part(
                module,
                problem=f"not for Python {platform.python_version()}",
                remedy=f"take a Python {others}, for {name}",
            )
        return Part(module, problem="not installed", remedy=remedy)
    part = _package(name, wanted.get(_plain(name), ""), remedy)
    return Part(module, part.version, "", part.problem, part.remedy)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _fits(version: str, wanted: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(wanted).contains(version, prereleases=True)
