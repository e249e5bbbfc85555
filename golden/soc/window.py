"""Windows of a map: the rows of A that a convolution multiplies, made by the loader."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["Window", "walk_cycles", "walk_parts", "window_rows"]


@dataclass(frozen=True, kw_only=True)
class Window:
    """The geometry of a convolution over a map of height x width pixels of some codes of a byte.

    A row of A is a window: the codes of kernel rows, of taps, of channels. Windows go from left to
    right, `across` in a row, and from top to bottom; they may be beyond the map in part, or wholly.

    Members
    -------
    height, width, channels : of the map; the codes of a pixel are one after the other.
    across : windows in a row of windows.
    pixel : bytes from a pixel to the next; from a row of the map to the next it is the job's `lda`.
    kernel, strides, dilations : numbers of taps, and steps in pixels, down and across.
    first : pixels by which the first window begins above the map, and left of it.
    fill : the code beyond the edges.
    """

    height: int
    width: int
    across: int
    channels: int
    pixel: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    first: tuple[int, int] = (0, 0)
    fill: int = 0

    @property
    def taps(self) -> int:
        """Pixels of a window."""
        return self.kernel[0] * self.kernel[1]

    @property
    def codes(self) -> int:
        """Codes of a window, which is a row of A."""
        return self.taps * self.channels

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of the map, from its first code to its last."""
        return (self.width - 1) * self.pixel + self.channels

    @property
    def dense(self) -> bool:
        """Whether the codes of a kernel row follow each other in memory."""
        return self.dilations[1] == 1 and self.pixel == self.channels

    @property
    def between(self) -> range:
        """Windows of a row of windows that are between the map's sides."""
        first = -(-self.first[1] // self.strides[1])
        last = (self.width - self.kernel[1] + self.first[1]) // self.strides[1] + 1
        return range(first, max(first, min(last, self.across)))

    def by_rows(self, row: int) -> bool:
        """Return whether the loader walks the window of a row of A a kernel row in a step.

        A job's first window is walked tap by tap; so are those of which a block has not all.
        """
        return row > 0 and self.dense and row % self.across in self.between

    @property
    def sized(self) -> bool:
        """Whether all sizes are those of a map, of windows and of a kernel."""
        return (
            all(0 < size <= _MAP for size in (self.height, self.width, self.across))
            and all(0 < size <= _KERNEL for size in self.kernel)
            and 0 < self.channels < _MAP
        )

    @property
    def described(self) -> bool:
        """Whether a descriptor has room for steps, edges and codes."""
        return (
            all(0 <= step <= _STEP for step in (*self.strides, *self.dilations))
            and all(0 <= edge <= _EDGE for edge in self.first)
            and 0 <= self.fill <= _EDGE
            and 0 <= self.pixel < 1 << 32
        )

    @property
    def legal(self) -> bool:
        """Whether steps, edges and codes are those of a window."""
        steps = all((*self.strides, *self.dilations))
        return self.described and steps and self.channels <= self.pixel


def walk_cycles(window: Window, rows: int, taps: int) -> int:
    """Return the cycles in which the loader walks windows, if no memory stalls it.

    A tap takes as many as the step to it; a row of A one more. Of a window that is loaded in parts,
    the taps before a part are walked, too. Of others, kernel rows that are between the map's sides
    are a step each, but for those of the first one, if their codes follow each other.

    Parameters
    ----------
    window : the geometry.
    rows : of A, from the first one on.
    taps : of a part.
    """
    slow = sum(walk_parts(window, taps))
    if taps < window.taps or not window.dense:
        return rows * slow
    fast = 1 + window.strides[1] + (window.kernel[0] - 1) * window.dilations[0]
    lines, rest = divmod(rows, window.across)
    between = window.between
    inside = lines * len(between) + sum(one < rest for one in between)
    return rows * slow - (inside - (inside > 0 and 0 in between)) * (slow - fast)


def walk_parts(window: Window, taps: int) -> Iterator[int]:
    """Yield those of each part of a window."""
    along = (window.kernel[1] - 1) * window.dilations[1]
    line = along + window.dilations[0]
    for end in range(taps, window.taps + taps, taps):
        lines, rest = divmod(min(end, window.taps) - 1, window.kernel[1])
        yield 1 + window.strides[1] + lines * line + rest * window.dilations[1]


def window_rows(window: Window, image: np.ndarray, rows: int) -> np.ndarray:
    """Cut the map into windows: rows x codes.

    Parameters
    ----------
    window : the geometry.
    image : the map, height x :attr:`Window.row_bytes`.
    rows : how many windows, the last row of which may be cut.
    """
    oy, ox = np.divmod(np.arange(rows), window.across)
    ky, kx = np.divmod(np.arange(window.taps), window.kernel[1])
    y = oy[:, None] * window.strides[0] + ky * window.dilations[0] - window.first[0]
    x = ox[:, None] * window.strides[1] + kx * window.dilations[1] - window.first[1]
    inside = (y >= 0) & (y < window.height) & (x >= 0) & (x < window.width)
    places = np.where(inside, x, 0)[..., None] * window.pixel + np.arange(window.channels)
    codes = image[np.where(inside, y, 0)[..., None], places]
    return np.where(inside[..., None], codes, window.fill).reshape(rows, -1)


_MAP = 1 << 16
"""Most rows, columns and windows across; one more than the most channels."""
_KERNEL = 256
"""Most taps down, and across."""
_STEP = 15
"""Most pixels of a step."""
_EDGE = 255
"""Most pixels beyond the first edges; the greatest code."""
