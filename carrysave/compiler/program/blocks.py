"""Blocks of a product that take the fewest cycles."""

from dataclasses import replace

import numpy as np

from carrysave.compiler.program.cost import product_cycles, stores_of
from carrysave.compiler.program.cycles import Memory
from carrysave.compiler.program.golden_job import golden_job
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from carrysave.driver.window import Window
from golden.soc.blocking import Blocks, Stores, candidates, costs, plan
from golden.soc.job_check import matrices

__all__ = ["planned"]

_TRIED = 64
"""Blocks of a product that are tried, the planner's best first."""
_SHORTEST = 8
"""Beats of K of a part of it."""


def planned(job: Job, target: Target, memory: Memory | None = None) -> Job:
    """Return a product with the blocks that take the fewest cycles.

    Parameters
    ----------
    memory : how long SDRAM takes; None: memory that reads and writes a beat each cycle.
    """
    if "fixed_blocks" in target.info.features:
        return job
    stores, words = stores_of(job, target)
    operands = matrices(target.spec, golden_job(job, target.spec))
    c_bits = operands["c"].bits
    known = candidates(stores, job.m, job.n, words)
    if job.window is not None:
        known = _whole_taps(known, job.window, stores)
        best = _best(stores, known, job.m, job.n, words, c_bits)
    else:
        best = plan(stores, job.m, job.n, words, c_bits)
    if memory is not None:
        # Of shorter parts of K too little was measured.
        whole = -(-words // stores.tile_k)
        long = known[known[:, 2] >= min(whole, _SHORTEST)]
        some = long if len(long) else known
        ranks = np.argsort(costs(stores, some, job.m, job.n, words, c_bits)[0], kind="stable")
        tried = [Blocks.of(row) for row in some[ranks[:_TRIED]]]
        alone = JobGroup(job=job)
        best = min(
            tried, key=lambda blocks: product_cycles(alone, blocks, operands, target, memory)
        )
    depth = best.k if job.window is None else _taps(job.window, best.k, stores)
    return replace(job, block_m=best.m, block_n=best.n, block_k=depth, by_columns=best.by_columns)


def _whole_taps(blocks: np.ndarray, window: Window, stores: Stores) -> np.ndarray:
    """Return blocks whose beats of K are those of whole taps."""
    taps = np.minimum(blocks[:, 2] * stores.tile_k // window.channels, window.taps)
    beats = -(-taps * window.channels // stores.tile_k)
    fitting: np.ndarray = np.column_stack([blocks[:, :2], beats, blocks[:, 3]])[taps > 0]
    return fitting


def _taps(window: Window, beats: int, stores: Stores) -> int:
    return min(beats * stores.tile_k // window.channels, window.taps)


def _best(stores: Stores, some: np.ndarray, m: int, n: int, k: int, c_bits: int) -> Blocks:
    """Choose among blocks as :func:`golden.soc.blocking.plan` does."""
    cycles, read, _ = costs(stores, some, m, n, k, c_bits)
    return Blocks.of(some[np.lexsort((cycles, 50 * cycles + read))[0]])
