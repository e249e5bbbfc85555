"""Puts the names that a user knows into what tools say, which saw files by names of ours."""

import contextlib
import re
from collections.abc import Iterator, Mapping

from hw.emit.folders import FOLDER, PREFIX

__all__ = ["hidden", "naming", "renamed"]

_INSIDE = re.compile(rf"(?:/[\w.+-]+)*/{FOLDER}/")
_ALONE = re.compile(rf"(?:/[\w.+-]+)*/{FOLDER}(?!\w)")


def hidden(text: str) -> str:
    """Return a text without the paths of :func:`hw.emit.tools.workplace`, which nobody has."""
    if PREFIX not in text:
        return text
    return _ALONE.sub("a temporary folder", _INSIDE.sub("", text))


def renamed(text: str, names: Mapping[str, object]) -> str:
    """Return a text with other names of files.

    Parameters
    ----------
    names : what the user knows, by the name that a tool saw.
    """
    if names:
        longest = sorted(names, key=len, reverse=True)
        known = rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longest))})(?![\w-]|\.\w)"
        text = re.sub(known, lambda match: str(names[match[0]]), text)
    return hidden(text)


@contextlib.contextmanager
def naming(names: Mapping[str, object]) -> Iterator[None]:
    """Have errors name what the user has: :func:`renamed` of their text, which comes first."""
    try:
        yield
    except Exception as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (renamed(error.args[0], names), *error.args[1:])
        raise
