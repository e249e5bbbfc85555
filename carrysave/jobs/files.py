"""Files in the arguments of a job that goes to another machine: they travel beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carrysave.jobs.job import File

__all__ = ["files_of", "with_files", "without_files"]


def files_of(value: Any) -> list[File]:
    """Return the files in arguments."""
    if isinstance(value, File):
        return [value]
    if isinstance(value, dict):
        return [file for item in value.values() for file in files_of(item)]
    if isinstance(value, list | tuple):
        return [file for item in value for file in files_of(item)]
    return []


@dataclass(frozen=True)
class Named:
    """A file that travels beside an order."""

    sha: str


def without_files(value: Any) -> Any:
    """Return arguments with the digests of files in place of paths, which say nothing elsewhere."""
    if isinstance(value, File):
        return Named(value.sha)
    if isinstance(value, dict):
        return {key: without_files(item) for key, item in value.items()}
    return [without_files(item) for item in value] if isinstance(value, list | tuple) else value


def with_files(value: Any, stored: Mapping[str, File]) -> Any:
    """Return arguments with the files that were kept here, by the digests of those named."""
    if isinstance(value, Named):
        return stored[value.sha]
    if isinstance(value, dict):
        return {key: with_files(item, stored) for key, item in value.items()}
    return (
        [with_files(item, stored) for item in value] if isinstance(value, list | tuple) else value
    )
