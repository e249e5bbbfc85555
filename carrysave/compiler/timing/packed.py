"""B of a product as bitmaps and what is not zero, where that is shorter."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import wide_enough
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.rows_cost import stores_of
from carrysave.driver.bitmap import CHUNK, BlockSize, image_bytes, pack_image
from carrysave.driver.job import Job

__all__ = ["packed_job", "packs"]

_TRIED = 8
"""Blocks of a product that are tried."""


def packs(job: Job, target: Target) -> bool:
    """Return whether B of a product can be packed: the build and the job know of it."""
    known = "sparse" in target.info.features and "fixed_blocks" not in target.info.features
    return known and job.vector is None and job.window is None


def packed_job(
    job: Job, matrices: Sequence[np.ndarray], target: Target
) -> tuple[Job, list[bytes]] | None:
    """Return a product with an image for each B; None: those are no shorter in bytes and cycles.

    Of some blocks those are taken that take the fewest cycles. Those across, and along K, are the
    image's, too: they do not change any more. Images are filled up to the longest one.

    Parameters
    ----------
    job : with the blocks that are best without.
    matrices : bytes of each B, rows as in memory, all of one size.
    """
    if not packs(job, target):
        return None
    stores, _ = stores_of(job, target)
    least, most, best = job_cycles(job, target), 2 * stores.b_bytes, None
    for one in wide_enough(job, target, CHUNK, _TRIED):
        wide = one.block_n * stores.tile_n * stores.b_bits // 8
        size = BlockSize(one.block_k * stores.tile_k, wide)
        try:
            longest = max(image_bytes(rows, size, most=most) for rows in matrices)
        except ValueError:  # rows of blocks are too short
            continue
        packed = replace(one, ldb=longest, packed=True)
        if longest < matrices[0].size and (took := job_cycles(packed, target)) < least:
            least, best = took, (packed, size)
    if best is None:
        return None
    packed, size = best
    images = [pack_image(rows, size, most=most) for rows in matrices]
    return packed, [image.ljust(packed.ldb, bytes(1)) for image in images]
