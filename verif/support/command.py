"""The command line as tests run it."""

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Outcome", "Run"]


class Outcome(NamedTuple):
    """Exit code, and what was printed."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
"""Takes arguments of the command."""
