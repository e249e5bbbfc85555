"""Jobs whose A is made of the windows of a map: any geometry, with blocks that fit."""

from dataclasses import replace
from typing import Any

import numpy as np

from golden.soc.job import Job
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window

__all__ = ["any_window", "windowed"]


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
