"""Blocks of code on the pages of the documentation, and what their marks say of running them.

A mark is a comment in the line above a fence. Without one, a block runs in `make test`:

- ``<!-- prove -->``: runs in `make prove`;
- ``<!-- needs a board -->``, or what else tests have not, such as half an hour: only its
  arguments are checked;
- ``<!-- file space.toml -->``: is written to that file, as the reader is told to do.

A page that takes files of the reader's own says ``<!-- given model.onnx images.npy -->`` anywhere.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "arguments", "blocks", "given", "sessions"]

RUN = ("bash", "console", "python")
"""Languages of blocks that run."""
SHOWN = ("tcl", "text", "toml", "verilog", "yaml")
"""Languages of blocks that are shown, or are files."""
_FENCE = re.compile(
    r"^(?:<!-- (?P<mark>prove|needs|file)(?: (?P<detail>[^>]*?))? -->\n)?"
    r"```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_PUNCTUATION = frozenset(";&|<>()")


@dataclass(frozen=True)
class Block:
    """A block of code.

    Members
    -------
    page : the file, and ``line`` where its text begins.
    language : of its fence.
    mark : ``prove``, ``needs``, ``file``, or empty; ``detail`` is what follows it.
    """

    page: Path
    line: int
    language: str
    text: str
    mark: str
    detail: str

    @property
    def place(self) -> str:
        """Where it is, as compilers say it."""
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Return all blocks of a page but Sphinx' directives, in order."""
    text = page.read_text()
    return [
        Block(
            page,
            text.count("\n", 0, match.start("text")) + 1,
            match["language"],
            match["text"],
            match["mark"] or "",
            match["detail"] or "",
        )
        for match in _FENCE.finditer(text)
        if not match["language"].startswith("{")
    ]


def given(page: Path) -> list[str]:
    """Return the files that a page takes from its reader."""
    return [
        name
        for found in re.findall(r"^<!-- given (.*) -->$", page.read_text(), re.M)
        for name in found.split()
    ]


def sessions(block: Block) -> Iterator[tuple[str, str]]:
    """Yield what is typed in a block, and what is then shown; of a script, nothing is shown."""
    if block.language == "bash":
        yield block.text, ""
        return
    parts = re.split(r"^\$ ", block.text, flags=re.M)
    assert not parts[0], f"{block.place}: does not begin with $"
    for part in parts[1:]:
        typed, _, shown = re.sub(r"\\\n", "\0", part).partition("\n")
        yield typed.replace("\0", "\\\n"), shown


def arguments(typed: str) -> Iterator[list[str]]:
    """Yield the words of each command of a script, without what the shell takes for itself."""
    typed = re.sub(r"\\\n", " ", typed)
    for line in typed.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        into = False
        for word in lexer:
            if _PUNCTUATION.issuperset(word):
                into = word.startswith((">", "<"))
                if not into and words:
                    yield words
                    words = []
            elif not into:
                words.append(word)
            else:
                into = False
        if words:
            yield words
