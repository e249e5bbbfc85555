"""Blocks of a product that take the fewest cycles, by the times of each row."""

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.rows_cost import stores_of
from carrysave.driver.job import Job
from carrysave.driver.window import Window
from golden.soc.blocking import Blocks, Stores, costs
from golden.soc.window import walk_cycles

__all__ = ["bounds", "timed", "window_cycles", "with_blocks"]

_TRIED, _LATE, _BETTER = 12, 3, 0.99
"""Blocks of a product that are timed, those first of which a bound is least; how many in a row that
are not better, by how much."""
_PART, _FEWER = 10, 2
"""Cycles between rows of the parts of K of blocks; of what is no bound, that there be few."""
_BURST = 5
"""Cycles of a burst besides its latency, until another one takes its place."""
_BIAS = 62
"""Cycles of a block besides memory's latency, of two whose biases are under way."""
_ENOUGH, _START = 1.02, 100
"""Times the bound, and cycles of a start: what takes no more is not compared with others."""


@dataclass(frozen=True)
class _Product:
    """A product; those with one shape take the same blocks.

    Members
    -------
    shape, c_bits : all that counts.
    job, target : one of them, and what it runs on.
    """

    shape: tuple[object, ...]
    c_bits: int
    job: Job = field(compare=False)
    target: Target = field(compare=False)


def timed(job: Job, known: np.ndarray, c_bits: int, target: Target) -> tuple[int, Blocks]:
    """Return the blocks with which a product takes the fewest cycles, and these.

    Parameters
    ----------
    job : the product.
    known : blocks, rows of :func:`golden.soc.blocking.candidates`.
    c_bits : of a number of C.
    target : the co-processor.
    """
    on_chip = job.a >= CHIP, job.b >= CHIP, job.c >= CHIP
    shape = (
        on_chip, job.m, job.k, job.n, job.lda, job.ldb, job.ldc, job.window, job.bias is None,
        job.records is None, job.table, job.a_format, job.b_format, job.accumulate,
        job.row_factors is None, job.ldsa, job.ldsb, target.spec, target.memory, target.ring_build,
    )  # fmt: skip
    return _timed(_Product(shape, c_bits, job, target), known.tobytes(), known.shape[1])


@lru_cache(maxsize=1024)
def _timed(product: _Product, known: bytes, columns: int) -> tuple[int, Blocks]:
    job, target = product.job, product.target
    some = np.frombuffer(known, np.int64).reshape(-1, columns)
    least = bounds(job, some, product.c_bits, target)
    best: tuple[int, Blocks] | None = None
    late = 0
    for row in np.argsort(least, kind="stable")[:_TRIED]:
        if best is not None and (best[0] <= _ENOUGH * least[row] + _START or late == _LATE):
            break
        blocks = Blocks.of(some[row])
        took = job_cycles(with_blocks(job, blocks, target), target)
        late = 0 if best is None or took < _BETTER * best[0] else late + 1
        if best is None or took < best[0]:
            best = took, blocks
    assert best is not None
    return best


def with_blocks(job: Job, blocks: Blocks, target: Target) -> Job:
    """Return a product with blocks; those of windows are of whole taps."""
    depth = blocks.k
    if job.window is not None:
        stores, _ = stores_of(job, target)
        depth = _taps(job.window, depth, stores)
    return replace(
        job, block_m=blocks.m, block_n=blocks.n, block_k=depth, by_columns=blocks.by_columns
    )


def bounds(job: Job, some: np.ndarray, c_bits: int, target: Target) -> np.ndarray:
    """Return cycles that a product takes at least, about, with each of some blocks."""
    stores, words = stores_of(job, target)
    cycles = costs(stores, some, job.m, job.n, words, c_bits)[0]
    of_m, of_n, of_k, by_columns = some.T
    rows, columns, codes = of_m * stores.tile_m, of_n * stores.tile_n, of_k * stores.tile_k
    ups, acrosses, depths = (
        -(-size // part) for size, part in ((job.m, rows), (job.n, columns), (words, codes))
    )
    tiles = -(-job.m // stores.tile_m) * -(-job.n // stores.tile_n)
    alone = (of_m == 1) & (of_n == 1)
    gap = -(-target.ring_build.gap // stores.array_clock)
    cycles = cycles + gap * tiles * np.where(alone, 1, depths)
    bursts = partial(_burst_cycles, stores)
    written = (
        job.m * acrosses * bursts(-(-np.minimum(columns, job.n) * c_bits // stores.data_width))
    )
    again = np.where((depths == 1) & (by_columns == 0), 1, acrosses)
    if job.window is None:
        of_a = np.minimum(codes, words) * stores.a_bits
        read = again * job.m * depths * bursts(-(-of_a // stores.data_width))
    else:
        ways = [
            (_taps(job.window, beats, stores), parts)
            for beats, parts in zip(of_k.tolist(), depths.tolist(), strict=True)
        ]
        known = {way: window_cycles(job.window, job.m, stores, *way) for way in set(ways)}
        read = again * np.array([known[way] for way in ways])
    of_b = np.minimum(columns, job.n) * stores.b_bits
    b_again = np.where((depths == 1) & (by_columns == 1), 1, ups)
    read = read + b_again * -(-words // stores.b_deep) * acrosses * bursts(
        -(-of_b // stores.data_width)
    )
    read = read + _PART * ups * acrosses * depths
    blocks = ups * acrosses * ((stores.latency + _BIAS) / 2 if job.bias is not None else 0)
    if target.spec.group_scales != "none" and job.ldsb:  # a number a cycle of each group
        blocks = np.maximum(blocks, depths * job.m * job.n)
    # Of as many cycles, fewer parts.
    moved = written + read if target.memory.sdram else np.maximum(written, read)
    return np.max([cycles, moved, blocks], axis=0) + _FEWER * ups * acrosses * depths


def _burst_cycles(stores: Stores, beats: Any) -> Any:
    """Return the cycles of a row of some beats, of many that are read or written, about."""
    return np.maximum(stores.beat * beats, (stores.latency + _BURST + beats) / stores.outstanding)


def window_cycles(window: Window, rows: int, stores: Stores, taps: int, parts: int = 1) -> float:
    """Return the cycles in which windows are loaded, about: of steps, or of their runs.

    Parameters
    ----------
    window, rows : of the job: so many windows.
    stores : what limits blocks.
    taps, parts : of a block, and in how many blocks a window is.
    """
    runs, joined = window.kernel if window.dense else (window.taps, 1)
    # A run may begin and end within beats.
    whole, rest = divmod(joined * window.channels, stores.data_width // 8)
    read = (runs + parts - 1) * _burst_cycles(stores, whole + (2 if rest else 0))
    return max(walk_cycles(window, rows, taps), rows * float(read))


def _taps(window: Window, beats: int, stores: Stores) -> int:
    """Return the taps of a block of some beats of K."""
    return min(beats * stores.tile_k // window.channels, window.taps)
