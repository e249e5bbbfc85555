"""Files that are broken on purpose: a reader reads them, or refuses them in one line.

Hypothesis breaks good files and shrinks what a reader fails on. In `make test` it always breaks
them alike; in `make prove` by the date, for minutes.
"""

import copy
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from carrysave.errors import UsageError

__all__ = [
    "LONG",
    "MINUTE",
    "NUMBERS",
    "SHORT",
    "broken",
    "budgets",
    "edited",
    "fuzz",
    "little_memory",
    "minutes",
]

NUMBERS = (
    b"0", b"-1", b"1", b"2", b"255", b"65536", b"4294967296", b"9223372036854775808",
    b"18446744073709551616", b"1000000000000", b"1e400", b"-1e400", b"nan", b"inf", b"1e-400",
    b"0x10", b"9" * 5000,
)  # fmt: skip
"""Numbers that readers of text stumble over."""

_MARKS = (
    b"\0", b"\n", b"\x1b[2J", b"\xff", b"\xe2\x80\xae", b'"', b"'", b"\\", b"{", b"}", b"[", b"]",
    b"(", b")", b":", b";", b",", b"../", b"/dev/zero", b"(" * 3000, b"[" * 3000, b"{" * 3000,
    b"null", b"\x7f\xff\xff\xff", b"\xff" * 8, b"\0" * 8,
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1,
        2,
        7,
        1 << 31,
        1 << 40,
        1 << 80,
        1.5,
        float("nan"),
        float("inf"),
        "",
        "a",
    ),
    *("U99999999", "../x", "/dev/zero", "\x1b\n", [], [None], {}, {"a": 1}),
)
_SECONDS = 5
_BYTES = 1 << 30

SHORT, MINUTE, LONG = 1, 60, 600
"""Seconds of one format in `make test`, and in `make prove`: of small formats, and of others."""


def _budgets(long: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "seconds", [SHORT, pytest.param(long, marks=pytest.mark.prove)], ids=["short", "long"]
    )


budgets, minutes = _budgets(LONG), _budgets(MINUTE)


@st.composite
def broken(
    draw: st.DrawFn, good: Sequence[bytes], words: Sequence[bytes] = NUMBERS, most: int = 4
) -> bytes:
    """Change a good file in a few places: flip, cut, remove, repeat, splice, put words.

    Parameters
    ----------
    good : files to begin with; pieces of one come into another.
    words : bytes that mean something to the reader, beside marks and numbers.
    most : changes; it may be none.
    """
    data = bytearray(draw(st.sampled_from(good)))
    for _ in range(draw(st.integers(0, most))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.integers(1, 40))
        match draw(st.sampled_from(("flip", "cut", "remove", "repeat", "splice", "put", "over"))):
            case "flip":
                for place in range(at, min(at + 1, len(data))):
                    data[place] ^= draw(st.integers(1, 255))
            case "cut":
                del data[at:]
            case "remove":
                del data[at : at + size]
            case "repeat":
                data[at:at] = data[at : at + size] * draw(st.integers(1, 200))
            case "splice":
                other = draw(st.sampled_from(good))
                start = draw(st.integers(0, len(other)))
                data[at : at + draw(st.integers(0, 40))] = other[start : start + size]
            case put:  # or over
                word = draw(st.sampled_from((*words, *_MARKS)) | st.binary(max_size=8))
                data[at : at + (len(word) if put == "over" else 0)] = word
    return bytes(data)


@st.composite
def edited(draw: st.DrawFn, good: Sequence[Any], values: Sequence[Any] = ()) -> Any:
    """Change what JSON holds in a few places, by another value, or by leaving something out.

    Parameters
    ----------
    good : values to begin with, as of ``json.loads``; they stay as they are.
    values : that mean something to the reader, beside others.
    """
    whole = copy.deepcopy(draw(st.sampled_from(good)))
    for _ in range(draw(st.integers(0, 3))):
        if not (within := _places(whole)):
            break
        *path, last = draw(st.sampled_from(within))
        inside = whole
        for step in path:
            inside = inside[step]
        if draw(st.booleans()):
            inside[last] = copy.deepcopy(draw(st.sampled_from((*values, *_VALUES))))
        else:
            del inside[last]
    return whole


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all that is in a value."""
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    return [*([path] if path else []), *(p for key, v in inside for p in _places(v, (*path, key)))]


def fuzz(
    read: Callable[[bytes], object],
    files: st.SearchStrategy[bytes],
    seconds: float,
    known: Sequence[bytes] = (),
    refusals: tuple[type[Exception], ...] = (UsageError, ValueError),
) -> None:
    """Have files read: each is read, or refused in one line, with little time and memory.

    Parameters
    ----------
    read : takes the bytes of a file.
    files : see :func:`broken`.
    seconds : :data:`SHORT`, :data:`MINUTE` or :data:`LONG`.
    known : files that once were failed on; they come first.
    refusals : what it may raise.
    """

    def check(data: bytes) -> None:
        start = time.process_time()
        try:
            read(data)
        except refusals as error:
            line = " ".join(str(error).split())
            assert line
            assert "must be less deep, or smaller" not in line, line
            assert "llocate" not in line, line
        took = time.process_time() - start
        assert took < _SECONDS, f"took {took:.1f} s"

    with little_memory():
        for data in known:
            check(data)
    end = time.monotonic() + seconds
    number = int(date.today().strftime("%Y%m%d")) if seconds > SHORT else 1
    while time.monotonic() < end:
        print(f"seed {number}")
        # What Hypothesis keeps of a hundred files is not what the next one takes.
        with little_memory():
            _round(check, files, number, end)
        number += 100_000_000


def _round(
    check: Callable[[bytes], None], files: st.SearchStrategy[bytes], number: int, end: float
) -> None:
    """Try a hundred files, or fewer if time is over."""
    found = False

    @seed(number)
    @settings(
        max_examples=100,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(files)
    def one(data: bytes) -> None:
        nonlocal found
        # What is found is made smaller, whatever the time.
        if found or time.monotonic() < end:
            found = True
            check(data)
            found = False

    one()


@contextmanager
def little_memory() -> Iterator[None]:
    """Let this process take a gigabyte more than it has, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
