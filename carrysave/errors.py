"""Errors that a user can mend."""

from collections.abc import Collection
from math import inf

__all__ = ["UsageError", "check_choice", "check_positive"]


class UsageError(Exception):
    """The command line, or a file that it names, asks for something that cannot be."""


def check_choice(option: str, value: str, legal: Collection[str]) -> None:
    """Refuse what is none of the values of an option."""
    if value not in legal:
        raise UsageError(f"{option} must be one of {', '.join(legal)}, not {value!r}")


def check_positive(option: str, value: float | None, unit: str = "") -> None:
    """Refuse what is no finite number greater than 0."""
    if value is not None and not 0 < value < inf:
        raise UsageError(f"{option} must be greater than 0{unit}, and finite, not {value:g}")
