"""Some windows of a job: where they are of the map, and what they read of it."""

from dataclasses import replace

from carrysave.driver.job import Job
from carrysave.driver.window import Window

__all__ = ["part_of", "reach"]


def reach(window: Window, axis: int) -> int:
    """Return the pixels from the first tap to the last one."""
    return (window.kernel[axis] - 1) * window.dilations[axis]


def part_of(whole: Job, lines: range, places: range) -> Job | None:
    """Return the job of some windows, which reads no more of the map than these need.

    Parameters
    ----------
    whole : of all.
    lines, places : rows of windows, and which of each.

    Returns
    -------
    None : they are wholly beyond the map.
    """
    window = whole.window
    assert window is not None
    sides = []
    for axis, (some, size) in enumerate(((lines, window.height), (places, window.width))):
        place = some.start * window.strides[axis] - window.first[axis]
        last = place + (len(some) - 1) * window.strides[axis] + reach(window, axis)
        first = max(place, 0)
        sides.append((first, min(last, size - 1) - first + 1, first - place))
    (y, height, top), (x, width, left) = sides
    if min(height, width) < 1:
        return None
    taken = replace(window, height=height, width=width, across=len(places), first=(top, left))
    return replace(
        whole,
        a=whole.a + y * whole.lda + x * window.pixel,
        c=whole.c + (lines.start * window.across + places.start) * whole.ldc,
        m=len(lines) * len(places),
        window=taken,
    )
