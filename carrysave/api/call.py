"""What all public calls have in common: errors with Python's names, progress, the call as text."""

import contextlib
import functools
import io
from collections.abc import Callable, Iterator
from os import PathLike, fspath
from typing import Any, ParamSpec, TypeVar

from carrysave.api.result import Result
from carrysave.errors import ArgumentError, UsageError
from carrysave.progress import Steps

__all__ = ["public", "telling"]

P = ParamSpec("P")
R = TypeVar("R")

_LONGEST = 200
"""Characters of an argument."""
_QUIET = ("progress",)
"""Arguments that change no result."""


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function public: its errors name arguments, and its results how they were asked for.

    Raises
    ------
    ArgumentError
        For what would be a :class:`UsageError` of the command line.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            result = function(*arguments, **named)
        except ArgumentError:
            raise
        except UsageError as error:
            raise ArgumentError.of_options(str(error)) from None
        if isinstance(result, Result):
            result.command = _called(function, arguments, named)
        return result

    return call


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Write a call as Python."""
    texts = [*map(_text, arguments)]
    texts += [f"{name}={_text(value)}" for name, value in named.items() if name not in _QUIET]
    if "." in function.__qualname__:  # a method
        return f"{texts[0]}.{function.__name__}({', '.join(texts[1:])})"
    return f"carrysave.{function.__name__}({', '.join(texts)})"


def _text(value: Any) -> str:
    """Write an argument; of an array its shape."""
    shape = getattr(value, "shape", None)
    if isinstance(value, PathLike):
        value = fspath(value)
    text = repr(value) if shape is None else f"<array of {' x '.join(map(str, shape))}>"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


@contextlib.contextmanager
def telling(progress: Steps | bool) -> Iterator[Steps]:
    """Return what says how far work is: on stderr if wanted, to nobody, or to whom is given."""
    from rich.console import Console

    if isinstance(progress, Steps):
        yield progress
        return
    with Steps(Console(stderr=True) if progress else Console(file=io.StringIO())) as steps:
        yield steps
