"""A job: a function and plain arguments, named by the digest of all that its result depends on."""

import functools
import hashlib
import importlib
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from pathlib import Path
from types import ModuleType
from typing import Any

import carrysave
import golden
import hw
from carrysave import cache

__all__ = ["File", "Job", "resolve", "source_digest", "tool_versions"]

_FORMAT = "1"  # of keys

Tool = Callable[[], str | None] | str
"""What says which version a tool has: a function of a module, or the name of a package."""


@dataclass(frozen=True)
class File:
    """A file as an argument of a job: a function gets the path of one with the same content.

    Workers on other machines get a copy, once each. The content counts for the key, the path does
    not.
    """

    path: Path

    @classmethod
    def keep(cls, name: str, data: bytes) -> "File":
        """Return a file of the cache that has this name and content."""
        parts = [name, hashlib.sha256(data).hexdigest()]
        folder = cache.entry("files", parts, lambda folder: _write(folder / name, data))
        return cls(folder / name)

    @property
    def sha(self) -> str:
        """The SHA-256 of its content."""
        facts = self.path.stat()
        return _sha(self.path, facts.st_size, facts.st_mtime_ns, facts.st_ino)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


@functools.lru_cache(maxsize=1024)
def _sha(path: Path, *seen: int) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@dataclass(frozen=True, kw_only=True)
class Job:
    """One piece of work, which any process on any machine may do.

    Parameters
    ----------
    function : of a module, by its name; returns plain data, as JSON has it.
    arguments : its keyword arguments: plain data, as JSON has it, and :class:`File` at any depth.
    content : what else the result depends on, such as the format of cached files. None for all of
        carrysave's source: then any change of the project makes the job a new one.
    tools : functions of modules that return the version of a tool, or names of Python packages.
        They count for the key, and a worker where one differs is refused.
    label : what a user sees of it. [default: the name of the function]
    facts : what the store says of it besides what its result has: ``design``, ``parameters``,
        ``target``, ``recipe``, ``kind``, ``tier`` and figures.
    seconds, memory : limits of time and of bytes, of this job alone; the session's if None.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    content: Sequence[str | bytes] | None = None
    tools: Sequence[Tool] = ()
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for function in (self.function, *filter(callable, self.tools)):
            # Other processes have another __main__.
            if function.__module__ == "__main__" or resolve(name_of(function)) is not function:
                raise TypeError(f"function must be one of a module, by its name, not {function!r}")

    @functools.cached_property
    def key(self) -> str:
        """The digest of all that the result depends on: 32 hexadecimal digits."""
        content = [source_digest()] if self.content is None else self.content
        versions = tool_versions(self.tools)
        head = [_FORMAT, name_of(self.function), canonical(self.arguments), canonical(versions)]
        return cache.digest([*head, *content])[:32]

    @property
    def question(self) -> str:
        """The digest of function and arguments: the same for all versions of source and tools."""
        return cache.digest([name_of(self.function), canonical(self.arguments)])[:32]

    @property
    def text(self) -> str:
        """What a user sees of it."""
        return self.label or self.function.__name__


def name_of(function: Callable[..., Any]) -> str:
    """Return ``module:name``."""
    return f"{function.__module__}:{function.__qualname__}"


def resolve(name: str) -> Callable[..., Any]:
    """Return the function of a ``module:name``.

    Raises
    ------
    TypeError
        If there is none.
    """
    module, _, path = name.partition(":")
    part_of: Any = importlib.import_module(module)
    for part in path.split("."):
        part_of = getattr(part_of, part, None)
    if not callable(part_of):
        raise TypeError(f"function must be one of a module, by its name, not {name!r}")
    return part_of


def canonical(data: Any) -> str:
    """Return plain data as the one JSON text that it has; a file is its name and digest."""

    def plain(value: Any) -> Any:
        if isinstance(value, File):
            return {"file": [value.path.name, value.sha]}
        raise TypeError(f"arguments must be plain data, as JSON has it, not {value!r}")

    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=plain)


def tool_name(tool: Tool) -> str:
    """Return what :func:`tool_named` takes."""
    return tool if isinstance(tool, str) else name_of(tool)


def tool_named(name: str) -> Tool:
    """Return the tool of a name."""
    return resolve(name) if ":" in name else name


def tool_versions(tools: Iterable[Tool]) -> dict[str, str | None]:
    """Return the version of each tool here, by its package or the module of its function."""
    return {
        tool if isinstance(tool, str) else tool.__module__.rpartition(".")[2]: _version(tool)
        for tool in tools
    }


@functools.cache
def _version(tool: Tool) -> str | None:
    if not isinstance(tool, str):
        return tool()
    try:
        return package_version(tool)
    except PackageNotFoundError:
        return None


@functools.cache
def source_digest(*packages: ModuleType) -> str:
    """Return the digest of source, in this process and on this machine.

    Parameters
    ----------
    packages : whose; all of carrysave's own if there are none.
    """
    whose = packages or (carrysave, golden, hw)
    roots = [Path(path) for package in whose for path in package.__path__]
    total: list[str | bytes] = []
    for root in roots:
        files = (path for path in root.rglob("*") if path.suffix in _SOURCES)
        for path in sorted(files):
            total += [path.relative_to(root).as_posix(), path.read_bytes()]
    return cache.digest(total)


_SOURCES = {".py", ".v", ".sv", ".cpp", ".c", ".h", ".json", ".rdl", ".tcl"}


def base_versions() -> dict[str, str | None]:
    """Return what must be the same on all machines, whatever the jobs are."""
    return {
        "python": platform.python_version(),
        "carrysave": f"{carrysave.__version__} ({source_digest()[:12]})",
    }
