"""Windows side by side as one row of A: a convolution of few channels reads fewer, longer rows.

A row of windows whose results are neighbours has the codes of all of them, and B a column for each
result: those that a window does not have are multiplied by 0. C is the same, byte by byte.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from carrysave.compiler.program.windows import Map, fits
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.timed_blocks import window_cycles
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from carrysave.driver.job import Job
from carrysave.driver.window import Window

__all__ = ["bundled", "wider"]

_COUNTS = (2, 4, 8)
_CLOSE, _BETTER = 1.1, 0.98
"""Times the array's cycles: what takes less is left as it is; and the cycles of fewer windows."""
_PLACES = {"a": 0, "b": 1 << 26, "c": 1 << 27, "bias": 1 << 28, "records": 1 << 29}


def bundled(work: Work, map_: Map, target: Target) -> tuple[Work, Map, int]:
    """Return a work and its windows, so many in a row of A as take the fewest cycles; the number.

    It is one where results are not whole beats, memory is SDRAM, or the array limits the product.
    """
    best = work, map_, 1
    beats = work.b.shape[1] % target.spec.bytes == 0
    if target.memory.sdram is not None or not beats or not _is_late(work, map_, target):
        return best
    price = _cycles(work, map_, target)
    for count in _COUNTS:
        made = wider(map_.window, count)
        if made is None or not fits(made, target):
            continue
        rows = replace(map_, window=made, rows=map_.rows // count)
        other = _work(work, map_.window, count)
        if (took := _cycles(other, rows, target)) < _BETTER * price:
            best, price = (other, rows, count), took
    return best


def _is_late(work: Work, map_: Map, target: Target) -> bool:
    """Return whether the array waits for the loader."""
    stores, window = target.info.stores, map_.window
    tiles = -(-map_.rows // stores.tile_m) * -(-work.b.shape[1] // stores.tile_n)
    loaded = window_cycles(window, map_.rows, stores, window.taps)
    return loaded > _CLOSE * tiles * max(window.codes, stores.tile_m)


def wider(window: Window, count: int) -> Window | None:
    """Return windows with the codes of so many, side by side; None: there are no such ones."""
    if window.across % count or window.dilations[1] > 1:
        return None
    made = replace(
        window, across=window.across // count,
        kernel=(window.kernel[0], window.kernel[1] + (count - 1) * window.strides[1]),
        strides=(window.strides[0], count * window.strides[1]),
    )  # fmt: skip
    return made if made.sized and made.legal else None


def _work(work: Work, window: Window, count: int) -> Work:
    """Return the work of wider windows, whose columns are those of each window."""
    (height, width), step = window.kernel, window.strides[1]
    b = np.asarray(work.b).reshape(height, width, window.channels, -1)
    made = np.zeros(
        (height, width + (count - 1) * step, window.channels, count, b.shape[3]), b.dtype
    )
    for number in range(count):
        made[:, number * step : number * step + width, :, number] = b
    bias = None if work.bias is None else np.tile(work.bias, count)
    how = work.requantisation
    if how is not None and how.per_column:
        columns: dict[str, Any] = {
            name: np.tile(np.broadcast_to(getattr(how, name), b.shape[3]), count)
            for name in ("multiplier", "shift", "zero_point")
        }
        how = replace(how, **columns)
    return replace(work, b=made.reshape(-1, count * b.shape[3]), bias=bias, requantisation=how)


def _cycles(work: Work, map_: Map, target: Target) -> int:
    """Return the cycles of a product."""
    n, window = work.b.shape[1], map_.window
    how: Requantisation | None = work.requantisation
    recorded = how is not None and how.recorded
    job = Job(
        a=_PLACES["a"], b=_PLACES["b"], c=_PLACES["c"], m=map_.rows, n=n, k=window.codes,
        lda=map_.distance, ldb=n, ldc=n, window=window, requantisation=how,
        bias=None if work.bias is None else _PLACES["bias"],
        records=_PLACES["records"] if recorded else None, block_m=1, block_n=1, block_k=1,
    )  # fmt: skip
    return job_cycles(planned(job, target), target)
