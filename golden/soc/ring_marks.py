"""How far the parts of a co-processor are, block by block, and what blocks take that are alike."""

from collections.abc import Sequence
from itertools import islice, takewhile
from typing import NamedTuple

__all__ = ["LEAST", "Mark", "left_out", "mean"]

LEAST, _MEAN, _ENDING = 12, 8, 2
"""Blocks that are alike from which on some are left out; of how many of these the mean is; how many
of the last ones are not left out."""
_CLOSE, _MOST = 0.01, 64
"""By how much of it half of the mean may change; blocks from which on it may be any."""


class Mark(NamedTuple):
    """How far a walk is: the last row requested, the engine or the unit, the last beat written."""

    rows: int
    engine: int
    written: int


def left_out(
    kinds: Sequence[object], number: int, alike: int, marks: Sequence[Mark]
) -> tuple[int, Mark]:
    """Return how many blocks are left out, all that are alike but the last ones, and their cycles.

    None are, as long as what they take is not steady.

    Parameters
    ----------
    kinds : of all blocks.
    number : of the next one.
    alike : how many were, up to that one.
    marks : behind each that was not left out.
    """
    if alike < LEAST:
        return 0, Mark(0, 0, 0)
    half = _MEAN // 2
    last, before = (_between(marks, end, half) for end in (-1, -1 - half))
    apart = max(abs(one - other) for one, other in zip(last, before, strict=True))
    if apart > _CLOSE * max(last) and alike < _MOST:
        return 0, Mark(0, 0, 0)
    same = sum(1 for _ in takewhile(kinds[number - 1].__eq__, islice(kinds, number, None)))
    return mean(marks, max(same - _ENDING, 0), _MEAN)


def mean(marks: Sequence[Mark], skipped: int, count: int) -> tuple[int, Mark]:
    """Return how many are left out, and what they take if they do as the mean of the last ones."""
    took = (skipped * one / count for one in _between(marks, -1, count))
    return skipped, Mark(*map(round, took))


def _between(marks: Sequence[Mark], end: int, count: int) -> list[int]:
    return [one - other for one, other in zip(marks[end], marks[end - count], strict=True)]
