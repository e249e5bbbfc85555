"""Takes the text of LEF apart: blocks, and statements in them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hw.emit.user_files import FileError, read_text

__all__ = ["blocks", "statements"]

_TOKEN = re.compile(r'"[^"]*"|;|[^\s;"]+')
_KINDS = ("LAYER", "VIA", "VIARULE", "MACRO", "SITE")


def blocks(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield layers, vias, rules of vias, macros and sites: kind, name, words up to their END.

    Raises
    ------
    FileError
        A block does not end.
    """
    text = "\n".join(line.partition("#")[0] for line in read_text(path).splitlines())
    words = iter(_TOKEN.findall(text))
    for word in words:
        if word == "PROPERTYDEFINITIONS":  # has words that begin blocks elsewhere
            while next(words, word) != word:
                pass
        if word not in _KINDS:
            continue
        name, inside = next(words, ""), list[str]()
        for inner in words:
            if inner == name and inside and inside[-1] == "END":
                yield word, name, inside[:-1]
                break
            inside.append(inner)
        else:
            raise FileError(path, f"{word} {name} has no END")


def statements(words: Sequence[str]) -> list[list[str]]:
    """Split words into statements, without the ends of tables among them."""
    every: list[list[str]] = [[]]
    ended = False
    for word in words:
        if ended or (word == "END" and not every[-1]):
            ended = not ended  # the table's name comes behind
        elif word == ";":
            every.append([])
        else:
            every[-1].append(word)
    return [one for one in every if one]
