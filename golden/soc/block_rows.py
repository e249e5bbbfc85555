"""The rows of a product, by the parts of K of its blocks."""

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Chunk", "Parts", "Span", "blocks", "chunks", "kind_of"]

Parts = tuple[str, range, int, int]
"""Rows of a matrix, of each the same part, as :class:`Span`."""


class Span(NamedTuple):
    """Rows of a matrix, of each the same part: a byte range."""

    name: str
    rows: range
    first: int
    bytes: int


class Chunk(NamedTuple):
    """A block's part of K: rows that are read, of A and of B if they are new, and rows of C.

    There are rows of C if it is the block's last part; `first` are biases and records. With A,
    there may be octaves of its blocks.
    """

    beats: int
    first: tuple[Span, ...]
    a: Span | None
    b: Span | None
    c: Span | None
    octaves: Span | None = None

    @property
    def kind(self) -> tuple[int, ...]:
        """What chunks that are alike have in common."""
        rows = (
            (0, 0) if one is None else (len(one.rows), one.bytes)
            for one in (self.a, self.b, self.c)
        )
        return self.beats, len(self.first), *(number for pair in rows for number in pair)


def blocks(spans: Iterable[Parts]) -> list[list[Parts]]:
    """Split the spans of a product, of :func:`golden.soc.blocking.spans`, into those of blocks."""
    made = [list[Parts]()]
    for one in spans:
        made[-1].append(one)
        if one[0] == "c":
            made.append([])
    return made[:-1]


def kind_of(block: Iterable[Parts]) -> tuple[object, ...]:
    """Return what the spans of blocks that are alike have in common."""
    return tuple([(name, len(rows), size) for name, rows, _, size in block])


def chunks(block: Iterable[Parts], deep: int, beats: int) -> list[Chunk]:
    """Return the parts of K of a block.

    Parameters
    ----------
    block : its spans.
    deep, beats : of K, of a part at most, and in all.
    """
    first, sides = list[Span](), dict[str, list[Span]](a=[], b=[], c=[], a_scales=[])
    for one in block:
        sides.get(one[0], first).append(Span(*one))
    (a, b, c, octaves), count = sides.values(), -(-beats // deep)
    if count > 1 and not len(a) == len(b) == count:
        raise ValueError(f"a block of {count} parts must load A and B for each")
    return [
        Chunk(
            min(deep, beats - number * deep),
            () if number else tuple(first),
            a[number] if a else None,
            b[number] if b else None,
            c[0] if number == count - 1 else None,
            octaves[number] if octaves else None,
        )
        for number in range(count)
    ]
