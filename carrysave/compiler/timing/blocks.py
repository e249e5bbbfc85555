"""Blocks of a product that take the fewest cycles."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

import numpy as np

from carrysave.compiler.target.dataflow import ANY, AUTO, DATAFLOWS, with_dataflow
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.compiler.timing.rows_cost import stores_of
from carrysave.compiler.timing.timed_blocks import bounds, timed, with_blocks
from carrysave.driver.group_scales import of_depth
from carrysave.driver.job import Job
from carrysave.driver.window import Window
from golden.soc.blocking import Blocks, Stores, candidates
from golden.soc.job_check import matrices

__all__ = [
    "dataflow_cycles",
    "finer_windows",
    "known_blocks",
    "least",
    "planned",
    "planned_again",
    "wide_enough",
]

_CLOSE, _START = 1.05, 200
"""Times the array's cycles, and cycles of a start: what takes less is not planned again."""


def planned(job: Job, target: Target) -> Job:
    """Return a product with the blocks that take the fewest cycles.

    Blocks of windows are of whole taps. Where a tap is too long for them to be large, its channels
    are taken for several pixels. Blocks of a B that is packed stay.
    """
    if "fixed_blocks" in target.info.features or job.packed:
        return job
    price, best = _planned(job, target)
    stores, words = stores_of(job, target)
    tiles = -(-job.m // stores.tile_m) * -(-job.n // stores.tile_n)
    if job.window is None or price < _CLOSE * tiles * words + _START:
        return best
    beat = stores.data_width // 8
    others = (replace(job, window=one) for one in finer_windows(job.window, beat))
    priced = [(price, best), *(_planned(one, target) for one in others)]
    return min(priced, key=lambda one: one[0])[1]


def planned_again(job: Job, target: Target) -> Job:
    """Return a product whose operands are elsewhere now, with blocks for that; windows stay.

    So do the blocks of a B that is packed.
    """
    if "fixed_blocks" in target.info.features or job.packed:
        return job
    return _planned(job, target)[1]


def wide_enough(job: Job, target: Target, chunk: int, most: int) -> list[Job]:
    """Return a product with each of some blocks, whose rows of B are whole chunks of bytes, or all.

    Those that take the fewest cycles, about, come first.

    Parameters
    ----------
    chunk : bytes.
    most : how many.
    """
    known, c_bits = known_blocks(job, target)
    stores, _ = stores_of(job, target)
    across = known[:, 1] * stores.tile_n
    whole = (across >= job.n) | (across * stores.b_bits % (8 * chunk) == 0)
    known = known[whole]
    order = np.argsort(bounds(job, known, c_bits, target), kind="stable")[:most]
    return [with_blocks(job, Blocks.of(known[one]), target) for one in order]


def least(job: Job, target: Target) -> int:
    """Return the cycles that a product takes at least, about, with the blocks that are best."""
    return round(bounds(job, *known_blocks(job, target), target).min())


def dataflow_cycles(job: Job, target: Target) -> dict[str, int | None]:
    """Return the cycles of a product with the best blocks of each dataflow; None: it has no such.

    Blocks that are fixed, or of a B that is packed, are those that they are: all are None.
    """
    made = dict[str, int | None](dict.fromkeys(DATAFLOWS))
    if "fixed_blocks" in target.info.features or job.packed:
        return made
    for one in DATAFLOWS:
        price, _ = _planned_as(job, target, one)
        made[one] = None if price == inf else int(price)
    return made


def _planned(job: Job, target: Target) -> tuple[float, Job]:
    """Return a product with blocks, and the cycles that it takes.

    A product that cannot have the dataflow of its target has any.
    """
    if target.dataflow == AUTO:
        made = [_planned_as(job, target, one) for one in (ANY, *DATAFLOWS)]
        return min(made, key=lambda one: one[0])
    made = [_planned_as(job, target, target.dataflow)]
    return made[0] if made[0][0] < inf else _planned_as(job, target, ANY)


def _planned_as(job: Job, target: Target, dataflow: str) -> tuple[float, Job]:
    """Return a product with blocks of a dataflow, or any; and its cycles, none if it has none."""
    known, c_bits = _known_as(job, target, dataflow)
    if not len(known):  # a tap is longer than a block can be
        return inf, replace(job, block_m=1, block_n=1, block_k=1)
    price, best = timed(job, known, c_bits, target)
    return price, with_blocks(job, best, target)


def known_blocks(job: Job, target: Target) -> tuple[np.ndarray, int]:
    """Return the blocks that a product can have, each once, and the bits of a number of C.

    They are of the target's dataflow, where the product can have that.
    """
    one = ANY if target.dataflow == AUTO else target.dataflow
    known, c_bits = _known_as(job, target, one)
    return (known, c_bits) if len(known) or one == ANY else _known_as(job, target, ANY)


def _known_as(job: Job, target: Target, dataflow: str) -> tuple[np.ndarray, int]:
    """Return the blocks of a dataflow, or of any, and the bits of a number of C."""
    stores, words = stores_of(job, target)
    c_bits = matrices(target.spec, golden_job(job, target.spec))["c"].bits
    known = candidates(stores, job.m, job.n, words)
    if job.window is not None:
        known = _whole_taps(known, job.window, stores)
    if (target.spec.shares and job.ldsa) or (target.spec.group_scales != "none" and job.ldsb):
        known = of_depth(known, job.block_k, stores)
    if dataflow in DATAFLOWS:
        known = with_dataflow(known, dataflow, -(-words // stores.tile_k))
        return known, c_bits
    return _apart(known, job, stores), c_bits


def _apart(blocks: np.ndarray, job: Job, stores: Stores) -> np.ndarray:
    """Return blocks without those that are others in the same order: of one row, or one column."""
    of_m, of_n, _, by_columns = blocks.T
    one_up, one_across = of_m * stores.tile_m >= job.m, of_n * stores.tile_n >= job.n
    chosen: np.ndarray = blocks[np.where(one_up, by_columns == 0, ~one_across | (by_columns == 1))]
    return chosen


def finer_windows(window: Window, beat: int) -> Iterator[Window]:
    """Yield the same windows with fewer channels, of whole beats, and as many more pixels across.

    Pixels must follow each other in memory, in a window as well; a single one is by itself.
    """
    taps, step = window.kernel[1], window.strides[1] if window.across > 1 else 1
    if (taps > 1 and window.dilations[1] > 1) or (
        window.width > 1 and window.pixel != window.channels
    ):
        return
    for channels in range(window.channels - 1 - (window.channels - 1) % beat, 0, -beat):
        parts, rest = divmod(window.channels, channels)
        finer = replace(
            window, width=window.width * parts, channels=channels, pixel=channels,
            kernel=(window.kernel[0], taps * parts), dilations=(window.dilations[0], 1),
            strides=(window.strides[0], step * parts if window.across > 1 else 1),
            first=(window.first[0], window.first[1] * parts),
        )  # fmt: skip
        if rest == 0 and finer.sized and finer.legal:
            yield finer


def _whole_taps(blocks: np.ndarray, window: Window, stores: Stores) -> np.ndarray:
    """Return blocks whose beats of K are those of whole taps."""
    taps = np.minimum(blocks[:, 2] * stores.tile_k // window.channels, window.taps)
    beats = -(-taps * window.channels // stores.tile_k)
    fitting: np.ndarray = np.column_stack([blocks[:, :2], beats, blocks[:, 3]])[taps > 0]
    return fitting
