"""The numbers of a product before they become codes, or are written as they are."""

from dataclasses import replace

import numpy as np

from golden.formats.bitmap import BlockSize, unpack_image
from golden.soc.greatest import greatest
from golden.soc.group_scales import product_sums
from golden.soc.job import Error, Job
from golden.soc.job_check import matrices, mode_of
from golden.soc.lists import choice, listed
from golden.soc.memory import Space
from golden.soc.mode import wrap
from golden.soc.row_factors import scaled
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import window_rows

__all__ = ["amax", "product_numbers"]


def amax(spec: CoprocessorSpec, memory: np.ndarray, job: Job) -> int:
    """Return the greatest magnitude of a product's sums, see :func:`golden.soc.greatest.greatest`.

    Parameters
    ----------
    spec, memory, job : of a job that is no error and has no matrix on chip, before it runs.
    """
    space = Space(memory=memory, scratch=np.empty(0, np.uint8), base=spec.scratch_base)
    sums = product_numbers(spec, space, job)
    assert isinstance(sums, tuple)
    return greatest(spec, *sums)


def product_numbers(
    spec: CoprocessorSpec, space: Space, job: Job
) -> tuple[np.ndarray, np.ndarray] | Error:
    """Compute a product's sums, with what is added to them; and which are no numbers.

    Parameters
    ----------
    spec, space, job : the build; memory, and what is on chip; a legal job.

    Returns
    -------
    Both M x N; or the error of a packed B, or of a list, that is none.
    """
    matrix, inside = matrices(spec, job), spec.inside
    a = _left(spec, space, job)
    b = _packed(spec, space, job) if job.packed and spec.sparse else _right(spec, space, job)
    if b is None:
        return Error.OFFSET
    if a is None:
        return Error.INDEX
    scales = tuple(space.load(matrix[side]) for side in ("a_scales", "b_scales") if side in matrix)
    sums, invalid = product_sums(spec, job, a, b, scales)
    for name, added in (("bias", "bias" in matrix), ("c", job.accumulate)):
        if added:
            more = space.load(matrix[name])
            if name == "c" and "row_factors" in matrix:
                existing = wrap(more, inside.sum_width, inside.signed)
                more = scaled(existing, space.load(matrix["row_factors"])[0])
            if inside.sum_width > _EXACT:
                sums = sums.astype(object)
            sums = wrap(sums + more, inside.sum_width, inside.signed)
    return sums, invalid


def _right(spec: CoprocessorSpec, space: Space, job: Job) -> np.ndarray:
    """Read B: the only one, or the one of several that a place chooses, if there is one."""
    matrix = matrices(spec, job)
    place = int(space.load(matrix["places"])[0, 0]) if choice(spec, job) else 0
    beyond = place * job.ldsa if 0 < place < job.ldsb else 0
    return space.load(replace(matrix["b"], address=job.b + beyond))


def _left(spec: CoprocessorSpec, space: Space, job: Job) -> np.ndarray | None:
    """Read A: of windows, or with zeros where a list has no place; None if it is no list."""
    matrix = matrices(spec, job)
    a = space.load(matrix["a"])
    if job.window is not None:
        return window_rows(job.window, a, job.m)
    if choice(spec, job):
        return a if space.load(matrix["places"])[0, 0] < job.ldsb else None
    if "places" in matrix:
        there = listed(space.load(matrix["places"])[0])
        return None if there is None else np.where(there, a, 0)
    return a


def _packed(spec: CoprocessorSpec, space: Space, job: Job) -> np.ndarray | None:
    """Read the words of a B that is packed, in the blocks of the job; None if it is none."""
    mode, matrix = mode_of(spec, job), matrices(spec, job)["b"]
    assert mode is not None
    dense = matrices(spec, replace(job, packed=False, b=0, ldb=0))["b"]
    blocks = job.block_m, job.block_n, job.block_k
    _, across, deep = blocks if all(blocks) else spec.default_blocks(mode)
    wide = across * spec.inside.n * mode.b_bits // 8
    size = BlockSize(deep * spec.inside.k, wide)
    image = space.load(matrix)[0].astype(np.uint8)
    rows = unpack_image(
        image, (dense.rows, dense.row_bytes), size, most=(1 << spec.length_width) - 1
    )
    if rows is None:
        return None
    return replace(dense, distance=dense.row_bytes).load(rows.reshape(-1))


_EXACT = 62
"""Bits of sums whose own sums have no more than 64."""
