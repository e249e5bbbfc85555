"""Depthwise jobs: any geometry that a build takes, anywhere in a small memory."""

from dataclasses import replace
from typing import Any

import numpy as np

from golden.soc.depthwise_limits import fits, most_channels
from golden.soc.job import Error, Job
from golden.soc.job_check import matrices
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window
from verif.soc.benches import jobs
from verif.soc.benches.windows import any_window

__all__ = ["any_depthwise", "depthwise_window", "wrong_depthwise"]


def depthwise_window(spec: CoprocessorSpec, rng: np.random.Generator) -> Window:
    """Draw a geometry whose pixels are of whole beats, and which memories hold."""
    assert spec.vector is not None
    lanes = spec.vector.lanes
    while True:
        drawn = any_window(rng)
        window = replace(drawn, pixel=-(-drawn.channels // lanes) * lanes)
        if fits(spec, window) and window.channels <= most_channels(spec):
            return window


def any_depthwise(
    spec: CoprocessorSpec, rng: np.random.Generator, window: Window | None = None
) -> Job:
    """Draw a job of windows; the last row of them is whole at most times."""
    one = window or depthwise_window(spec, rng)
    rows = int(rng.integers(1, 6)) * one.across
    if not rng.integers(4):
        rows = max(rows - int(rng.integers(one.across)), 1)
    more: dict[str, Any] = {"bias": spec.bias and bool(rng.integers(2))}
    more["records"] = spec.requantises_columns and bool(rng.integers(2))
    more["table"] = spec.table and more["records"] and bool(rng.integers(2))
    more["requantisation"] = jobs.requantisation(rng)
    drawn = jobs.draw(spec, rng, 1, one.channels, one.codes, c_bytes=0, **more)
    job = replace(drawn, m=rows, vector="depthwise", window=one)
    lda = one.row_bytes + (int(rng.integers(0, 9)) if rng.integers(2) else 0)
    ldc = job.n + (int(rng.integers(0, 9)) if rng.integers(2) else 0)
    job = replace(job, lda=lda, ldc=ldc, ldb=int(rng.integers(1 << 31)))
    place = int(rng.integers(64))
    places: dict[str, Any] = {}
    for name, matrix in matrices(spec, job).items():
        if name == "table":  # behind the records
            place = places["records"] + spec.RECORD_BYTES * job.n + matrix.columns
            continue
        places[name] = place
        place += (matrix.rows - 1) * matrix.distance + matrix.row_bytes + int(rng.integers(40))
    assert place <= jobs.SIZE, "the matrices do not fit into the memory"
    return replace(job, **places)


def wrong_depthwise(
    spec: CoprocessorSpec, rng: np.random.Generator, high: int
) -> tuple[Job, list[tuple[Error, Job]]]:
    """Return a job, and what is wrong with changes of it; `high` is where memory ends."""
    assert spec.vector is not None
    lanes, beats = spec.vector.lanes, spec.vector.beats
    window = Window(
        height=5, width=6, across=6, channels=lanes + 1, pixel=2 * lanes, kernel=(3, 2),
        first=(1, 0),
    )  # fmt: skip
    good = replace(any_depthwise(spec, rng, window), m=30)
    good = replace(good, ldc=good.n, bias=None, records=None, table=False)
    ends = {name: one.end - one.address for name, one in matrices(spec, good).items()}

    def of(k: int = good.k, **changes: Any) -> Job:
        return replace(good, k=k, window=replace(window, **changes))

    n, parts = window.channels, -(-200 // spec.taps)
    tall = beats // 2 + 1
    wide = 2 * spec.vector.length // window.pixel + 1
    return good, [
        (Error.DIMENSION, replace(good, m=0)),
        (Error.DIMENSION, replace(good, k=0)),
        (Error.DIMENSION, replace(good, n=1 << spec.dimension_width)),
        (Error.MODE, replace(good, window=None)),
        (Error.MODE, replace(good, requantisation=None)),
        (Error.MODE, replace(good, a_format=1)),
        (Error.MODE, replace(good, b_format=1)),
        (Error.MODE, replace(good, accumulate=True)),
        (Error.MODE, replace(good, by_columns=True)),
        (Error.MODE, replace(good, vector="map_add")),
        (Error.MODE, replace(good, block_m=1)),
        (Error.WINDOW, of(strides=(0, 1))),
        (Error.WINDOW, of(dilations=(1, 0))),
        (Error.WINDOW, of(pixel=2 * lanes + 1)),
        (Error.WINDOW, of(pixel=3 * lanes)),
        (Error.WINDOW, replace(good, n=n - 1)),
        (Error.WINDOW, replace(good, k=good.k + 1)),
        (Error.WINDOW, replace(good, k=good.k - 1)),
        (Error.LONG_ROW, _long(spec, good)),
        (Error.LEADING_DIMENSION, replace(good, lda=window.row_bytes - 1)),
        (Error.LEADING_DIMENSION, replace(good, ldc=n - 1)),
        (Error.WRAPS, replace(good, a=high - ends["a"] + 1)),
        (Error.WRAPS, replace(good, b=high - ends["b"] + 1)),
        (Error.WRAPS, replace(good, c=high - ends["c"] + 1)),
        (Error.BLOCKS, of(across=beats // 2 + 1)),
        (Error.BLOCKS, of(kernel=(tall, 2), k=tall * 2 * n)),
        (Error.BLOCKS, of(kernel=(-(-beats // (2 * parts)) + 1, 200),
                          k=(-(-beats // (2 * parts)) + 1) * 200 * n)),
        (Error.BLOCKS, replace(of(width=wide, height=1), lda=wide * window.pixel)),
        (Error.BLOCKS, _of_channels(good, (beats // 15 + 1) * lanes, dilations=(1, 15))),
    ]  # fmt: skip


def _long(spec: CoprocessorSpec, job: Job) -> Job:
    """Return a job of one channel too many."""
    assert spec.vector is not None
    n, lanes = most_channels(spec) + 1, spec.vector.lanes
    return _of_channels(job, n, pixel=-(-n // lanes) * lanes)


def _of_channels(job: Job, n: int, **changes: Any) -> Job:
    """Return a job of so many channels."""
    assert job.window is not None
    window = replace(job.window, **{"channels": n, "pixel": n, **changes})
    return replace(job, n=n, k=window.codes, lda=window.row_bytes, ldc=n, window=window)
