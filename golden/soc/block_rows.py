"""The rows of a product, by the parts of K of its blocks."""

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Chunk", "Span", "chunks"]


class Span(NamedTuple):
    """Rows of a matrix, of each the same part: a byte range."""

    name: str
    rows: range
    first: int
    bytes: int


class Chunk(NamedTuple):
    """A block's part of K: rows that are read, of A and of B if they are new, and rows of C.

    There are rows of C if it is the block's last part; `first` are biases and records.
    """

    beats: int
    first: tuple[Span, ...]
    a: Span | None
    b: Span | None
    c: Span | None

    @property
    def kind(self) -> tuple[int, ...]:
        """What chunks that are alike have in common."""
        rows = (
            (0, 0) if one is None else (len(one.rows), one.bytes)
            for one in (self.a, self.b, self.c)
        )
        return self.beats, len(self.first), *(number for pair in rows for number in pair)


def chunks(
    spans: Iterator[tuple[str, range, int, int]], deep: int, beats: int
) -> Iterator[list[Chunk]]:
    """Yield the parts of K of each block.

    Parameters
    ----------
    spans : of :func:`golden.soc.blocking.spans`.
    deep, beats : of K, of a part at most, and in all.
    """
    first, a, b = list[Span](), list[Span](), list[Span]()
    for one in spans:
        name = one[0]
        if name != "c":
            {"a": a, "b": b}.get(name, first).append(Span(*one))
            continue
        count = -(-beats // deep)
        if count > 1 and not len(a) == len(b) == count:
            raise ValueError(f"a block of {count} parts must load A and B for each")
        yield [
            Chunk(
                min(deep, beats - number * deep),
                () if number else tuple(first),
                a[number] if a else None,
                b[number] if b else None,
                Span(*one) if number == count - 1 else None,
            )
            for number in range(count)
        ]
        first, a, b = [], [], []
