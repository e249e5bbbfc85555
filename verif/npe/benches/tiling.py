"""Cut products of matrices of codes into tiles and beats of words, and join the rows of C."""

import numpy as np

from carrysave.sim import tiling
from carrysave.sim.cocotb.npe_tiles import Rows
from carrysave.sim.tiling import Tiles
from golden.engine import EngineSpec
from golden.npe.npe import NpeSpec, pack

__all__ = ["cut", "join"]


def cut(spec: NpeSpec, a: np.ndarray, b: np.ndarray, pair: tuple[int, int]) -> Tiles:
    """Cut a product of any shape.

    Parameters
    ----------
    spec : the array.
    a, b : codes, M x K and K x N.
    pair : indices of their formats.

    Returns
    -------
    Tiles, whose beats are words; none is longer than the sums can take.
    """
    lane = spec.element
    words = EngineSpec(
        m=spec.m,
        n=spec.n,
        k_max=lane.k_max_words(*pair),
        a_width=lane.word_width,
        b_width=lane.word_width,
        a_signed=False,
        b_signed=False,
    )
    return tiling.cut(words, *pack(spec, a, b, *pair))


def join(spec: NpeSpec, job: Tiles, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Join the rows of C that the array gave for a job: numbers and invalid, M x N.

    Tiles of one number are added up; there is more than one only where K is longer than the sums
    can take.
    """
    invalid = tiling.join(spec, job, rows.invalid.astype(np.int64)) > 0
    return tiling.join(spec, job, rows.numbers), invalid
