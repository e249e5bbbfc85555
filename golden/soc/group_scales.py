"""Products whose sums of groups of K are scaled, and added up as fp32, in the co-processor."""

from typing import Any

import numpy as np

from golden.npe.group_scale import Groups, GroupScaleSpec, group_scale
from golden.soc.memory import Matrix
from golden.soc.shares import shifted_sums, shifts

__all__ = [
    "SCALES",
    "SCALE_BYTES",
    "grouped",
    "groups_of",
    "legal",
    "product_sums",
    "scale_rows",
    "scaled_sums",
]

SCALES = ("none", "fp16", "bf16")
"""Formats of scales that a build can have."""
SCALE_BYTES = 2
"""Of a scale."""
_BIAS = 127
"""Of E8M0."""


def _unit_spec(spec: Any) -> GroupScaleSpec:
    """Return what scales the sums of a :class:`golden.soc.spec.CoprocessorSpec`."""
    return GroupScaleSpec(scale=spec.group_scales, sum_width=spec.inside.sum_width, aligned=True)


def grouped(spec: Any, job: Any) -> bool:
    """Return whether a product scales groups: B has scales, at a step that is not 0."""
    return bool(spec.group_scales != "none" and job.vector is None and job.ldsb)


def legal(spec: Any, job: Any) -> bool:
    """Return whether a product has groups that can be, if any.

    They are blocks along K of 2^i beats, without anything that is of integer sums.
    """
    if not grouped(spec, job):
        return True
    others = (job.codes, job.accumulate, job.bias is not None, job.packed)
    return bool(job.block_m and job.block_n and job.block_k.bit_count() == 1) and not any(others)


def groups_of(spec: Any, job: Any) -> int:
    """Return how many groups K has; the last one may be shorter."""
    return int(-(-job.k // max(job.block_k * spec.inside.k, 1)))


def scale_rows(spec: Any, job: Any) -> dict[str, Matrix]:
    """Lay out the scales of groups, if a product has them, groups x N, and powers, groups x M."""
    if not grouped(spec, job):
        return {}
    rows = groups_of(spec, job)
    powers = {"columns": job.m, "distance": job.ldsa, "bits": 8}
    scales = {"columns": job.n, "distance": job.ldsb, "bits": 8 * SCALE_BYTES}
    return {
        "a_scales": Matrix(address=job.a_scales, rows=rows, **powers),
        "b_scales": Matrix(address=job.b_scales, rows=rows, **scales),
    }


def product_sums(
    spec: Any, job: Any, a: np.ndarray, b: np.ndarray, scales: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Multiply words of A and of B; return sums, of groups in fp32, and which are no numbers."""
    if grouped(spec, job):
        codes = scaled_sums(spec, job, a, b, scales)
        return codes, np.zeros(codes.shape, bool)
    if shifts(spec, job):
        return shifted_sums(spec, a, b, scales[0])
    sums, invalid = spec.inside.sums(a, b, job.k, (job.a_format, job.b_format), scales)
    return sums, invalid


def scaled_sums(
    spec: Any, job: Any, a: np.ndarray, b: np.ndarray, sides: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Multiply groups of K; scale each one's sum by 2^power and by its scale; add up in fp32.

    As :func:`golden.npe.group_scale.group_scale`: a sum times both, which is exact, is rounded to
    fp32, and added in fp32 to those of the groups before, from +0.

    Parameters
    ----------
    spec, job : the build, and the job, whose blocks along K are groups.
    a, b : words of A and of B.
    sides : powers, groups x M, bytes of two's complement, -128 for NaN; scales, groups x N, codes.

    Returns
    -------
    int64 codes of fp32, M x N.
    """
    of_groups, inside = list[np.ndarray](), spec.inside
    group = job.block_k * inside.k
    for first in range(0, a.shape[1], group):
        part = slice(first, first + group)
        sums, _ = inside.sums(a[:, part], b[part], a[:, part].shape[1], (0, 0), ())
        of_groups.append(sums.astype(np.int64))
    # Groups of a number of C lie side by side: they are a run of the unit.
    sums = np.stack(of_groups, axis=-1)
    powers, scales = sides
    shape, last = sums.shape, np.arange(sums.shape[-1]) == sums.shape[-1] - 1
    runs = Groups(
        sums=sums.reshape(-1),
        scales=np.broadcast_to(scales.T[None], shape).reshape(-1),
        powers=np.broadcast_to(((powers + _BIAS) & 255).T[:, None], shape).reshape(-1),
        invalid=np.zeros(sums.size, bool),
        last=np.broadcast_to(last, shape).reshape(-1),
    )
    return group_scale(_unit_spec(spec), runs).reshape(shape[:-1])
