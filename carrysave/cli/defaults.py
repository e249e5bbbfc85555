"""Flags that are fields of a dataclass of options, and have its defaults."""

from collections.abc import Callable
from typing import TypeVar

from cyclopts import Parameter

__all__ = ["Hidden", "defaults"]

T = TypeVar("T")

Hidden = Parameter(parse=False)
"""Of a field that is no flag."""


def defaults(kind: Callable[..., T]) -> T:
    """Return the flags of a kind when none is given."""
    return kind()
