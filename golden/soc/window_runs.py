"""What the loader reads of a map for a window: runs of pixels that follow each other in memory."""

from collections.abc import Iterator
from typing import NamedTuple

from golden.soc.window import Window

__all__ = ["Run", "WindowRuns"]


class Run(NamedTuple):
    """Some bytes of a window: where they are in the map, from its first code on; or codes of fill.

    ``end``: taps of the window, or of its part, that have been walked when it is known; ``cycles``:
    what that took from the first tap of the window on.
    """

    first: int | None
    bytes: int
    end: int
    cycles: int


class WindowRuns:
    """The runs of windows of a job.

    Pixels are one run if nothing is between them; so are those beyond the edges.

    Parameters
    ----------
    window, lda : of the job.
    """

    def __init__(self, window: Window, lda: int) -> None:
        self._window, self._lda = window, lda
        self._known: dict[tuple[int, ...], list[Run]] = {}
        """Of windows that are alike: by the taps of a part, and by what is beyond which edge."""
        (height, width), (down, across) = window.kernel, window.dilations
        self._below = (height - 1) * down - window.height + 1
        self._behind = (width - 1) * across - window.width + 1

    def of(self, row: int, taps: range) -> Iterator[Run]:
        """Yield the runs of a window, or of a part of it."""
        window = self._window
        oy, ox = divmod(row, window.across)
        top = oy * window.strides[0] - window.first[0]
        left = ox * window.strides[1] - window.first[1]
        by_rows = len(taps) == window.taps and window.by_rows(row)
        key = (
            taps.start, taps.stop, min(top, 0), max(top + self._below, 0), min(left, 0),
            max(left + self._behind, 0), by_rows,
        )  # fmt: skip
        if (known := self._known.get(key)) is None:
            along = 0 if by_rows else window.dilations[1]
            known = self._known[key] = list(self._walk(top, left, taps, along))
        at = top * self._lda + left * window.pixel
        for first, count, end, cycles in known:
            yield Run(None if first is None else at + first, count, end, cycles)

    def _walk(self, top: int, left: int, taps: range, along: int) -> Iterator[Run]:
        """Yield the runs of a window, from its first pixel on, a tap of which takes some cycles."""
        window = self._window
        begin, first, before, inside = taps.start, 0, False, False
        for tap in taps:
            ky, kx = divmod(tap, window.kernel[1])
            down, across = ky * window.dilations[0], kx * window.dilations[1]
            inside = 0 <= top + down < window.height and 0 <= left + across < window.width
            if tap > taps.start and not (
                before == inside and (not inside or (window.dense and kx > 0))
            ):
                yield self._run(first if before else None, begin, tap, taps, along)
                begin = tap
            if begin == tap:
                first = down * self._lda + across * window.pixel
            before = inside
        yield self._run(first if before else None, begin, taps.stop, taps, along)

    def _run(self, first: int | None, begin: int, end: int, taps: range, along: int) -> Run:
        window = self._window
        lines, rest = divmod(end - 1, window.kernel[1])
        line = (window.kernel[1] - 1) * along + window.dilations[0]
        cycles = lines * line + rest * along
        return Run(first, (end - begin) * window.channels, end - taps.start, cycles)
