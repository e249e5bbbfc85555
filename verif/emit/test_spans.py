"""Strings and comments are found as a reader of characters finds them, in linear time."""

import itertools
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from carrysave.asic.liberty.text import parse
from hw.emit.sources import Sources
from hw.emit.spans import Span, spans

LONG = 100_000


def read(text: str, lines: bool) -> list[Span]:
    """Find spans character by character."""
    found: list[Span] = []
    at = 0
    while at < len(text):
        start, two = at, text[at : at + 2]
        if two == "//":
            while at < len(text) and text[at] != "\n":
                at += 1
            found.append(("comment", start, at))
        elif two == "/*":
            at += 2
            while at < len(text) and text[at : at + 2] != "*/":
                at += 1
            at = min(at + 2, len(text))
            found.append(("comment", start, at))
        elif text[at] == '"':
            at += 1
            closed = False
            while at < len(text) and not closed and not (lines and text[at] == "\n"):
                escape = text[at] == "\\" and at + 1 < len(text)
                escape = escape and not (lines and text[at + 1] == "\n")
                closed = text[at] == '"'
                at += 2 if escape else 1
            found.append(("string" if closed else "open", start, at))
        else:
            at += 1
    return found


@pytest.mark.parametrize("lines", [False, True])
def test_all_short_texts(lines: bool) -> None:
    for length in range(7):
        for marks in itertools.product('"\\/*\na', repeat=length):
            text = "".join(marks)
            assert list(spans(text, lines=lines)) == read(text, lines), text


def exhaust(text: str) -> None:
    assert sum(1 for _ in spans(text, lines=False)) >= 0
    assert sum(1 for _ in spans(text, lines=True)) >= 0


def liberty(text: str) -> None:
    with pytest.raises(ValueError, match="Liberty text must"):
        parse(f"library (x) {{ {text}")


TEXTS = [
    '"' + '\\"' * LONG, '"' + "\\\\" * LONG, '"' * (2 * LONG + 1), "/*" + "*" * LONG, "/*/" * LONG,
    "/" * LONG, "/* *" * LONG, "//\\\n" * LONG, "\\" * LONG, "a" * LONG, " " * LONG, "a " * LONG,
    "a (" + "b" * LONG, "a ( " * LONG, "a :" + " " * LONG + '"', "a : " * LONG, "{" * LONG,
    ";" * LONG,
    'a ("' + '","' * LONG, "a" * LONG + " " * LONG + "]", 'a : ""' * LONG, "/**/" * LONG,
]  # fmt: skip


@pytest.mark.sample(18)
@pytest.mark.parametrize("reader", [exhaust, liberty])
@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_time_is_linear(number: int, reader: Callable[[str], None]) -> None:
    """Eight times the text takes eight times as long, not 64 times."""

    def seconds(text: str) -> float:
        start = time.process_time()
        reader(text)
        return time.process_time() - start

    text = TEXTS[number]
    short = min(seconds(text[: len(text) // 8]) for _ in range(3))
    assert seconds(text) < 24 * short + 0.1


def test_escapes_take_no_memory() -> None:
    """In one run of some: other threads of a test's process allocate, too."""
    text = '"' + '\\"' * LONG

    def peak() -> int:
        tracemalloc.start()
        exhaust(text)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert any(peak() < 10_000 for _ in range(5))


@pytest.mark.parametrize("before", ["/* *//* */", "/* a *// 2;\n", '"\\"";', '// "\n', '" \n'])
def test_includes_behind_strings_and_comments_are_seen(before: str, tmp_path: Path) -> None:
    (tmp_path / "t.v").write_text(f"{before}`include `F\n")
    with pytest.raises(ValueError, match="`include must have a name"):
        Sources.read([tmp_path / "t.v"])


@pytest.mark.parametrize("around", ["/* {} */", "// {}\n", '"{}"', "/* {}"])
def test_includes_within_them_are_none(around: str, tmp_path: Path) -> None:
    (tmp_path / "t.v").write_text(around.format("`include `F"))
    assert Sources.read([tmp_path / "t.v"]).files
