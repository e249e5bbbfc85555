"""What of a sentence's attention is on chip: some heads at a time, or some rows of one head."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Held", "held"]

_GRAIN = 64
"""Alignment of matrices on chip, bytes: a beat of the widest bus."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """How attention is cut, and where its matrices are.

    Members
    -------
    heads, rows : computed at a time.
    scores : first byte on chip of scores, and of shares, which take their place row by row; None:
        all is in memory.
    mixed : of sums of values.
    turned : of keys, turned; None: these are in memory.
    """

    heads: int
    rows: int
    scores: int | None = None
    mixed: int | None = None
    turned: int | None = None

    def groups(self, heads: int) -> Iterator[range]:
        """List the heads that are computed together."""
        return _ranges(heads, self.heads)

    def chunks(self, length: int) -> Iterator[range]:
        """List the rows that are computed together."""
        return _ranges(length, self.rows)


def held(heads: int, length: int, each: int, *, chip: int, tile: int) -> Held:
    """Choose: all heads, as many as fit, rows of one, without its keys, or nothing on chip.

    Scores and sums of values take 2 bytes, keys 1; a share is no longer than a score, and exponents
    of rows take the place that is left.

    Parameters
    ----------
    heads, length, each : heads of a sentence, its tokens, values of a query.
    chip : bytes on chip.
    tile : rows that the engine multiplies at a time.
    """

    def placed(some: int, rows: int, *, keys: bool) -> Held | None:
        mixed = _up(2 * rows * some * length)
        turned = mixed + _up(2 * rows * some * each)
        end = turned + (some * each * length if keys else 0)
        if end > chip:
            return None
        return Held(heads=some, rows=rows, scores=0, mixed=mixed, turned=turned if keys else None)

    counts = sorted({-(-heads // groups) for groups in range(1, heads + 1)}, reverse=True)
    rows = [-(-length // tile // parts) * tile for parts in range(2, -(-length // tile) + 1)]
    tries = [(some, length, True) for some in counts]
    tries += [(1, some, keys) for keys in (True, False) for some in rows]
    held_by = (placed(some, most, keys=keys) for some, most, keys in tries)
    return next((one for one in held_by if one is not None), Held(heads=heads, rows=length))


def _up(size: int) -> int:
    return -(-size // _GRAIN) * _GRAIN


def _ranges(size: int, part: int) -> Iterator[range]:
    return (range(start, min(start + part, size)) for start in range(0, size, part))
