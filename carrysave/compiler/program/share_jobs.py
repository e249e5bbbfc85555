"""Jobs on shares of attention in one pass: products whose sums are shifted block by block."""

from dataclasses import replace

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.jobs import checked, product, same
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned
from carrysave.driver import Requantisation
from carrysave.driver.job import Job

__all__ = ["share_product"]


def share_product(
    target: Target, a: Buffer, octaves: Buffer | None, b: Buffer, c: Buffer, how: Requantisation
) -> Job:
    """Return C = A x B of shares, requantised, whose blocks are shifted by octaves, if there are.

    Parameters
    ----------
    octaves : in rows of A one for each block of exps along K; None: rows are of one block.
    """
    job, unit = product(target, a, b, c, how=how), target.spec.vector
    if octaves is None:
        return job
    if unit is None or not target.spec.shares:
        raise ValueError(f"{octaves.name}: the co-processor must have shares")
    wanted = a.rows, unit.blocks(a.columns), 8
    same(octaves, "must have octaves'", (octaves.rows, octaves.columns, octaves.bits), wanted)
    job = replace(
        job,
        a_scales=octaves.address,
        ldsa=octaves.stride,
        block_m=1,
        block_n=1,
        block_k=unit.block // target.spec.inside.k,
    )
    return planned(checked(target, c.name, "a product of shares", job), target)
