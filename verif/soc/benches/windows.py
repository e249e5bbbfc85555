"""Jobs whose A is made of the windows of a map: any geometry, with blocks that fit."""

from dataclasses import replace
from typing import Any

import numpy as np

from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window
from verif.soc.benches import jobs

__all__ = ["any_window", "any_windowed", "touched", "windowed"]


def any_window(rng: np.random.Generator, most: int = 9) -> Window:
    """Draw a geometry: most of few pixels, some of one, of large kernels, wholly beyond the map."""
    height, width = (int(rng.integers(1, most + 1)) if rng.random() < 0.8 else 1 for _ in range(2))
    kernel = [int(rng.integers(1, 4)) for _ in range(2)]
    if rng.random() < 0.2:
        kernel[int(rng.integers(2))] = int(rng.integers(1, 12))
    channels = int(rng.integers(1, 10)) if rng.random() < 0.8 else int(rng.integers(1, 40))
    strides, dilations = (
        tuple(int(rng.integers(1, 4)) if rng.random() < 0.5 else 1 for _ in range(2))
        for _ in range(2)
    )
    edge = 20 if rng.random() < 0.1 else 4
    return Window(
        height=height,
        width=width,
        across=int(rng.integers(1, most + 1)),
        channels=channels,
        pixel=channels + (int(rng.integers(0, 9)) if rng.integers(2) else 0),
        kernel=(kernel[0], kernel[1]),
        strides=(strides[0], strides[1]),
        dilations=(dilations[0], dilations[1]),
        first=(int(rng.integers(edge)), int(rng.integers(edge))),
        fill=int(rng.integers(256)),
    )


def windowed(
    spec: CoprocessorSpec, rng: np.random.Generator, job: Job, window: Window, free: int
) -> Job:
    """Make a product one of windows, whose map is at a free place; blocks are any that fit.

    Parameters
    ----------
    job : with m and n, and matrices that are right for k codes of a window.
    """
    blocks: dict[str, Any] = {}
    while not blocks:
        up, across = (int(rng.integers(1, most + 1)) for most in spec.default_blocks()[:2])
        taps = int(rng.integers(1, window.taps + 1)) if rng.integers(2) else window.taps
        while taps and not spec.fits(up, across, -(-taps * window.channels // spec.inside.k)):
            taps -= 1
        if taps:
            blocks = {"block_m": up, "block_n": across, "block_k": taps}
    lda = window.row_bytes + (int(rng.integers(0, 9)) if rng.integers(2) else 0)
    return replace(job, a=free, lda=lda, k=window.codes, window=window, **blocks)


def any_windowed(
    spec: CoprocessorSpec, rng: np.random.Generator, window: Window | None = None
) -> Job:
    """Draw a product of windows, with whatever the co-processor can do, anywhere in memory."""
    while True:
        one = window or any_window(rng)
        m, n = int(rng.geometric(0.05)), int(rng.geometric(0.15))
        lines = (one.height - 1) * (one.row_bytes + 9) + one.row_bytes
        if one.codes * n + m * n * 4 + 20 * n + lines > jobs.SIZE // 4 or one.codes > 1000:
            continue
        # A as such would take too much room.
        job = replace(jobs.draw(spec, rng, m, n, one.codes, **jobs.any_options(spec, rng)), lda=0)
        others = [matrix.end for name, matrix in matrices(spec, job).items() if name != "a"]
        free = max(others) + int(rng.integers(99))
        if free + lines <= jobs.SIZE:
            return windowed(spec, rng, job, one, free)


def touched(spec: CoprocessorSpec, job: Job) -> set[int]:
    """List the beats that have a byte of what a job may read."""
    found = matrices(spec, job)
    places = [
        one.places().reshape(-1)
        for name, one in found.items()
        if (name != "a" or job.window is None) and (name != "c" or job.accumulate)
    ]
    if (window := job.window) is not None:
        pixels = np.arange(window.width)[:, None] * window.pixel + np.arange(window.channels)
        lines = job.a + job.lda * np.arange(window.height)[:, None, None]
        places.append((lines + pixels).reshape(-1))
    return set((np.concatenate(places) // spec.bytes).tolist())
