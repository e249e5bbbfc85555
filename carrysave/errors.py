"""Errors that a user can fix."""

from math import inf

__all__ = ["check_positive", "UsageError"]


class UsageError(Exception):
    """The command line, or a file it names, is invalid."""


def check_positive(option: str, value: float | None, unit: str = "") -> None:
    """Refuse anything but a finite number greater than 0."""
    if value is not None and not 0 < value < inf:
        raise UsageError(f"{option} must be greater than 0{unit}, and finite, not {value:g}")
