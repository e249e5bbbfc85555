"""Depthwise jobs: a window of one channel at a time, by the multipliers of a lane."""

from collections.abc import Iterator

import numpy as np

from golden.formats.integer import IntFormat
from golden.soc.window import Window, window_rows

__all__ = [
    "DEPTHWISE",
    "at_once",
    "groups_of",
    "passes_of",
    "rows_read",
    "sums",
]

DEPTHWISE = "depthwise"
"""The operation's name."""
_CODE = IntFormat(width=8)


def sums(
    window: Window, image: np.ndarray, weights: np.ndarray, bias: np.ndarray, rows: int
) -> np.ndarray:
    """Return the sums of windows: int64, rows x channels.

    Codes are two's complement bytes, less that of `window.fill`, which is 0: so what is beyond the
    edges adds nothing.

    Parameters
    ----------
    window : the geometry; weights go by its taps.
    image : the map's bytes, height x :attr:`Window.row_bytes`.
    weights : bytes, taps x channels.
    bias : one for each channel.
    rows : how many windows, the last row of which may be cut.
    """
    codes = _CODE.wrap(window_rows(window, image, rows)) - _CODE.wrap(np.array(window.fill))
    products = codes.reshape(rows, window.taps, window.channels) * _CODE.wrap(weights)
    return np.asarray(products.sum(axis=1) + bias, dtype=np.int64)


def groups_of(window: Window, lanes: int) -> int:
    """Return the groups of channels, one for each lane."""
    return -(-window.channels // lanes)


def passes_of(window: Window, taps: int) -> int:
    """Return how often a row of the map is read for a kernel row, `taps` of it at a time."""
    return -(-window.kernel[1] // taps)


def at_once(window: Window, tap_rows: int) -> bool:
    """Return whether a row of the map is read once, for all rows of windows that it is in.

    These are no more than `tap_rows`, and more than one. Where the kernel's rows are apart, the map
    is read for each row of windows.
    """
    (kh, _), (stride, _), (step, _) = window.kernel, window.strides, window.dilations
    return step == 1 and stride < kh <= stride * tap_rows


def rows_read(window: Window, rows: int, tap_rows: int = 1) -> Iterator[tuple[int, int]]:
    """Yield for each row of windows how many there are, and the rows of the map that are read.

    Those beyond the edges are left out; where all are, one is read, of which nothing is added.
    Where rows are read once (:func:`at_once`), these are the ones after those of the row of windows
    before, and one is read in place of each that is beyond the edges.
    """
    if at_once(window, tap_rows):
        for oy in range(-(-rows // window.across)):
            lines = window.strides[0] if oy else window.kernel[0]
            yield min(window.across, rows - oy * window.across), lines
        return
    for oy in range(-(-rows // window.across)):
        top = oy * window.strides[0] - window.first[0]
        inside = sum(
            0 <= top + ky * window.dilations[0] < window.height for ky in range(window.kernel[0])
        )
        yield min(window.across, rows - oy * window.across), max(inside, 1)
