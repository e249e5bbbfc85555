"""Builds and jobs of windows, for tests of golden and of the drivers."""

from typing import Any

import numpy as np

from golden.soc.coprocessor import CoprocessorSpec
from golden.soc.job import Job
from golden.soc.window import Window
from golden.tpe.cube import CubeSpec
from golden.tpe.systolic_os import SystolicOsSpec
from verif.soc.benches.windows import windowed

__all__ = ["WINDOWS", "WINDOWS_ON_CHIP", "image", "job_of"]

STORES: dict[str, Any] = {"data_width": 64, "sums": 256, "a_bytes": 512, "b_bytes": 1024}
WINDOWS = CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), windows=True, address_width=32, **STORES)
WINDOWS_ON_CHIP = CoprocessorSpec(
    engine=CubeSpec(m=2, n=3, k=3), windows=True, scratch=4096, **STORES
)


def job_of(spec: CoprocessorSpec, rng: np.random.Generator, window: Window) -> Job:
    """Place a product of windows in a memory of 64 KB."""
    m, n = int(rng.integers(1, 40)), int(rng.integers(1, 7))
    k = window.codes
    job = Job(
        a=0, b=3, c=40000, m=m, n=n, k=k, lda=k, ldb=n, ldc=4 * n, by_columns=bool(rng.integers(2))
    )
    return windowed(spec, rng, job, window, 20000)


def image(rng: np.random.Generator) -> np.ndarray:
    """Draw a memory."""
    return rng.integers(0, 256, 1 << 16, np.uint8)
